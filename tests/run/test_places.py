"""What works where: the table lists every setting, refuses what it does not list, and is what people read."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tclose.partition import METHODS
from tclose.policy import Policy, Quasi, Sensitive
from tclose.policy.model import declared
from tclose.run import engines
from tclose.run.engines import CAPABILITIES, Capability, one_part_by, one_part_for, splits_in_memory, stays_in_memory
from tclose.run.request import ALWAYS, Request

KINDS: dict[str, Any] = {"policy": Policy, "quasi": Quasi, "sensitive": Sensitive}


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_of_a_policy_is_listed_once(kind: str) -> None:
    assert sorted(each.name for each in CAPABILITIES if each.kind == kind) == sorted(declared(KINDS[kind]))


def test_a_setting_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}}, suppress=0.1)
    assert one_part_for(policy) is None
    listed = {name: each for name, each in engines._BY_NAME.items() if name != ("policy", "suppress")}
    monkeypatch.setattr(engines, "_BY_NAME", listed)
    assert one_part_for(policy) == "suppress is not known to work in parts"


def test_every_output_of_a_request_is_listed_once() -> None:
    listed = sorted(each.name for each in CAPABILITIES if each.kind == "output")
    assert listed == sorted({each.name for each in fields(Request)} - {*ALWAYS})


def test_every_method_is_listed_once() -> None:
    assert sorted(each.name for each in CAPABILITIES if each.kind == "method") == sorted([*METHODS, "effort"])
    assert one_part_by("mondrian") is None
    assert one_part_by("projections") == "projections does not publish one table of classes"
    assert one_part_by("anything") == "anything is not known to work in parts"


def test_an_output_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Request(table="t", policy={}, out="r", certificate="c", report="p", bound=True, bound_proof="b")
    assert asked.needs_all_rows == ["a bound is made from all rows at once"]
    listed = {name: each for name, each in engines._BY_NAME.items() if name != ("output", "certificate")}
    monkeypatch.setattr(engines, "_BY_NAME", listed)
    assert asked.needs_all_rows == [
        "certificate is made from all rows at once",
        "a bound is made from all rows at once",
    ]


def test_auto_takes_memory_for_what_it_took_memory_for() -> None:
    assert stays_in_memory(["report"])  # it works in parts since then
    assert stays_in_memory(["bound"])
    assert not stays_in_memory(["certificate", "record", "part_rows"])


def test_the_docs_list_what_is_not_the_same_everywhere(pytestconfig: pytest.Config) -> None:
    page = (Path(pytestconfig.rootpath) / "docs" / "large-tables.md").read_text(encoding="utf-8")
    for each in CAPABILITIES:
        line = f"| `{each.name}` | {each.kind} | {' | '.join(each.places.values())} |"
        assert (line in page) == (set(each.places.values()) != {"works"}), line


def test_doctor_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    from tclose.cli import run

    assert run(["doctor", "--capabilities", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["capabilities"]
    assert [each["setting"] for each in told] == [each.name for each in CAPABILITIES]
    both = next(each for each in told if each["setting"] == "both")
    assert (both["memory"], both["disk"]) == ("works", "one part: it looks at all classes at once")
    assert run(["doctor", "--capabilities"]) == 0
    assert "it looks at all classes at once" in " ".join(capsys.readouterr().out.split())


def test_what_did_not_work_in_parts_before_stays_in_memory() -> None:
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}})
    assert not splits_in_memory(policy, "weave")
    assert [name for name in METHODS if not splits_in_memory(policy, name)] == ["weave"]
    for loss, stays in {"discernibility": False, "sse": True, "queries": True}.items():
        chosen = replace(policy, loss=loss)
        assert (splits_in_memory(chosen, "weave"), one_part_for(chosen)) == (stays, None)
    assert splits_in_memory(replace(policy, temper="0.2"), "weave")
    diverse = replace(policy, sensitive={"pay": {"entropy_l": 2}})
    assert [splits_in_memory(replace(diverse, person=who), "weave") for who in (None, "who")] == [False, True]
    assert splits_in_memory(Policy(quasi={"age": {"publish": "mean"}}, sensitive={"pay": {"t": 0.2}}), "weave")


def test_what_works_says_so() -> None:
    assert Capability("policy", "k").places == {"memory": "works", "disk": "works", "spark": "works"}
