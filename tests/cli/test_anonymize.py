"""`tclose anonymize`: what it prints and leaves behind, also when its input or its method is wrong."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Run = Callable[..., Any]
TABLE = """name,age,ward,zip,pay,ill
Ann,20,a,x1,1,flu
Bob,30,a,x2,2,cold
Cyd,40,b,y1,1,flu
Dan,50,b,y2,2,cold
Eve,60,b,x1,1,flu
Fay,70,b,x1,2,cold
"""
POLICY = """
identifiers = ["name"]
k = 2
[quasi.age]
[quasi.ward]
[quasi.zip]
hierarchy = "zip.csv"
[sensitive.pay]
t = 0.1
[sensitive.ill]
t = 0.1
matrix = "costs.csv"
"""
SOURCES = {
    "t.csv": TABLE,
    "p.toml": POLICY,
    "zip.csv": "x1;x;*\nx2;x;*\ny1;y;*\ny2;y;*\n",
    "costs.csv": ",flu,cold\nflu,0,1\ncold,1,0\n",
}
ASKED = ("anonymize", "t.csv", "--policy", "p.toml")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    for name, text in SOURCES.items():
        (folder / name).write_text(text)


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def made(folder: Path) -> list[str]:
    """Return the files that were not there before."""
    return sorted(path.name for path in folder.iterdir() if path.name not in SOURCES)


def untouched(folder: Path) -> None:
    assert content_of(folder) == {name: text.encode() for name, text in SOURCES.items()}


# What it prints and writes


def test_a_release_with_everything(tclose: Run, folder: Path) -> None:
    outcome = tclose(*ASKED, "--out", "r.csv", "--certificate", "c.json", "--record", "seed.json")
    assert (outcome.status, outcome.err) == (0, "")
    assert made(folder) == ["c.json", "r.csv", "seed.json"]
    lines = outcome.out.splitlines()
    assert re.fullmatch(
        r"Released r\.csv: 6 rows published in \d class(es)?; the smallest class has \d rows\.", lines[0]
    )
    assert any(re.fullmatch(r"pay +≤ 0\.1 +0\.\d{4}", line) for line in lines)
    for title in (
        "detail lost (GCP)",
        "information loss (squared error)",
        "discernibility",
        "average class size, as a multiple of k",
    ):
        assert any(title in line for line in lines), title
    digest = json.loads(Path("c.json").read_text())["digest"]
    assert digest in outcome.out.replace("\n", "")
    table = pl.read_csv("r.csv", infer_schema=False)
    assert table.columns == ["age", "ward", "zip", "pay", "ill"]
    assert sorted(zip(table["pay"], table["ill"], strict=True)) == [("1", "flu")] * 3 + [("2", "cold")] * 3
    assert tclose("verify", "r.csv", "--certificate", "c.json", "--digest", digest).status == 0


def test_without_a_certificate_one_is_asked_for(tclose: Run, folder: Path) -> None:
    outcome = tclose(*ASKED, "--out", "r.csv")
    assert outcome.status == 0
    assert "No certificate was written (--certificate FILE)" in " ".join(outcome.out.split())
    assert made(folder) == ["r.csv"]


def test_json(tclose: Run) -> None:
    outcome = tclose(*ASKED, "--out", "r.parquet", "--certificate", "c.json", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    answer = json.loads(outcome.out)
    exposed = answer.pop("exposed")
    assert [each["name"] for each in exposed] == ["class_alone", "stands_out", "one_more_fact", "unprotected"]
    assert {each["answer"] for each in exposed} <= {"yes", "no", "undecided"}
    assert (answer.pop("lost"), answer.pop("warnings")) == ([], [])
    assert ["only one composition of 'pay'" in note or "of 'ill'" in note for note in answer.pop("notes")] == [
        True,
        True,
    ]
    assert {name: each["answer"] for name, each in answer.pop("allows").items()} == {"pay": "yes", "ill": "yes"}
    assert answer == {"release": "r.parquet", **json.loads(Path("c.json").read_text())}


def test_standard_input(process: Run, folder: Path) -> None:
    outcome = process(
        *("anonymize", "-", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian"), stdin=TABLE.encode()
    )
    assert outcome.status == 0, outcome.err
    assert made(folder) == ["r.csv"]


def test_the_same_seed_gives_the_same_bytes(tclose: Run) -> None:
    for name in ("one", "two"):
        Path(name).mkdir()
        outcome = tclose(*ASKED, "--out", f"{name}/r.csv", "--certificate", f"{name}/r.json", "--seed", "7")
        assert outcome.status == 0
        assert (
            outcome.err
            == "warning: anyone who guesses the seed can replay the partition: leave it out for a real release\n"
        )
    assert content_of(Path("one")) == content_of(Path("two"))


def test_the_record_is_for_its_owner_alone_and_replays(tclose: Run) -> None:
    assert tclose(*ASKED, "--out", "one.csv", "--record", "seed.json").err == ""
    assert stat.S_IMODE(Path("seed.json").stat().st_mode) == 0o600
    seed = json.loads(Path("seed.json").read_text())["seed"]
    assert tclose(*ASKED, "--out", "two.csv", "--seed", str(seed)).status == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_an_older_release_is_replaced(tclose: Run, folder: Path) -> None:
    (folder / "r.csv").write_text("old")
    (folder / "seed.json").write_text("old")
    (folder / "seed.json").chmod(0o644)
    assert tclose(*ASKED, "--out", "r.csv", "--record", "seed.json", "--force").status == 0
    assert (folder / "r.csv").read_text().startswith("age,ward,zip,pay,ill\n")
    assert stat.S_IMODE((folder / "seed.json").stat().st_mode) == 0o600


# What is refused before anything is written


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--out", "t.csv"), "t.csv is read and would be overwritten"),
        (("--out", "./t.csv"), "is read and would be overwritten"),
        (("--out", "link.csv"), "link.csv is read and would be overwritten"),
        (("--out", "twin.csv"), "twin.csv is read and would be overwritten"),
        (("--out", "zip.csv"), "zip.csv is read and would be overwritten"),
        (("--out", "costs.csv"), "costs.csv is read and would be overwritten"),
        (("--out", "r.csv", "--certificate", "p.toml"), "p.toml is read and would be overwritten"),
        (("--out", "r.csv", "--certificate", "zip.csv"), "zip.csv is read and would be overwritten"),
        (("--out", "r.csv", "--record", "costs.csv"), "costs.csv is read and would be overwritten"),
        (("--out", "r.csv", "--record", "t.csv"), "t.csv is read and would be overwritten"),
        (("--out", "r.csv", "--certificate", "r.csv"), "two of the files to write have the same name"),
        (("--out", "r.csv", "--certificate", "c", "--record", "./c"), "two of the files to write have the same name"),
        (("--out", "r.txt"), "a release is written as .csv"),
        (("--out", "p.toml"), "a release is written as .csv"),
        (("--out", "absent/r.csv"), "there is no folder absent"),
        (("--out", "t.csv/r.csv"), "there is no folder t.csv"),
        (("--out", "r.csv", "--certificate", "absent/c.json"), "there is no folder absent"),
        (("--out", "r.csv", "--record", "/dev/null"), "/dev/null is no ordinary file"),
        (("--out", "r.csv", "--method", "magic"), "there is no method 'magic'"),
    ],
)
def test_what_is_refused(tclose: Run, folder: Path, arguments: tuple[str, ...], says: str) -> None:
    if "link.csv" in arguments:
        (folder / "link.csv").symlink_to("t.csv")
    if "twin.csv" in arguments:
        (folder / "twin.csv").hardlink_to(folder / "t.csv")
    before = content_of(folder)
    tclose(*ASKED, *arguments).refuses(says)
    assert content_of(folder) == before
    assert Path("/dev/null").is_char_device()


def test_standard_input_is_not_overwritten_either(folder: Path) -> None:
    command = [sys.executable, "-c", "from tclose.cli import main; main()", "anonymize", "-", "--policy", "p.toml"]
    with (folder / "t.csv").open("rb") as table:
        done = subprocess.run([*command, "--out", "t.csv"], stdin=table, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 2
    assert b"t.csv is read and would be overwritten" in done.stderr
    untouched(folder)


@pytest.mark.parametrize("arguments", [(), ("--out", "r.csv", "--seed", "-1"), ("--out", "r.csv", "--seed", "x")])
def test_misuse(tclose: Run, folder: Path, arguments: tuple[str, ...]) -> None:
    tclose(*ASKED, *arguments).refuses(usage=True)
    untouched(folder)


def test_a_folder_that_cannot_be_written(tclose: Run, folder: Path) -> None:
    """/proc refuses new files even to root."""
    outcome = tclose(*ASKED, "--out", "/proc/r.csv", "--certificate", "c.json", "--record", "seed.json")
    assert outcome.status == 2
    assert outcome.err.startswith("error: ")
    assert "Traceback" not in outcome.err
    untouched(folder)


# What cannot be reached


def test_infeasible(tclose: Run, folder: Path) -> None:
    (folder / "r.csv").write_text("old")
    (folder / "p.toml").write_text(POLICY.replace("k = 2", "k = 7"))
    outcome = tclose(*ASKED, "--out", "r.csv", "--certificate", "c.json", "--record", "seed.json", "--force")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "error: k = 7 cannot be reached: 6 can be\n"
    assert made(folder) == ["r.csv"]
    assert (folder / "r.csv").read_text() == "old"


# A wrong method


def not_close(problem: Any, **_: Any) -> Any:
    return problem.sensitive[0].codes


def drops_a_row(problem: Any, **_: Any) -> Any:
    return np.zeros(problem.rows - 1, dtype=np.int64)


def breaks(problem: Any, **_: Any) -> Any:
    raise ValueError("S3CR3T")


@pytest.mark.parametrize("method", [not_close, drops_a_row, breaks])
def test_a_wrong_method_releases_nothing(
    tclose: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, method: Run
) -> None:
    monkeypatch.setattr("tclose.partition.method_named", lambda name: method)
    (folder / "r.csv").write_text("old")
    files = ("--out", "r.csv", "--certificate", "c.json", "--record", "seed.json", "--force")
    outcome = tclose(*ASKED, *files, "--method", "mondrian")
    assert (outcome.status, outcome.out) == (70, "")
    assert outcome.err.startswith("error: ")
    assert "S3CR3T" not in outcome.err
    assert made(folder) == ["r.csv"]
    assert (folder / "r.csv").read_text() == "old"


# What no output may hold

SECRETS = ("Ann Example", "123-45-6789", "a most secret disease", "another secret disease", "77777.77")


def secret_table(folder: Path) -> None:
    """Ward z has one patient, with a disease and a pay of her own; Fay's pay is missing, and nobody has her disease."""
    (folder / "t.csv").write_text(
        "name,ssn,age,ward,ill,pay\n"
        f"{SECRETS[0]},{SECRETS[1]},30,a,flu,1\nBob,2,31,a,cold,2\nCyd,3,32,a,flu,1\nDan,4,33,a,cold,2\n"
        f"Eve,5,34,z,{SECRETS[2]},{SECRETS[4]}\nFay,6,35,a,{SECRETS[3]},\n"
    )


