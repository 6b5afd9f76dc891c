"""Every measure and every attack declares everything: terminal, page and JSON find it through its registry alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import tclose
from tclose.comparison.trial import COMPARED, FIGURES, Trial, TrialFigure
from tclose.measure.attack import ATTACKS, Attack
from tclose.measure.detail_kept import DETAIL_MEASURES
from tclose.measure.information_loss import MEASURES, Declaration

DECLARATIONS: tuple[Declaration, ...] = (*MEASURES, *DETAIL_MEASURES)
SOURCE = Path(tclose.__file__).parent
SOURCES = {  # without examples in docstrings
    str(path.relative_to(SOURCE)): re.sub(r"(?m)^ *>>> .*$", "", path.read_text(encoding="utf-8"))
    for path in SOURCE.rglob("*.py")
}
NAME = re.compile(r"[a-z][a-z_]*")
UNITS = get_args(get_type_hints(Attack)["unit"])


def by_name(entry: Any) -> str:
    return str(entry.name)


@pytest.mark.parametrize("measure", DECLARATIONS, ids=by_name)
def test_a_measure_is_complete(measure: Declaration) -> None:
    assert NAME.fullmatch(measure.name)
    assert measure.title
    assert measure.short
    assert len(measure.short) <= 12
    assert measure.meaning.endswith(".")
    assert measure.better in ("lower", "higher")
    assert measure.high is None or measure.low < measure.high
    assert measure.scale.startswith("from ")
    assert measure.scale.endswith(f"{measure.better} is better")


@pytest.mark.parametrize("attack", ATTACKS, ids=by_name)
def test_an_attack_is_complete(attack: Attack) -> None:
    assert NAME.fullmatch(attack.name)
    assert attack.title.startswith(attack.label)
    assert attack.title
    assert attack.title[0].islower()
    assert attack.meaning.endswith(".")
    assert attack.figure
    assert attack.unit in UNITS
    assert attack.better in ("lower", "higher")
    assert isinstance(attack.counts_people, bool)


@pytest.mark.parametrize("entries", [MEASURES, DETAIL_MEASURES, ATTACKS], ids=["measures", "detail", "attacks"])
def test_names_and_titles_are_different(entries: tuple[Any, ...]) -> None:
    for field in ("name", "title"):
        words = [getattr(entry, field) for entry in entries]
        assert len(set(words)) == len(words)


def test_a_comparison_shows_every_measure_that_says_so() -> None:
    titles = {figure.title for figure in FIGURES}
    assert {measure.title for measure in MEASURES if measure.compared} <= titles
    assert not {measure.title for measure in MEASURES if not measure.compared} & titles


def test_the_json_of_a_trial_has_every_measure_in_its_place() -> None:
    measures = {measure.name: float(number) for number, measure in enumerate(COMPARED)}
    trial = Trial(name="weave", method="weave", choice="", outcome="released", measures=measures)
    entries = trial.to_dict()
    names = list(entries)
    first = names.index("smallest_class") + 1
    assert names[first : first + len(COMPARED)] == [measure.name for measure in COMPARED]
    assert {name: entries[name] for name in measures} == measures
    assert [TrialFigure.of_measure(measure).value(trial) for measure in COMPARED] == list(measures.values())
    without = Trial(name="weave", method="weave", choice="", outcome="stopped")
    assert {without.to_dict()[measure.name] for measure in COMPARED} == {None}


def test_adding_an_attack_or_a_measure_of_detail_takes_two_files() -> None:
    """Outside its own file and its registry, no module of tclose writes the name of an entry."""
    own = {"measure/detail_kept.py", "measure/attack/results.py"}
    for entry in (*ATTACKS, *DETAIL_MEASURES):
        named = {path for path, text in SOURCES.items() if f'"{entry.name}"' in text}
        assert len(named - own) <= 1, entry.name
