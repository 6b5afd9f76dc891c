"""`tclose verify`: exit status 0 for the certified release, 1 for whatever is not, 2 for files that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import Certificate

Run = Callable[..., Any]
TABLE = "age,ward,pay,note\n" + "".join(
    f"{age},{ward},{pay},n{age}\n"
    for age, ward, pay in zip(range(20, 100, 5), "aaaaaaaabbbbbbbb", "1234432112344321", strict=True)
)
POLICY = "keep = ['ward']\nunlinkable = ['note']\nk = 4\n[quasi.age]\n[sensitive.pay]\nt = '1/5'\n"
VERIFY = ("verify", "r.csv", "--certificate", "c.json")
UNLINKABLE = "warning: 'note' is published as it is and not judged (unlinkable)\n"


@pytest.fixture(autouse=True)
def release(folder: Path, tclose: Run) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)
    outcome = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json")
    assert outcome.status == 0
    assert outcome.err.startswith(UNLINKABLE)


def lines() -> list[str]:
    return Path("r.csv").read_text().splitlines()


def put(changed: list[str]) -> None:
    Path("r.csv").write_text("\n".join(changed) + "\n")


def certificate() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("c.json").read_text())
    return content


def refused(outcome: Any, *fragments: str) -> None:
    """Assert exit status 1 and every fragment in what is said, however it is wrapped."""
    assert outcome.status == 1, outcome.err
    said = " ".join(outcome.out.split())
    assert "Do not trust this release:" in said
    for fragment in fragments:
        assert fragment in said, said


def test_it_holds(tclose: Run) -> None:
    outcome = tclose(*VERIFY)
    assert (outcome.status, outcome.err) == (0, UNLINKABLE)
    said = " ".join(outcome.out.split())
    assert said.startswith("16 rows in ")
    assert said.endswith("The release is the one that was certified, and it meets its policy.")
    assert (
        "Not verifiable from the release alone: the version of tclose, the tool, the date, the name of the table, the "
        "name of the release, the method, the number of withheld rows, the loss that was lowered, what the cells of "
        "quasi-identifiers are, detail lost (GCP), information loss (squared error)."
    ) in said
    assert tclose(*VERIFY, "--digest", certificate()["digest"]).status == 0


def test_json(tclose: Run) -> None:
    outcome = tclose(*VERIFY, "--json")
    found = json.loads(outcome.out)
    assert outcome.status == 0
    assert (found["holds"], found["problems"], found["rows"], found["satisfied"]) == (True, [], 16, True)
    put(lines()[:-1])
    outcome = tclose(*VERIFY, "--json")
    found = json.loads(outcome.out)
    assert outcome.status == 1
    assert found["holds"] is False
    assert "the release has 15 rows, the certificate says 16" in found["problems"]


def test_the_original_is_not_needed(tclose: Run) -> None:
    Path("t.csv").unlink()
    Path("p.toml").unlink()
    assert tclose(*VERIFY).status == 0


def test_standard_input(process: Run) -> None:
    data = Path("r.csv").read_bytes()
    assert process("verify", "-", "--certificate", "c.json", stdin=data).status == 0
    assert process("verify", "-", "--certificate", "c.json", stdin=data[:-5]).status == 1


HASH = "the release is not the file that was certified: its SHA-256 differs"


def swap(cell: int, one: str, other: str) -> list[str]:
    """Exchange a cell between two rows."""
    first, second = one.rsplit(",", 2), other.rsplit(",", 2)
    first[cell], second[cell] = second[cell], first[cell]
    return [",".join(first), ",".join(second)]


def seen(tclose: Run, command: tuple[str, ...], *fragments: str) -> None:
    """Assert that a changed file is one sentence for people, and that JSON says what follows from the change."""
    outcome = tclose(*command)
    refused(outcome, HASH)
    assert outcome.out.count("\n  - ") == 1
    problems = json.loads(tclose(*command, "--json").out)["problems"]
    assert HASH in problems
    for fragment in fragments:
        assert any(fragment in problem for problem in problems), problems


def test_one_changed_cell_is_one_sentence(tclose: Run) -> None:
    header, first, *rows = lines()
    put([header, first.rsplit(",", 2)[0] + ",9,n20", *rows])
    said = tclose(*VERIFY).out[tclose(*VERIFY).out.index("Do not trust") :].splitlines()
    following = len(json.loads(tclose(*VERIFY, "--json").out)["problems"]) - 1
    assert following > 1
    assert said == [
        "Do not trust this release:",
        f"  - {HASH}",
        f"{following} findings follow from the change; --json lists all.",
    ]


def test_every_kind_of_change_is_seen(tclose: Run) -> None:
    changed = partial(seen, tclose, VERIFY)
    header, *rows = true = lines()
    put([header, rows[0].rsplit(",", 2)[0] + ",9,n20", *rows[1:]])
    changed("'pay' is ", "which is not what the certificate says (class ")
    put([header, rows[1], rows[0], *rows[2:]])
    changed()
    put([header, *rows[1:]])
    changed("the release has 15 rows, the certificate says 16")
    put([header, *rows, rows[0]])
    changed("the release has 17 rows, the certificate says 16")
    low = next(row for row in rows if row.rsplit(",", 2)[1] == "1")
    high = next(row for row in rows if row.rsplit(",", 2)[1] == "4" and row.split('"')[1] != low.split('"')[1])
    rest = [row for row in rows if row not in (low, high)]
    put([header, *swap(1, low, high), *rest])
    changed("'pay' is ")
    put([header.replace("pay", "salary"), *rows])
    changed("the release cannot be judged as the certificate says", "the table has no column 'pay'")
    put(true)
    assert tclose(*VERIFY).status == 0


def test_classes_that_fail_now_are_named(tclose: Run) -> None:
    changed = partial(seen, tclose, VERIFY)
    header, *rows = lines()
    classes = certificate()["classes"]
    ages = sorted(rows, key=lambda row: (row.split('"')[2][1], row.split('"')[1]))
    pays = sorted(row.rsplit(",", 2)[1] for row in rows)
    moved = [f"{row.rsplit(',', 2)[0]},{pay},{row.rsplit(',', 2)[2]}" for row, pay in zip(ages, pays, strict=True)]
    put([header, *moved])
    numbers = ", ".join(str(number + 1) for number in range(classes))
    changed("t of 'pay' fails in ", numbers)


def test_a_certificate_that_was_edited(tclose: Run) -> None:
    content = certificate()
    Path("c.json").write_text(json.dumps({**content, "rows": 17}))
    refused(
        tclose(*VERIFY),
        "the certificate was changed after it was made: its digest does not fit its content",
        "the release has 16 rows, the certificate says 17",
    )


def test_a_weakened_policy_with_a_new_digest(tclose: Run) -> None:
    content = certificate()
    true = content.pop("digest")
    content["policy"]["sensitive"]["pay"]["t"] = 1
    content["sensitive"]["pay"]["t"] = 1
    for model in content["models"]:
        if (model["model"], model["attribute"]) == ("t", "pay"):
            model["required"] = 1
    Path("c.json").write_bytes(Certificate.from_dict(content).to_bytes())
    assert tclose(*VERIFY).status == 0
    refused(tclose(*VERIFY, "--digest", true), "this is not the certificate whose digest you gave")


def test_the_certificate_of_another_release(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text("".join(TABLE.splitlines(keepends=True)[:9]))
    arguments = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "o.csv", "--certificate", "o.json")
    assert tclose(*arguments).status == 0
    seen(tclose, ("verify", "r.csv", "--certificate", "o.json"), "has 16 rows, the certificate says 8")
    seen(tclose, ("verify", "o.csv", "--certificate", "c.json"), "has 8 rows, the certificate says 16")


@pytest.mark.parametrize("text", ["", "{", "[]", "nonsense", '{"digest": "0"}', "[" * 100_000])
def test_damaged_json(tclose: Run, text: str) -> None:
    Path("c.json").write_text(text)
    tclose(*VERIFY).refuses("c.json is not a certificate of tclose")


@pytest.mark.parametrize("missing", ["r.csv", "c.json"])
def test_a_file_that_is_not_there(tclose: Run, missing: str) -> None:
    Path(missing).unlink()
    tclose(*VERIFY).refuses(f"there is no file {missing}")


def test_verifying_loads_no_compiler(folder: Path) -> None:
    code = (
        "import sys\nfrom tclose.cli import run\n"
        "assert run(['verify', 'r.csv', '--certificate', 'c.json']) == 0\n"
        "assert not {'numba', 'scipy', 'pandas', 'pyarrow'} & {name.partition('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)


def test_verify_says_what_the_certificate_is_about(tclose: Run, folder: Path) -> None:
    said = " ".join(tclose(*VERIFY).out.split())
    tool = certificate()["tool"]
    assert f"The certificate says: r.csv, made from t.csv, on 2026-01-01 00:00 UTC, by {tool}." in said
    origin = {"files": ["r.csv"], "table": "t.csv", "created": "2026-01-01T00:00:00Z", "tool": tool}
    assert json.loads(tclose(*VERIFY, "--json").out)["certificate"] == origin


def test_names_in_a_certificate_never_reach_the_terminal_raw(tclose: Run) -> None:
    content = certificate()
    content["table"] = "\x1b[2J\u202et.csv\nThe release is the one that was certified"
    Path("c.json").write_text(json.dumps(content))
    outcome = tclose(*VERIFY)
    assert not {"\x1b", "\u202e"} & set(outcome.out)
    refused(outcome, "made from \\x1b[2J", "the certificate was changed")


def test_nothing_of_a_path_gets_into_files(tclose: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    (folder / "secret-place").mkdir()
    for name in ("t.csv", "p.toml"):
        (folder / name).rename(folder / "secret-place" / name)
    place = folder / "secret-place"
    files = ("--out", str(place / "r.csv"), "--certificate", str(place / "c.json"), "--report", str(place / "r.html"))
    asked = ("anonymize", str(place / "t.csv"), "--policy", str(place / "p.toml"))
    assert tclose(*asked, *files, "--method", "mondrian").status == 0
    content = json.loads((place / "c.json").read_text())
    assert (content["table"], content["files"][0]["name"], content["created"]) == (
        "t.csv",
        "r.csv",
        "1970-01-02T00:00:00Z",
    )
    page = (place / "r.html").read_text(encoding="utf-8")
    assert f"r.csv, made from t.csv, on 1970-01-02 00:00 UTC, by {content['tool']}" in page
    assert "<title>r.csv · tclose</title>" in page
    for file in ("c.json", "r.html", "r.csv"):
        assert "secret-place" not in (place / file).read_text(encoding="utf-8")


def test_a_table_from_standard_input_has_no_name(process: Run, folder: Path) -> None:
    files = ("--out", "s.csv", "--certificate", "s.json", "--method", "mondrian")
    assert process("anonymize", "-", "--policy", "p.toml", *files, stdin=TABLE.encode()).status == 0
    assert json.loads((folder / "s.json").read_text())["table"] is None


def test_a_time_that_is_none_is_refused(process: Run, folder: Path) -> None:
    asked = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "s.csv", "--method", "mondrian")
    done = process(*asked, SOURCE_DATE_EPOCH="soon")
    assert (done.status, (folder / "s.csv").exists()) == (2, False)
    assert done.err.splitlines()[-1] == "error: SOURCE_DATE_EPOCH must be a whole number of seconds since 1970"


# A folder of Parquet files


def test_a_release_in_parts_is_written_and_verified(tclose: Run, folder: Path) -> None:
    written = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.parquet", "--certificate", "d.json")
    assert tclose(*written, "--part-rows", "5", "--method", "mondrian").status == 0
    names = sorted(path.name for path in (folder / "r.parquet").iterdir())
    assert names == [f"part-0000{number}.parquet" for number in range(4)]
    judged = tclose("verify", "r.parquet", "--certificate", "d.json", "--json")
    assert judged.status == 0
    answer = json.loads(judged.out)
    assert (answer["holds"], answer["rows"], answer["files"]) == (True, 16, names)
    (folder / "r.parquet" / names[1]).unlink()
    outcome = tclose("verify", "r.parquet/", "--certificate", "d.json")
    assert outcome.status == 1
    assert f"the folder lacks 1 certified file: {names[1]}" in " ".join(outcome.out.split())
    tclose("verify", f"r.parquet/{names[0]}", "--certificate", "d.json").refuses("name the folder that holds them")


def test_a_folder_is_checked_as_one_table_and_never_written_into(tclose: Run, folder: Path) -> None:
    (folder / "parts").mkdir()
    frame = pl.read_csv(folder / "t.csv", infer_schema=False)
    frame[:7].write_parquet(folder / "parts" / "a.parquet")
    frame[7:].write_parquet(folder / "parts" / "b.parquet")
    whole, parts = (tclose("check", table, "--policy", "p.toml", "--json") for table in ("t.csv", "parts/"))
    assert (parts.status, json.loads(parts.out)) == (whole.status, json.loads(whole.out))
    asked = ("anonymize", "parts/", "--policy", "p.toml", "--method", "mondrian", "--force")
    tclose(*asked, "--out", "parts/b.parquet").refuses("would lie in a folder that is read as a table")
    assert tclose(*asked, "--out", "s.csv", "--certificate", "s.json").status == 0
    assert json.loads((folder / "s.json").read_text())["table"] == "parts"
    (folder / "parts" / "c.csv").write_bytes((folder / "t.csv").read_bytes())
    tclose("check", "parts", "--policy", "p.toml").refuses("c.csv in the folder parts is no Parquet file")
