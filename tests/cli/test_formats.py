"""The same table in every format, in and out: equal checks, releases whose cells agree, and each verifies."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.policy.source import PLAIN
from tclose.release.formats import OUTPUT_FORMATS, write_table
from tclose.table.sources import read_table
from tclose.table.sources.base import Labels

Run = Callable[..., Any]
ROWS = 60
TABLE = pl.DataFrame(
    {
        "patient": [f"P{row:03}" for row in range(ROWS)],
        "age": [20 + row * 7 % 50 for row in range(ROWS)],
        "height": [1.5 + row * 11 % 40 / 100 for row in range(ROWS)],
        "ward": [("Süd", "Nord „A“", "West")[row * 5 % 3] for row in range(ROWS)],
        "seen": pl.Series(["2024-01-31", "2024-05-01", "2023-12-24", "2024-02-29"] * (ROWS // 4)).str.to_date(),
        "ldl": [None if row % 8 == 3 else 90 + row * 13 % 17 / 2 for row in range(ROWS)],
    },
    strict=False,
)
POLICY = """\
identifiers = ["patient"]
keep = ["seen"]
k = 2
[quasi.age]
[quasi.height]
[quasi.ward]
[sensitive.ldl]
t = 0.5
missing = "value"
"""


def german(cell: object) -> str:
    if isinstance(cell, float):
        return str(cell).replace(".", ",")
    return (
        ".".join(reversed(cell.isoformat().split("-")))
        if hasattr(cell, "isoformat")
        else ""
        if cell is None
        else str(cell)
    )


def delimited(encoding: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";").writerows(
        [TABLE.columns, *([german(cell) for cell in row] for row in TABLE.rows())]
    )
    return text.getvalue().encode(encoding)


def stored(suffix: str) -> bytes:
    (kind,) = (each for each in OUTPUT_FORMATS if suffix in each.suffixes)
    for package in kind.packages:
        pytest.importorskip(package, reason=f"pip install 'tclose[{kind.extra}]'")
    buffer = io.BytesIO()
    write_table(TABLE, kind, buffer)
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", stored(".csv"))
    return buffer.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "t.csv": lambda: stored(".csv"),
    "latin.csv": lambda: delimited("cp1252"),
    "wide.csv": lambda: delimited("utf-16"),
    "t.csv.gz": lambda: gzip.compress(delimited("utf-8")),
    "t.zip": zipped,
    "t.parquet": lambda: stored(".parquet"),
    "t.xlsx": lambda: stored(".xlsx"),
    "t.dta": lambda: stored(".dta"),
    "t.sav": lambda: stored(".sav"),
    "t.jsonl": lambda: TABLE.with_columns(pl.col("seen").cast(str)).write_ndjson().encode(),
}


@pytest.fixture
def policy(folder: Path) -> str:
    (folder / "p.toml").write_text(POLICY)
    return "p.toml"


def released(path: str) -> list[tuple[str, ...]]:
    """Return the cells of a release as text, whatever its format."""
    frame = read_table(path, source=PLAIN).frame
    return [tuple("" if cell is None else _cell(cell) for cell in row) for row in frame.rows()]


def _cell(cell: object) -> str:
    return str(cell).removesuffix(".0").removesuffix(" 00:00:00")


@pytest.mark.parametrize("name", FILES)
def test_the_same_table_in_every_format(tclose: Run, folder: Path, policy: str, name: str) -> None:
    (folder / "plain.csv").write_bytes(stored(".csv"))
    (folder / name).write_bytes(FILES[name]())
    expected, found = (tclose("check", table, "--policy", policy, "--json") for table in ("plain.csv", name))
    assert json.loads(found.out) == json.loads(expected.out)
    assert found.err == "" or found.err.startswith("note: read as "), found.err
    cells = []
    for number, table in enumerate(("plain.csv", name)):
        files = ("--out", f"{number}.csv", "--certificate", f"{number}.json", "--seed", "1", "--method", "mondrian")
        done = tclose("anonymize", table, "--policy", policy, *files)
        assert done.status == 0, done.err
        assert tclose("verify", f"{number}.csv", "--certificate", f"{number}.json").status == 0
        cells.append(released(f"{number}.csv"))
    assert cells[0] == cells[1]


@pytest.mark.parametrize("suffix", [".xlsx", ".dta", ".sav"])
def test_a_release_in_every_format(tclose: Run, folder: Path, policy: str, suffix: str) -> None:
    stored(suffix)
    (folder / "t.csv").write_bytes(delimited("cp1252"))
    for out in (f"r{suffix}", f"again{suffix}", "r.csv"):
        files = ("--out", out, "--certificate", f"{out}.json", "--seed", "1", "--method", "mondrian")
        assert tclose("anonymize", "t.csv", "--policy", policy, *files).status == 0
        verified = tclose("verify", out, "--certificate", f"{out}.json")
        assert verified.status == 0, verified.out + verified.err
    assert released(f"r{suffix}") == released("r.csv")
    assert Path(f"r{suffix}").read_bytes() == Path(f"again{suffix}").read_bytes()
    assert "source" not in Path(f"r{suffix}.json").read_text()
    if suffix == ".xlsx":
        attacked = tclose("attack", "r.xlsx", "--original", "t.csv", "--policy", policy, "--json")
        assert attacked.status == 0, attacked.err


def test_a_workbook_keeps_a_name_that_polars_could_take_for_a_pattern(tclose: Run, folder: Path) -> None:
    cells = pl.DataFrame({"age": [30, 30, 40, 40], "^w.*$": ["a", None, "a", None], "ill": ["x", "y", "x", "y"]})
    cells.write_excel("t.xlsx")
    rules = 'k = 2\nquasi = ["age"]\nkeep = ["^w.*$"]\n[sensitive.ill]\nt = 1\ndistance = "equal"\n'
    (folder / "p.toml").write_text(rules)
    done = tclose("anonymize", "t.xlsx", "--policy", "p.toml", "--out", "r.xlsx", "--certificate", "c.json")
    assert done.status == 0, done.err
    assert read_table("r.xlsx").frame["^w.*$"].sort().to_list() == ["", "", "a", "a"]


def test_a_changed_workbook_does_not_verify(tclose: Run, folder: Path, policy: str) -> None:
    (folder / "t.csv").write_bytes(stored(".csv"))
    stored(".xlsx")
    tclose(
        "anonymize", "t.csv", "--policy", policy, "--out", "r.xlsx", "--certificate", "c.json", "--method", "mondrian"
    )
    frame = read_table("r.xlsx").frame
    with Path("r.xlsx").open("wb") as file:
        write_table(frame.with_columns(age=pl.lit("[0, 1]")), OUTPUT_FORMATS[3], file)
    assert tclose("verify", "r.xlsx", "--certificate", "c.json").status == 1


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_labels_go_through_a_release(tclose: Run, folder: Path, suffix: str) -> None:
    pytest.importorskip("pyreadstat", reason="pip install 'tclose[stata]'")
    smoking = ["never", "daily", "never", "weekly", "daily", "never"]
    frame = pl.DataFrame({"id": list("abcdef"), "age": [30, 31, 40, 41, 50, 51], "smoking": smoking})
    (kind,) = (each for each in OUTPUT_FORMATS if suffix in each.suffixes)
    codes = {1: "never", 2: "daily", 3: "weekly", 9: "refused"}
    labels = Labels({"id": "S3CR3T", "smoking": "Smoking today"}, {"smoking": codes})
    with Path(f"t{suffix}").open("wb") as file:
        write_table(frame, kind.labelled(labels), file)
    Path("p.toml").write_text("identifiers = ['id']\nk = 2\n[quasi.age]\n[sensitive.smoking]\nt = 1\n")
    done = tclose("anonymize", f"t{suffix}", "--policy", "p.toml", "--out", f"r{suffix}", "--method", "mondrian")
    assert done.status == 0, done.err
    read = read_table(f"r{suffix}")
    assert read.labels == Labels({"smoking": "Smoking today"}, {"smoking": {1: "never", 2: "daily", 3: "weekly"}})
    assert sorted(read.frame["smoking"]) == sorted(smoking)
    assert b"S3CR3T" not in Path(f"r{suffix}").read_bytes()


LIMITS = {
    "a long name": ("x" * 33, "r.dta", "Stata allows names of 32 characters"),
    "a name with a space": ("my age", "r.dta", "Stata does not allow a column to be called 'my age'"),
    "a word of Stata": ("int", "r.dta", "Stata does not allow a column to be called 'int'"),
    "a long name of SPSS": ("ä" * 33, "r.sav", "SPSS allows names of 64 bytes"),
    "a word of SPSS": ("and", "r.sav", "SPSS does not allow a column to be called 'and'"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_names_that_a_format_does_not_allow(tclose: Run, folder: Path, case: str) -> None:
    name, out, says = LIMITS[case]
    (folder / "p.toml").write_text(f'k = 2\n[quasi."{name}"]\n[sensitive.pay]\nt = 1\n')
    tclose("anonymize", "absent.csv", "--policy", "p.toml", "--out", out).refuses(says)  # before the table is read


def test_cells_that_a_format_does_not_hold(tclose: Run, folder: Path) -> None:
    pytest.importorskip("pyreadstat", reason="pip install 'tclose[stata]'")
    (folder / "t.csv").write_text(f"age,note\n1,{'x' * 2046}\n2,{'x' * 2046}\n")
    (folder / "p.toml").write_text("k = 2\nkeep = ['note']\n[quasi.age]\n")
    for out, says in (("r.dta", "over 2,045 bytes"), ("r.xlsx", "")):
        done = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", out, "--method", "mondrian")
        if says:
            done.refuses("column 'note' cannot be written for Stata: a cell has", says)
        else:
            assert done.status == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == ["p.toml", "r.xlsx", "t.csv"]


def test_what_is_not_read_in_batches_is_read_whole(tclose: Run, folder: Path, policy: str) -> None:
    (folder / "latin.csv").write_bytes(delimited("cp1252"))
    check = ("check", "latin.csv", "--engine", "disk", "--policy")
    whole = tclose(*check, policy)
    assert whole.status == 1
    held = "warning: all rows are held in memory:"
    assert f"{held} windows-1252 text is read in batches only if [source] of the policy says that it is" in whole.err
    (folder / "q.toml").write_text(POLICY + '[source]\nencoding = "windows-1252"\ndecimal = ","\n')
    points = "only CSV with decimal points and ISO dates is read in batches"
    assert f"{held} {points}" in tclose(*check, "q.toml").err
    (folder / "comma.csv").write_text('age,pay\n1,"1,5"\n2,"2,5"\n')
    (folder / "r.toml").write_text("[quasi.age]\n[sensitive.pay]\nt = 1\n")
    assert f"{held} column 'pay' has other marks" in tclose(*check[:1], "comma.csv", *check[2:], "r.toml").err
    (folder / "plain.csv").write_bytes("zone;pay\nSüd;1\nSüd;2\n".encode("cp1252"))
    (folder / "s.toml").write_text('[quasi.zone]\n[sensitive.pay]\nt = 1\n[source]\nencoding = "windows-1252"\n')
    asked = ("check", "plain.csv", "--policy", "s.toml", "--json", "--engine")
    disk, memory = tclose(*asked, "disk"), tclose(*asked, "memory")
    assert (disk.status, disk.err, disk.out) == (0, "", memory.out)


def test_an_archive_and_a_named_format_on_the_command_line(tclose: Run, folder: Path) -> None:
    (folder / "cut.csv.gz").write_bytes(gzip.compress(stored(".csv"))[:-9])
    (folder / "p.toml").write_text(POLICY)
    tclose("check", "cut.csv.gz", "--policy", "p.toml").refuses("the archive cannot be unpacked")
    (folder / "a.pdf").write_bytes(b"%PDF-1.7 \xff")
    tclose("check", "a.pdf", "--policy", "p.toml").refuses("this is a PDF document")


def test_r_reads_a_release(tclose: Run, folder: Path, policy: str) -> None:
    r = shutil.which("Rscript")
    if r is None:
        pytest.skip("R is not installed: apt-get install --yes --no-install-recommends r-base-core")
    (folder / "t.csv").write_bytes(delimited("cp1252"))
    stored(".dta")
    for out in ("r.csv", "r.dta"):
        tclose("anonymize", "t.csv", "--policy", policy, "--out", out, "--seed", "1", "--method", "mondrian")
    code = (
        "a <- read.csv('r.csv', encoding='UTF-8'); cat(nrow(a), ncol(a), sum(a$ldl, na.rm=TRUE), '\\n');"
        "if (requireNamespace('haven', quietly=TRUE)) { b <- haven::read_dta('r.dta'); cat(nrow(b), ncol(b)) }"
    )
    done = subprocess.run([r, "-e", code], capture_output=True, text=True, cwd=folder, check=True)
    assert done.stdout.split()[:3] == [str(ROWS), "5", f"{TABLE['ldl'].sum():g}"]
    assert done.stdout.split()[3:] in ([], [str(ROWS), "5"])
