"""The command that is shown for a request asks for the same request, whatever its settings are."""

from __future__ import annotations

import shlex
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tclose import InputError, Policy, steps
from tclose.cli import cli
from tclose.cli import publication as commands
from tclose.release.record import RecordedSeed
from tclose.run.knob import knobs
from tclose.run.request import Request, command_line

ASKED: dict[str, Any] = {"table": "my table.csv", "policy": "p.toml", "out": "r.csv"}
TEXTS: dict[str, Any] = {"text": "x y's", "file": "a b.json", "count": 7, "seconds": 2.5, "share": "1/5", "flag": True}
OTHERS: dict[str, list[Any]] = {  # where not every text will do
    "method": ["mondrian"],
    "options": [{"effort": "fast"}],
    "room": ["0.2", 0.25],
}


def values(name: str) -> list[Any]:
    """Return values of a setting that are not its default, by how it is declared."""
    knob, default = knobs(Request)[name]
    if knob.many:
        return [knob.choices, knob.choices[:1]]
    if knob.kind == "choice":
        return [choice for choice in knob.choices if choice != (knob.default or default)]
    return OTHERS.get(name, [TEXTS[knob.kind]] if knob.kind in TEXTS else [])


EVERY = [(name, value) for name in knobs(Request) for value in values(name)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line, and return the request that it makes instead of publishing."""
    got: list[Request] = []

    class Enough(Exception):
        pass

    def publish(request: Request, progress: Any) -> None:
        got.append(request)
        raise Enough

    monkeypatch.setattr(commands.steps, "publish", publish, raising=False)

    def run(command: str) -> Request:
        with pytest.raises(Enough):
            cli.main(shlex.split(command)[1:], standalone_mode=False)
        return got.pop()

    return run


def told(request: Request) -> dict[str, Any]:
    read = {name: knob.read(getattr(request, name)) for name, (knob, _) in knobs(Request).items()}
    files = {
        name: Path(value)
        for name, value in read.items()
        if knobs(Request)[name][0].kind == "file" and value is not None
    }
    return {**read, **files, "table": request.table, "policy": Path(request.policy), "force": request.force}  # type: ignore[arg-type]


def test_every_setting_has_a_value_here() -> None:
    assert {name for name, _ in EVERY} == {*knobs(Request)}


@pytest.mark.parametrize(("name", "value"), EVERY)
def test_the_command_asks_for_the_same(asked: Any, name: str, value: Any) -> None:
    beside: dict[str, Any] = {
        "public": {"report": "page.html"},
        "profile": {"report": "page.html"},
        "bound_seconds": {"bound": True},
    }
    request = Request(**{**ASKED, "record": "rec.json", "engine": "auto", **beside.get(name, {}), name: value})
    assert told(asked(command_line(request))) == told(request)


def test_a_setting_at_its_default_is_not_said() -> None:
    assert (
        command_line(Request(**ASKED, engine="auto")) == "tclose anonymize 'my table.csv' --policy p.toml --out r.csv"
    )
    repeated = command_line(Request(**ASKED, replay="rec.json"))
    assert repeated == "tclose anonymize 'my table.csv' --policy p.toml --out r.csv --replay rec.json"
    assert command_line(Request(**ASKED)).endswith("--engine memory"), "the command line would choose by itself"


def test_fields_that_are_no_knobs_are_said_too(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="install it with: pip install 'tclose[sign]'")
    key = steps.keygen(tmp_path / "my key").private
    day = date(2100, 12, 31)
    request = Request(
        **ASKED, engine="auto", force=True, endorsement=steps.endorsement(key=key, valid_until=day, commit=True)
    )
    words = shlex.split(command_line(request))
    assert words[-6:] == ["--sign", str(key), "--valid-until", "2100-12-31", "--commit", "--force"]
    assert {each.name for each in fields(Request)} - {*knobs(Request)} == {"table", "endorsement", "force"}


def test_no_seed_of_a_record_and_no_password_is_shown() -> None:
    with pytest.raises(InputError, match="the seed of a record is never shown"):
        command_line(Request(**ASKED, seed=RecordedSeed(918273645)))
    shown = command_line(Request(**{**ASKED, "table": "postgresql://ann:secret@db/clinic#visits"}))
    assert "secret" not in shown


@pytest.mark.parametrize("part", [{"table": object()}, {"policy": Policy(quasi=["a"], k=2)}])
def test_what_has_no_file_has_no_command(part: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="by its file"):
        command_line(Request(**{**ASKED, **part}))


def test_a_table_is_not_taken_for_an_option(asked: Any) -> None:
    request = Request(**{**ASKED, "table": "-t.csv"}, engine="auto")
    assert asked(command_line(request)).table == "./-t.csv"
