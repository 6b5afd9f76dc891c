"""`tclose apply`: new rows join a release, a batch at a time; and what is refused."""

from __future__ import annotations

import csv
import io
import json
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Run = Callable[..., Any]
POLICY = 'identifiers = ["name"]\nk = 3\n[quasi.age]\n[quasi.city]\n[sensitive.ill]\nt = 0.5\nl = 2\n'
FIRST = (
    "anonymize",
    "t.csv",
    "--policy",
    "p.toml",
    "--out",
    "r1.csv",
    "--certificate",
    "c1.json",
    "--method",
    "mondrian",
)
APPLY = ("apply", "rec1.json", "new.csv", "--out", "r2.csv", "--certificate", "c2.json", "--record", "rec2.json")


def table(rows: int, seed: int, *, secret: str = "", ages: tuple[int, int] = (20, 60)) -> str:
    rng = np.random.default_rng(seed)
    lines = [
        f"P{seed}x{number},{rng.integers(*ages)},{rng.choice(['a', 'b'])},{rng.choice(['flu', 'cold', 'cough'])}"
        for number in range(rows)
    ]
    return "name,age,city,ill\n" + "\n".join(lines) + "\n" + secret


@pytest.fixture
def released(tclose: Run, folder: Path) -> Run:
    (folder / "t.csv").write_text(table(80, 1))
    (folder / "p.toml").write_text(POLICY)
    (folder / "new.csv").write_text(table(40, 2))
    assert tclose(*FIRST, "--record", "rec1.json").status == 0
    return tclose


def rows_of(name: str) -> Counter[tuple[str, ...]]:
    with Path(name).open(newline="") as file:
        return Counter(tuple(row) for row in list(csv.reader(file))[1:])


def test_new_rows_join_and_the_certificates_form_a_chain(released: Run) -> None:
    outcome = released(*APPLY, "--waiting", "w.csv")
    assert (outcome.status, outcome.err) == (0, "")
    assert " of 40 new rows are in r2.csv: " in outcome.out
    assert released("verify", "r2.csv", "--certificate", "c2.json").status == 0
    first, second = (json.loads(Path(name).read_text()) for name in ("c1.json", "c2.json"))
    assert second["previous"] == [first["digest"]]
    batch, before, after = second["batch"], rows_of("r1.csv"), rows_of("r2.csv")
    assert after >= before
    assert batch["number"] == 1
    assert batch["joined"] + batch["formed"] == batch["rows"] == sum((after - before).values()) > 0
    waiting = rows_of("w.csv") if Path("w.csv").exists() else Counter()
    assert batch["rows"] + sum(waiting.values()) == 40
    assert {row[0] for row in waiting} <= {row[0] for row in rows_of("new.csv")}
    assert "waiting" not in Path("c2.json").read_text()
    for name in ("rec2.json", *(["w.csv"] if waiting else [])):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600


SIGNALLED = """
import os, signal
from tclose.cli import main
from tclose.run import apply
published = apply._published

def signalled(*given):
    certificate = published(*given)
    os.kill(os.getpid(), signal.SIGTERM)
    return certificate

apply._published = signalled
main()
"""


