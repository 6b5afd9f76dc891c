"""Every setting of a request says whether a record keeps it, and what changes the bytes of a release is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tclose import steps
from tclose.release.output import Output
from tclose.release.record import load_record
from tclose.run.knob import knobs
from tclose.run.request import GIVEN, REPLACED, Request, recalled, recorded_settings

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning", "ignore::tclose.errors.ProfileWarning")
TABLE = "age,zip,pay\n" + "".join(f"{20 + i % 30},{'xy'[i % 2]}{i % 3},{'=ab'[i % 3]}{i % 4}\n" for i in range(60))
POLICY = {"k": 2, "quasi": ["age", "zip"], "sensitive": {"pay": {"t": 0.6, "distance": "equal"}}}
RECORD = "record.json"
MADE: dict[str, Any] = {"method": "mondrian", "seed": 5}
VALUES: dict[str, list[Any]] = {"flag": [True], "count": [20], "seconds": [0.3], "share": ["0.3"]}  # of each kind
OTHERS: dict[str, list[Any]] = {  # of settings that take none of these
    "method": ["sabre", None],
    "options": [{"effort": "fast"}],
    "resume": [],  # continues a run that was killed
    "master": [],  # a cluster, which is no part of this machine
    "replay": [],  # takes the place of the other settings
    "policy": [],  # must be the one of the record
}
WITH: dict[str, dict[str, Any]] = {  # what a setting is about
    "options": {"method": "weave"},
    "public": {"report": "page.html"},
    "profile": {"report": "page.html"},
    "part_rows": {"out": "release", "part_rows": 60},
    "engine": {"method": "weave", "options": {"effort": "fast"}},
    "bound": {"bound_seconds": 0.2},
    "bound_proof": {"bound_seconds": 0.2},
    "bound_seconds": {"bound": True, "bound_seconds": 0.2},
}


def values(name: str) -> list[Any]:
    """Return values of a setting that are not its default, by how it is declared."""
    knob, default = knobs(Request)[name]
    if name in OTHERS:
        return OTHERS[name]
    if knob.kind == "file":
        return [f"{name}.{'csv' if name == 'out' else 'json'}"]
    if knob.kind == "choice":
        choices = [choice for choice in knob.choices if choice not in (default, "spark")]  # Spark repeats nothing
        return [[choice] for choice in choices] if knob.many else choices
    return VALUES[knob.kind]


EVERY = [(name, value) for name in knobs(Request) for value in values(name)]


def made(folder: Path, name: str, **asked: Any) -> dict[str, bytes]:
    """Publish into a folder of its own, with a record, and return the bytes of the release."""
    (place := folder / name).mkdir()
    given = {"out": "release.csv", "record": RECORD, **asked}
    files = {key: place / path for key, path in given.items() if knobs(Request)[key][0].kind == "file"}
    steps.publish(Request(table=folder / "t.csv", policy=POLICY, **{**given, **files}))
    out = files["out"]
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())} if out.is_dir() else {"": out.read_bytes()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


@pytest.fixture(scope="module")
def usual_bytes(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, bytes]]:
    """Return a function that publishes with some settings, once for all tests that ask for the same."""
    folder, known = tmp_path_factory.mktemp("usual"), dict[str, dict[str, bytes]]()
    (folder / "t.csv").write_text(TABLE)

    def usual(**given: Any) -> dict[str, bytes]:
        key = json.dumps(given, sort_keys=True)
        if key not in known:
            known[key] = made(folder, str(len(known)), **given)
        return known[key]

    return usual


def test_every_field_is_a_knob_or_one_of_a_few_that_have_options_of_their_own() -> None:
    assert {each.name for each in fields(Request)} == {*knobs(Request), *("table", "endorsement", "force")}
    assert not {*knobs(Request)} & {*("table", "endorsement", "force")}


def test_every_knob_says_whether_it_is_recorded() -> None:
    assert [name for name, (knob, _) in knobs(Request).items() if knob.recorded is None] == []


def test_an_output_records_what_a_request_declares_as_recorded() -> None:
    shared = {each.name for each in fields(Output)} & {each.name for each in fields(Request)}
    assert {*Output(out="r").recorded} == shared & {*recorded_settings()}


def test_the_refusal_names_every_recorded_setting() -> None:
    for name, (knob, _) in recorded_settings().items():
        assert knob.option(name) in GIVEN or name in GIVEN or name in REPLACED, name


@pytest.mark.parametrize(("name", "value"), EVERY)
def test_what_changes_the_bytes_is_recorded_and_repeated(
    folder: Path, usual_bytes: Callable[..., dict[str, bytes]], name: str, value: Any
) -> None:
    given = {**MADE, **WITH.get(name, {})}
    usual, changed = usual_bytes(**given), made(folder, "changed", **{**given, name: value})
    assert changed == usual or knobs(Request)[name][0].recorded, (
        f"{name} changes the bytes, and the record does not say it"
    )
    out = given.get("out", "release.csv")
    assert made(folder, "again", out=out, replay=folder / "changed" / RECORD) == changed


@pytest.mark.parametrize(("name", "value"), [each for each in EVERY if each[0] in recorded_settings()])
def test_a_record_says_every_recorded_setting(folder: Path, name: str, value: Any) -> None:
    made(folder, "made", **{**MADE, **WITH.get(name, {}), name: value})
    record = load_record(folder / "made" / RECORD)
    assert {*recorded_settings()} <= {*record.content}
    assert {*recalled(record)} == {*recorded_settings()} - {"seed"}
    knob, _ = recorded_settings()[name]
    if name == "options":
        assert value.items() <= recalled(record)[name].items()
    elif name != "seed" and value not in (None, "auto"):
        assert knob.read(recalled(record)[name]) == knob.read(value)


def test_a_record_that_does_not_know_a_setting_means_its_default(folder: Path) -> None:
    """A record of before the setting was added says nothing about it; what no version wrote counts as nothing."""
    made(folder, "made", **MADE)
    content = json.loads((folder / "made" / RECORD).read_text())
    odd = {"part_rows": True, "guard_formulas": "yes", "release_format": "odd", "engine": 5}
    for name, value in odd.items():
        for told in ({**content, name: value}, {key: said for key, said in content.items() if key != name}):
            (folder / RECORD).write_text(json.dumps(told))
            assert recalled(load_record(folder / RECORD))[name] == knobs(Request)[name][1]