def ask(folder: Path, **settings: object) -> None:
    (folder / "p.toml").write_text(
        "identifiers = ['name', 'ssn']\nkeep = ['ward']\nquasi = ['age']\n"
        + "".join(f"{name} = {value}\n" for name, value in {"k": 2, "suppress": 0.5, **settings}.items())
        + "[sensitive.ill]\nt = 0.1\n[sensitive.pay]\nt = 0.1\nmissing = 'suppress'\n"
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_secrets_appear_nowhere(tclose: Run, folder: Path, ending: str, extra: tuple[str, ...]) -> None:
    secret_table(folder)
    ask(folder)
    files = ("--out", f"r.{ending}", "--certificate", "c.json", "--record", "seed.json")
    outcomes = [tclose(*ASKED, *files, *extra), tclose("verify", f"r.{ending}", "--certificate", "c.json", *extra)]
    assert [outcome.status for outcome in outcomes] == [0, 0]
    written = [(folder / name).read_bytes() for name in (f"r.{ending}", "c.json", "seed.json")]
    for data in (*written, *(text.encode() for outcome in outcomes for text in (outcome.out, outcome.err))):
        for secret in (*SECRETS, "Ann", "Bob", "Fay"):
            assert secret.encode() not in data


@pytest.mark.parametrize(
    ("settings", "change", "status"),
    [
        ({"suppress": 0.1}, ("", ""), 1),
        ({"suppress": 0.2}, ("", ""), 1),
        ({"k": 9}, ("", ""), 1),
        ({}, (",1\n", ",1x\n"), 2),
        ({}, (",35,", ",thirty,"), 0),
        ({}, (",ill,", ",disease,"), 2),
        ({}, (",ill,", ",ward,"), 2),
        ({}, (",1\n", ",1,1\n"), 2),
        ({"missing": "['a most secret disease']"}, ("", ""), 2),
    ],
)
def test_secrets_appear_in_no_error(
    tclose: Run, folder: Path, settings: dict[str, object], change: tuple[str, str], status: int
) -> None:
    secret_table(folder)
    ask(folder, **settings)
    (folder / "t.csv").write_text((folder / "t.csv").read_text().replace(*change))
    outcome = tclose(*ASKED, "--out", "r.csv", "--certificate", "c.json")
    assert outcome.status == status, outcome.err
    for secret in (*SECRETS, "Ann", "Bob", "Fay", "1x", "thirty"):
        assert secret not in outcome.out + outcome.err


# Out of space


def test_a_release_fits_but_its_certificate_does_not(
    folder: Path, tclose: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file fails, none appears."""
    original, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        original(handle)

    monkeypatch.setattr(os, "fsync", full)
    outcome = tclose(*ASKED, "--out", "r.csv", "--certificate", "c.json", "--record", "seed.json")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == "error: the answer cannot be written: No space left on device\n"
    untouched(folder)


# (n,t)-closeness: t is no limit on the distance from the whole table


def test_with_n_the_model_carries_what_is_required(tclose: Run) -> None:
    rows = [f"{20 + i % 5},{'x' if i < 30 else 'y'},{'a' if i < 20 or i % 2 else 'b'}" for i in range(80)]
    Path("n.csv").write_text("\n".join(["age,ward,ill", *rows]) + "\n")
    Path("n.toml").write_text('k = 2\nquasi = ["age"]\nkeep = ["ward"]\n[sensitive.ill]\nt = 0.05\nn = 20\n')
    outcome = tclose("anonymize", "n.csv", "--policy", "n.toml", "--method", "mondrian", "--out", "r.csv")
    assert (outcome.status, outcome.err) == (0, "")
    lines, text = outcome.out.splitlines(), " ".join(outcome.out.split())
    distances = [float(line.split()[1]) for line in lines if re.fullmatch(r"ill +0\.\d{4}", line)]
    assert len(distances) == 1
    assert distances[0] > 0.05
    assert "≤ 0.05" not in text
    assert "t applies to classes of fewer than n rows, each measured against a superset of at least n rows." in text
    assert any(re.fullmatch(r"ill +n = 20, t = 0\.05 +0", line) for line in lines)
    outcome = tclose("compare", "n.csv", "--policy", "n.toml", "--methods", "mondrian:strict")
    assert outcome.status == 0
    text = " ".join(outcome.out.split())
    assert "≤ 0.05" not in text
    assert "The policy requires (n,t)-closeness of ill (n = 20, t = 0.05): t applies to classes of fewer" in text


# Existing files

FILES = ("--out", "r.csv", "--certificate", "r.json", "--record", "seed", "--report", "r.html")


def test_an_existing_release_is_not_overwritten_without_force(tclose: Run, folder: Path) -> None:
    """The refusal comes before any work: the table is not even read."""
    for name in ("r.csv", "r.json"):
        (folder / name).write_text("old")
    (folder / "t.csv").write_text("no table")
    before = content_of(folder)
    done = tclose(*ASKED, "--method", "mondrian", *FILES[:4])
    assert done.status == 2
    assert done.out == ""
    assert done.err == "error: r.csv and r.json exist already: name other files, or overwrite them with --force\n"
    assert content_of(folder) == before


@pytest.mark.parametrize("name", ["r.csv", "r.json", "seed", "r.html"])
def test_no_file_beside_a_release_is_overwritten_without_force(tclose: Run, folder: Path, name: str) -> None:
    (folder / name).write_text("old")
    tclose(*ASKED, *FILES).refuses(f"{name} exists already: name another file, or overwrite it with --force")
    assert made(folder) == [name]


@pytest.mark.parametrize(("method", "name"), [("anatomy", "r-sensitive.csv"), ("projections", "r-2.csv")])
def test_no_sibling_of_a_release_is_overwritten_without_force(
    tclose: Run, folder: Path, method: str, name: str
) -> None:
    (folder / name).write_text("old")
    tclose(*ASKED, "--method", method, "--out", "r.csv").refuses(f"{name} exists already")
    assert made(folder) == [name]


def test_force_overwrites(tclose: Run, folder: Path) -> None:
    for name in ("r.csv", "r.json", "seed"):
        (folder / name).write_text("old")
    assert tclose(*ASKED, "--method", "mondrian", *FILES[:6], "--force").status == 0
    assert b"old" not in content_of(folder).values()
    assert tclose("verify", "r.csv", "--certificate", "r.json").status == 0


def test_the_table_is_not_overwritten_even_with_force(tclose: Run, folder: Path) -> None:
    tclose(*ASKED, "--out", "t.csv", "--force").refuses("t.csv is read and would be overwritten")
    tclose("init", "t.csv", "--out", "t.csv", "--force").refuses("t.csv is read and would be overwritten")
    assert (folder / "t.csv").read_text() == TABLE


def test_drafts_pages_and_demonstrations_need_force_as_well(tclose: Run, folder: Path) -> None:
    (folder / "draft.toml").write_text("old")
    (folder / "page.html").write_text("old")
    (folder / "d").mkdir()
    (folder / "d" / "policy.toml").write_text("old")
    for command in (
        ("init", "t.csv", "--out", "draft.toml"),
        ("compare", "t.csv", "--policy", "p.toml", "--methods", "mondrian", "--out", "page.html"),
        ("demo", "--rows", "50", "--out", "d"),
    ):
        tclose(*command).refuses("exists already: name another file, or overwrite it with --force")
    assert [path.name for path in (folder / "d").iterdir()] == ["policy.toml"]
    assert tclose("init", "t.csv", "--out", "draft.toml", "--force").status == 0
    assert "[quasi." in (folder / "draft.toml").read_text()