def test_asked_to_end_between_the_release_and_the_rows_that_wait(released: Run, folder: Path) -> None:
    """The rows that wait are in no other file: once the release is there, they are written as well."""
    (folder / "new.csv").write_text(table(40, 4, secret="Eve,30,a,\n"))
    command = [sys.executable, "-c", SIGNALLED, *APPLY, "--waiting", "w.csv"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("asked to end too late: ")
    assert " new rows are in r2.csv: " in done.stdout
    assert ("Eve", "30", "a", "") in rows_of("w.csv")
    assert released("verify", "r2.csv", "--certificate", "c2.json").status == 0


def test_the_next_batch_joins_the_newest_release(released: Run, folder: Path) -> None:
    assert released(*APPLY).status == 0
    (folder / "more.csv").write_text(table(40, 3))
    outcome = released("apply", "rec2.json", "more.csv", "--out", "r3.csv", "--certificate", "c3.json", "--json")
    assert outcome.status == 0, outcome.err
    answer, last = json.loads(outcome.out), json.loads(Path("c2.json").read_text())
    assert answer["previous"] == [last["digest"]]
    assert answer["batch"]["number"] == 2
    assert sum(answer["new_rows"][name] for name in ("joined", "formed", "waiting")) == 40
    assert rows_of("r3.csv") >= rows_of("r2.csv")
    assert json.loads(Path("rec1.json").read_text())["seed"] == json.loads(Path("rec2.json").read_text())["seed"]


def test_nothing_is_published_if_no_row_can_join(released: Run, folder: Path) -> None:
    (folder / "new.csv").write_text("name,age,city,ill\nZed,33,a,flu\nYou,34,a,flu\n")
    outcome = released(*APPLY, "--waiting", "w.csv")
    assert outcome.status == 0
    assert outcome.out.startswith("None of 2 new rows can join yet, so no release was written: all of them wait.\n")
    assert not any(Path(name).exists() for name in ("r2.csv", "c2.json", "rec2.json"))
    assert rows_of("w.csv") == rows_of("new.csv")


def test_values_that_a_class_cannot_show_wait(released: Run, folder: Path) -> None:
    text = table(40, 4)
    (folder / "new.csv").write_text(text + "Eve,30,a,\n")
    outcome = released(*APPLY, "--waiting", "w.csv")
    assert outcome.status == 0, outcome.err
    assert ("Eve", "30", "a", "") in rows_of("w.csv")


BAD_RECORDS = {
    "no JSON": "seed",
    "a list": "[]",
    "no seed": '{"method": "weave", "version": "0.1.0"}',
    "a seed that is text": '{"seed": "7", "method": "weave", "version": "0.1.0"}',
    "a later format": '{"format": 3, "seed": 7, "method": "weave", "version": "9"}',
    "half a record": '{"format": 2, "seed": 7, "method": "weave", "version": "0.1.0"}',
}


@pytest.mark.parametrize("text", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_a_damaged_record_is_refused(released: Run, folder: Path, text: str) -> None:
    (folder / "rec1.json").write_text(text)
    released(*APPLY).refuses("rec1.json is not a record of tclose")
    assert not Path("r2.csv").exists()


def test_a_record_of_format_1_is_refused(released: Run, folder: Path) -> None:
    (folder / "rec1.json").write_text('{"seed": 7, "method": "weave", "version": "0.1.0"}')
    released(*APPLY).refuses("format 1", "publish it anew, with --record")


def test_another_release_is_refused(released: Run, folder: Path) -> None:
    (folder / "r1.csv").write_text((folder / "r1.csv").read_text() + "30,a,flu\n")
    released(*APPLY).refuses("r1.csv is not the release of this record: its SHA-256 differs")
    (folder / "r1.csv").unlink()
    released(*APPLY).refuses("there is no file r1.csv")


def test_the_release_may_lie_elsewhere(released: Run, folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "r1.csv").rename(folder / "old" / "first.csv")
    assert released(*APPLY, "--release", "old/first.csv").status == 0


WRONG_TABLES = {
    "name,age,city\nA,30,a\n": "the table has no column 'ill'",
    "name,age,city,ill\nA,young,a,flu\n": "column 'age' of the new rows is not all numbers, as it is in the release",
    "name,age,city,ill,more\nA,30,a,flu,1\n": "the policy gives no role to 'more'",
    "name,age,city,ill\n": "the table has a header but no rows",
}


@pytest.mark.parametrize(("text", "says"), WRONG_TABLES.items())
def test_a_table_of_other_columns_is_refused(released: Run, folder: Path, text: str, says: str) -> None:
    (folder / "new.csv").write_text(text)
    released(*APPLY).refuses(says)
    assert not Path("r2.csv").exists()


OBSTACLES: dict[str, tuple[Any, str]] = {
    "person": ("name", "counts persons"),
    "temper": (0.2, "asks for temper"),
    "presence": ({"population": "p.csv", "max": 0.5}, "asks for presence"),
    "quasi": ({"age": {"publish": "mean"}, "city": {}}, "the class means of 'age'"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_policies_that_a_batch_cannot_hold_are_refused(released: Run, folder: Path, name: str) -> None:
    setting, says = OBSTACLES[name]
    record = json.loads((folder / "rec1.json").read_text())
    record["policy"][name] = setting
    (folder / "rec1.json").write_text(json.dumps(record))
    released(*APPLY).refuses("new rows cannot join this release", says)


@pytest.mark.parametrize(("model", "says"), [("n = 20", "n of 'ill'"), ("average_t = 0.4", "average_t of 'ill'")])
def test_models_of_more_than_one_class_are_refused(tclose: Run, folder: Path, model: str, says: str) -> None:
    (folder / "t.csv").write_text(table(80, 1))
    (folder / "p.toml").write_text(POLICY.replace("l = 2", model))
    (folder / "new.csv").write_text(table(40, 2))
    assert tclose(*FIRST, "--record", "rec1.json").status == 0
    tclose(*APPLY).refuses("new rows cannot join this release", says)


def test_releases_of_several_tables_are_refused(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text(table(80, 1))
    (folder / "p.toml").write_text(POLICY)
    (folder / "new.csv").write_text(table(40, 2))
    assert tclose(*FIRST[:-1], "anatomy", "--record", "rec1.json").status == 0
    tclose(*APPLY).refuses("a release of one table with classes, not one of method 'anatomy'")


def test_files_that_are_read_are_not_overwritten(released: Run) -> None:
    released("apply", "rec1.json", "new.csv", "--out", "r1.csv").refuses("r1.csv is read and would be overwritten")
    released("apply", "rec1.json", "new.csv", "--out", "r2.csv", "--record", "rec1.json").refuses("rec1.json is read")
    released(*APPLY, "--waiting", "w.txt").refuses("a release is written as .csv")


def test_formulas_stay_guarded(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text(table(80, 1).replace("flu", "=flu"))
    (folder / "p.toml").write_text(POLICY)
    (folder / "new.csv").write_text(table(40, 2).replace("flu", "=flu"))
    assert tclose(*FIRST, "--guard-formulas", "--record", "rec1.json").status == 0
    assert tclose(*APPLY).status == 0
    assert rows_of("r2.csv") >= rows_of("r1.csv")
    assert ",=flu" not in Path("r2.csv").read_text()
    assert tclose("verify", "r2.csv", "--certificate", "c2.json").status == 0


def test_subtracting_the_releases_reveals_no_more(released: Run, folder: Path) -> None:
    assert released(*APPLY).status == 0
    (folder / "all.csv").write_text(table(80, 1) + "".join(table(40, 2).splitlines(keepends=True)[1:]))
    outcome = released("attack", "r1.csv", "r2.csv", "--original", "all.csv", "--policy", "p.toml", "--json")
    assert outcome.status == 0, outcome.err
    found = {attack["name"]: attack["release"] for attack in json.loads(outcome.out)["attacks"]}
    assert found["differencing"]["rows"] == 0
    assert found["differencing"]["figure"] >= 3
    assert found["intersection"]["figure"] == 1


def test_room_is_left_by_the_first_release_and_used_by_the_next(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text(table(80, 1))
    (folder / "p.toml").write_text(POLICY)
    (folder / "new.csv").write_text(table(40, 2))
    assert tclose(*FIRST, "--record", "rec1.json", "--room", "0.2").status == 0
    assert tclose(*APPLY).status == 0
    limits = [json.loads(Path(name).read_text())["policy"]["sensitive"]["ill"]["t"] for name in ("c1.json", "c2.json")]
    assert limits == [0.4, 0.5]
    replay = ("anonymize", "t.csv", "--policy", "p.toml", "--replay", "rec1.json", "--out", "again.csv")
    assert tclose(*replay).status == 0
    assert Path("again.csv").read_bytes() == Path("r1.csv").read_bytes()
    tclose(*replay, "--room", "0.1", "--force").refuses("--replay takes")


@pytest.mark.parametrize("room", ["1", "-0.1", "much", "nan"])
def test_a_room_that_is_no_share_is_refused(released: Run, room: str) -> None:
    record = ("--record", "rec1.json")
    released(*FIRST, *record, "--force", "--room", room).refuses("the room for new rows is a share of every t")


def test_numbers_of_a_typed_table_join_a_release_of_text(tclose: Run, folder: Path) -> None:
    """The first release is sorted by the size of its numbers, a CSV file that is read again has texts only."""
    for name, rows, seed in (("t.parquet", 80, 1), ("new.parquet", 40, 2)):
        ill = pl.col("ill").replace_strict({"flu": 9.5, "cold": 10.5, "cough": 100.5})
        pl.read_csv(io.StringIO(table(rows, seed))).with_columns(ill).write_parquet(folder / name)
    (folder / "p.toml").write_text(POLICY)
    assert tclose("anonymize", "t.parquet", *FIRST[2:], "--record", "rec1.json").status == 0
    outcome = tclose("apply", "rec1.json", "new.parquet", *APPLY[3:])
    assert outcome.status == 0, outcome.err
    assert rows_of("r2.csv") > rows_of("r1.csv")
    assert tclose("verify", "r2.csv", "--certificate", "c2.json").status == 0


def test_typed_columns_are_refused(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text(table(80, 1))
    (folder / "p.toml").write_text(POLICY)
    (folder / "new.csv").write_text(table(40, 2))
    assert tclose(*FIRST, "--format", "columns", "--record", "rec1.json").status == 0
    tclose(*APPLY).refuses("a release of text cells, not one of typed columns")
    assert not Path("r2.csv").exists()


SOURCE = '[source]\nseparator = ";"\ndecimal = ","\n'


def test_new_rows_are_read_as_the_source_of_the_policy_says(tclose: Run, folder: Path) -> None:
    """In a batch alone, 1,234 could be read in two ways; nothing is guessed, and nothing is published of it."""
    (folder / "p.toml").write_text(POLICY + SOURCE)
    for name, rows, seed in (("t.csv", 80, 1), ("new.csv", 40, 2)):
        cells = [line.split(",") for line in table(rows, seed).splitlines()]
        text = "\n".join(";".join([who, f"{age},234" if age != "age" else age, *rest]) for who, age, *rest in cells)
        (folder / name).write_text(text + "\n")
    assert tclose(*FIRST, "--record", "rec1.json", "--room", "0.2").status == 0
    tclose(*APPLY, "--waiting", "w.csv").refuses("name a file of .parquet or .arrow, which can be the next batch")
    outcome = tclose(*APPLY, "--waiting", "w.parquet")
    assert (outcome.status, outcome.err) == (0, "")
    assert {row[0][0] for row in rows_of("r2.csv")} == {"["}
    assert not any(
        setting in Path(name).read_text() for name in ("r2.csv", "c2.json") for setting in ("source", "decimal")
    )
    more = pl.DataFrame({"name": ["x"], "age": ["30.5"], "city": ["a"], "ill": ["flu"]})
    more.write_parquet(folder / "waiting.parquet")  # as --waiting writes rows
    outcome = tclose("apply", "rec2.json", "waiting.parquet", "--out", "r3.csv")
    assert (outcome.status, outcome.err) == (0, "")


def test_room_that_nobody_could_use_is_refused(released: Run, folder: Path) -> None:
    released(*FIRST, "--force", "--room", "0.1").refuses("apply needs the record: add --record FILE", usage=True)
    room = (*FIRST, "--force", "--record", "rec1.json", "--room", "0.1")
    released(*room, "--format", "columns").refuses("--room is of no use here", "not one of typed columns")
    released(*room, "--part-rows", "20").refuses("--room is of no use here", "one file, not a folder")
    (folder / "p.toml").write_text('person = "name"\n' + POLICY)
    released(*room).refuses("--room is of no use here", "counts persons")
