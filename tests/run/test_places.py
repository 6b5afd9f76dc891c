"""What works where: the table lists every setting, refuses what it does not list, and is what people read."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tclose.policy import Policy, Quasi, Sensitive
from tclose.policy.model import declared
from tclose.run import places
from tclose.run.places import CAPABILITIES, Capability, refusal_in_parts
from tclose.run.request import ALWAYS, Request

KINDS: dict[str, Any] = {"policy": Policy, "quasi": Quasi, "sensitive": Sensitive}


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_of_a_policy_is_listed_once(kind: str) -> None:
    assert sorted(each.name for each in CAPABILITIES if each.kind == kind) == sorted(declared(KINDS[kind]))


def test_a_setting_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}}, suppress=0.1)
    assert refusal_in_parts(policy) is None
    listed = {name: each for name, each in places._BY_NAME.items() if name != ("policy", "suppress")}
    monkeypatch.setattr(places, "_BY_NAME", listed)
    assert refusal_in_parts(policy) == "suppress is not known to work in parts"


def test_every_output_of_a_request_is_listed_once() -> None:
    listed = sorted(each.name for each in CAPABILITIES if each.kind == "output")
    assert listed == sorted({each.name for each in fields(Request)} - {*ALWAYS})


def test_an_output_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Request(table="t", policy={}, out="r", certificate="c", report="p", bound=True, bound_proof="b")
    assert asked.needs_all_rows == ["a page", "a bound"]
    listed = {name: each for name, each in places._BY_NAME.items() if name != ("output", "certificate")}
    monkeypatch.setattr(places, "_BY_NAME", listed)
    assert asked.needs_all_rows == ["certificate", "a page", "a bound"]


def test_the_docs_list_what_does_not_work_in_parts(pytestconfig: pytest.Config) -> None:
    page = (Path(pytestconfig.rootpath) / "docs" / "large-tables.md").read_text(encoding="utf-8")
    for each in CAPABILITIES:
        line = f"| `{each.name}` | {each.kind} | {each.places['disk']} |"
        assert (line in page) == bool(each.in_parts), line
        assert each.places["disk"] == each.places["spark"]


def test_doctor_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    from tclose.cli import run

    assert run(["doctor", "--capabilities", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["capabilities"]
    assert [each["setting"] for each in told] == [each.name for each in CAPABILITIES]
    temper = next(each for each in told if each["setting"] == "temper")
    assert (temper["memory"], temper["disk"]) == ("works", "looks at all classes at once")
    assert run(["doctor", "--capabilities"]) == 0
    assert "looks at all classes at once" in " ".join(capsys.readouterr().out.split())


def test_what_works_says_so() -> None:
    assert Capability("policy", "k").places == {"memory": "works", "disk": "works", "spark": "works"}
