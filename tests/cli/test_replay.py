"""`tclose anonymize --replay`: a release is repeated byte for byte from its record, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TABLE = "age,zip,pay\n" + "".join(f"{20 + i % 30},{'xy'[i % 2]}{i % 3},{i % 4}\n" for i in range(60))
POLICY = 'k = 2\n[quasi.age]\n[quasi.zip]\nhierarchy = "zip.csv"\n[sensitive.pay]\nt = 0.3\n'
ASKED = ("anonymize", "t.csv", "--policy", "p.toml")
AGAIN = (*ASKED, "--replay", "rec.json", "--out", "again.csv")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)
    (folder / "zip.csv").write_text("".join(f"{a}{i};{a};*\n" for a in "xy" for i in range(3)))


def seed() -> str:
    return str(json.loads(Path("rec.json").read_text())["seed"])


@pytest.mark.parametrize(
    "options",
    [
        ("--effort", "fast"),
        ("--method", "mondrian"),
        ("--method", "sabre:slack"),
        ("--guard-formulas", "--method", "mondrian"),
    ],
)
def test_a_release_is_repeated(tclose: Run, options: tuple[str, ...]) -> None:
    assert tclose(*ASKED, *options, "--out", "r.csv", "--record", "rec.json").status == 0
    outcome = tclose(*AGAIN, "--record", "rec2.json")
    assert (outcome.status, outcome.err) == (0, "")
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()
    assert seed() not in outcome.out
    assert json.loads(Path("rec2.json").read_text())["release"][0]["sha256"] in Path("rec.json").read_text()


def test_a_folder_made_on_disk_is_repeated(tclose: Run) -> None:
    made = ("--engine", "disk", "--part-rows", "30", "--effort", "fast")
    assert tclose(*ASKED, *made, "--out", "r", "--record", "rec.json").status == 0
    assert tclose(*ASKED, "--replay", "rec.json", "--out", "again").status == 0
    assert {f.name: f.read_bytes() for f in Path("again").iterdir()} == {
        f.name: f.read_bytes() for f in Path("r").iterdir()
    }


CHANGES: dict[str, tuple[str, Callable[[str], str], str]] = {
    "policy": ("p.toml", lambda text: text.replace("0.3", "0.4"), "the policy is not the one of the record"),
    "hierarchy": ("zip.csv", lambda text: text.replace(";x;", ";X;"), "the policy is not the one of the record"),
    "table": ("t.csv", lambda text: text + "33,x1,2\n", "the table is not the one of the record"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_table_or_policy_is_refused(tclose: Run, what: str) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    name, change, says = CHANGES[what]
    Path(name).write_text(change(Path(name).read_text()))
    outcome = tclose(*AGAIN)
    outcome.refuses(says)
    assert seed() not in outcome.err
    assert not Path("again.csv").exists()


def test_other_bytes_are_refused_and_nothing_is_written(tclose: Run) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    record = json.loads(Path("rec.json").read_text())
    record["release"][0]["sha256"], record["version"] = "0" * 64, "0.0.9"
    Path("rec.json").write_text(json.dumps(record))
    tclose(*AGAIN).refuses("not repeated byte for byte, so nothing was written", "the record is of tclose 0.0.9")
    assert not Path("again.csv").exists()


@pytest.mark.parametrize("option", [("--method", "weave"), ("--engine", "memory"), ("--effort", "best")])
def test_options_beside_a_record_are_refused(tclose: Run, option: tuple[str, ...]) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    tclose(*AGAIN, *option).refuses("--replay takes how the release is made from the record", usage=True)


@pytest.mark.parametrize("option", [("--seed", "7"), ("--part-rows", "5"), ("--guard-formulas",)])
def test_settings_beside_a_record_are_refused(tclose: Run, option: tuple[str, ...]) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    tclose(*AGAIN, *option).refuses("--replay takes the method, its options, the seed")


def test_another_ending_is_refused(tclose: Run) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    tclose(*ASKED, "--replay", "rec.json", "--out", "again.parquet").refuses("the release was written as .csv")


def test_a_record_of_format_1_repeats_with_the_options_of_the_command(tclose: Run) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    record = json.loads(Path("rec.json").read_text())
    Path("rec.json").write_text(json.dumps({name: record[name] for name in ("seed", "method", "version")}))
    assert tclose(*AGAIN).status == 0
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()


def test_typed_columns_are_repeated_without_being_asked_for(tclose: Run) -> None:
    made = ("--method", "mondrian", "--format", "columns")
    assert tclose(*ASKED, *made, "--out", "r.csv", "--record", "rec.json").status == 0
    assert tclose(*AGAIN).status == 0
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()


def test_another_release_format_than_the_record_has_is_refused(tclose: Run) -> None:
    assert tclose(*ASKED, "--method", "mondrian", "--out", "r.csv", "--record", "rec.json").status == 0
    tclose(*AGAIN, "--format", "columns").refuses("--replay takes the method, its options, the seed, --room, --format")
