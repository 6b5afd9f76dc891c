"""Every registry is complete: whatever is listed has a name, words for people, and works as it declares."""

from __future__ import annotations

import inspect
import io
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import policy
from tclose.distance import DISTANCES, Counts, DomainFacts, Equal, Line, Metric, Tree
from tclose.distance.base import Geometry
from tclose.errors import PolicyError
from tclose.measure.attack import ATTACKS
from tclose.measure.information_loss import MEASURES
from tclose.partition import DEFAULT_METHOD, METHODS, method_and_options, method_named
from tclose.partition.options import checked_options
from tclose.policy import PROFILES, Policy, Sensitive
from tclose.privacy import KAnonymity, Model, Rule, models_of
from tclose.privacy.registry import MODELS
from tclose.release.formats import OUTPUT_FORMATS, OutputFormat, format_of
from tclose.release.layouts import LAYOUTS, layout_of
from tclose.report.profiles import BY_NAME
from tclose.table.sources import SOURCES, parse
from tclose.table.sources.base import Source

SHAPES = {"line": Line, "tree": Tree, "metric": Metric}
SIGNS = {"≥": "higher", "≤": "lower", "<": "lower"}
LONGEST_LINE = 100

# --- distances ---

TREE = (np.arange(4), np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]), np.zeros(4, dtype=np.int64))
COSTS = np.array([[0, 1, 3, 4], [1, 0, 2, 3], [3, 2, 0, 1], [4, 3, 1, 0]])
FACTS = DomainFacts(4, np.array([0, 1, 5, 7]), TREE, COSTS)
NEEDED: dict[str, Any] = {
    "hierarchy": {"rows": [["a", "x", "*"], ["b", "y", "*"]]},
    "matrix": {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]},
}

every_distance = pytest.mark.parametrize("name", DISTANCES)


def apart(geometry: Geometry, i: int, j: int) -> Fraction:
    """Return how far two values are apart, as the definition of the shape has it."""
    if isinstance(geometry, Line):
        return Fraction(abs(int(geometry.positions[i]) - int(geometry.positions[j])), geometry.length)
    if isinstance(geometry, Tree):
        return Fraction(next(h for h, level in enumerate(geometry.levels) if level[i] == level[j]), geometry.height)
    return Fraction(int(geometry.costs[i, j]), geometry.farthest)


def test_a_policy_knows_exactly_the_distances_that_can_be_made() -> None:
    assert list(policy.DISTANCES) == list(DISTANCES)


@every_distance
def test_a_distance_has_words_and_the_shape_that_it_declares(name: str) -> None:
    entry, distance = DISTANCES[name], FACTS.make(name)
    assert entry.name == distance.name == name
    assert entry.near.strip() == entry.near != ""
    assert not entry.near.endswith(".")  # it ends a sentence
    assert isinstance(distance.geometry(FACTS.size), SHAPES[entry.shape])


@every_distance
def test_a_geometry_tells_the_same_distances(name: str) -> None:
    distance = FACTS.make(name)
    geometry, values = distance.geometry(FACTS.size), range(FACTS.size)
    found = {(i, j): distance.between(i, j) for i in values for j in values}
    assert found == {(i, j): apart(geometry, i, j) for i in values for j in values}
    assert max(found.values()) == 1


@every_distance
def test_a_distance_survives_the_round_trip_through_a_policy(name: str) -> None:
    needed = policy.DISTANCES[name].needs
    spec = {"t": 0.2, "distance": name} | ({needed: NEEDED[needed]} if needed else {})
    asked = Policy.from_dict({"quasi": ["age"], "sensitive": {"disease": spec}})
    assert asked.sensitive["disease"].distance == name
    assert Policy.from_dict(asked.to_dict()) == asked
    if needed:
        with pytest.raises(PolicyError, match=f"say {needed}"):
            Sensitive(t=0.2, distance=name)


@pytest.mark.parametrize("setting", policy.column_settings.IMPLIED)
def test_a_setting_implies_a_distance_that_takes_it(setting: str) -> None:
    assert policy.DISTANCES[policy.column_settings.IMPLIED[setting]].allows(setting)


# --- privacy models ---

every_model = pytest.mark.parametrize("name", policy.MODELS)
DECLARED = {"name": str, "title": str, "sign": str, "counts_persons": bool, "alone": bool, "merging_keeps": bool}
SAMPLES: tuple[Any, ...] = (Fraction(1, 2), 2, {"c": 2, "l": 2})
counts = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


def asking(name: str) -> Sensitive:
    """Return settings that ask for one model, at the first level that it takes."""
    for level in SAMPLES:
        try:
            return Sensitive(**{name: level})
        except PolicyError:
            continue
    raise AssertionError(f"give {name} a sample")


def made(name: str) -> Model:
    (model,) = models_of(asking(name), Equal())
    return model


def judged(model: Model, row: list[int], reference: list[int]) -> bool:
    return model.judge(Counts.from_dense([row]), np.array(reference)).satisfied


def total(*rows: list[int]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def test_every_setting_of_a_policy_is_a_model_and_every_model_has_a_setting() -> None:
    assert set(policy.MODELS) <= set(MODELS)
    assert {name for name, entry in MODELS.items() if entry.make is not None} - set(policy.MODELS) == {"(n,t)", "t_by"}


@pytest.mark.parametrize("name", MODELS)
def test_a_requirement_has_words(name: str) -> None:
    entry = MODELS[name]
    assert entry.name == name
    assert entry.title.strip() == entry.title != ""
    assert entry.sign in SIGNS


def test_titles_differ() -> None:
    assert len({entry.title for entry in MODELS.values()}) == len(MODELS)


@every_model
def test_a_model_declares_everything(name: str) -> None:
    model = made(name)
    for attribute, kind in DECLARED.items():
        assert isinstance(getattr(model, attribute), kind), attribute
    assert model.name == name
    assert MODELS[name].sign in MODELS[name].words(model.required)


@every_model
def test_a_model_survives_the_round_trip_through_a_policy(name: str) -> None:
    asked = Policy(quasi=["age"], sensitive={"disease": asking(name)})
    assert Policy.from_dict(asked.to_dict()) == asked
    assert name in asked.to_dict()["sensitive"]["disease"]


@every_model
@settings(max_examples=examples(60), deadline=None)
@given(row=counts, others=counts)
def test_a_model_compares_as_its_sign_says(name: str, row: list[int], others: list[int]) -> None:
    model = made(name)
    judgement = model.judge(Counts.from_dense([row]), np.array(total(row, others)))
    level = model.required
    required = level[MODELS[name].compared] if isinstance(level, dict) else level
    reached: Any = judgement.reached
    holds = {"≥": reached >= required, "≤": reached <= required, "<": reached < required}[model.sign]  # type: ignore[operator]
    assert judgement.satisfied == holds


@every_model
@settings(max_examples=examples(60), deadline=None)
@given(row=counts, others=counts, more=counts)
def test_a_model_that_judges_alone_ignores_the_table(
    name: str, row: list[int], others: list[int], more: list[int]
) -> None:
    model = made(name)
    if model.alone:
        assert judged(model, row, total(row, others)) == judged(model, row, total(row, others, more))


@every_model
@settings(max_examples=examples(100), deadline=None)
@given(first=counts, second=counts, others=counts)
def test_merging_keeps_what_declares_so(name: str, first: list[int], second: list[int], others: list[int]) -> None:
    model, reference = made(name), total(first, second, others)
    if model.merging_keeps and judged(model, first, reference) and judged(model, second, reference):
        assert judged(model, total(first, second), reference)


@every_model
@settings(max_examples=examples(100), deadline=None)
@given(row=counts, others=counts)
def test_a_class_that_keeps_the_rule_is_admitted(name: str, row: list[int], others: list[int]) -> None:
    model, reference = made(name), total(row, others)
    rule = model.rule([Fraction(count, sum(reference)) for count in reference])
    if rule is None:
        return
    admitted = judged(model, row, reference)
    assert admitted or not kept(rule, row)
    if rule.exact:
        assert admitted == kept(rule, row)


def kept(rule: Rule, row: list[int]) -> bool:
    size, falling = sum(row), sorted(row, reverse=True)
    shares = [Fraction(count, size) for count in row]
    entropy = -sum(float(share) * math.log(share) for share in shares if share)
    within = all(share <= most for share, most in zip(shares, rule.most, strict=bool(rule.most)))
    within &= all(share >= least for share, least in zip(shares, rule.least, strict=bool(rule.least)))
    within &= sum(count > 0 for count in row) >= rule.distinct and entropy >= rule.entropy
    pairs = zip(shares, rule.surprisal, strict=bool(rule.surprisal))
    divergence = sum(float(share) * (math.log(share) + surprisal) for share, surprisal in pairs if share)
    within &= divergence <= rule.divergence
    if rule.recursive is not None:
        c, l = rule.recursive  # noqa: E741 - the paper's letter
        within &= falling[0] < c * sum(falling[l - 1 :])
    return within


def test_k_is_declared_as_the_other_models_are() -> None:
    model = KAnonymity(3)
    assert {attribute: type(getattr(model, attribute)) for attribute in DECLARED} == DECLARED
    assert MODELS["k"].title == model.title


# --- methods ---

every_method = pytest.mark.parametrize("name", METHODS)


@every_method
def test_a_method_says_what_it_does_in_a_line(name: str) -> None:
    method = METHODS[name]
    assert 0 < len(f"{name:16}  {method.what}") <= LONGEST_LINE
    assert method.who
    assert method.growth
    assert method.year <= 2026
    assert method.sensitive in ("one", "any")
    assert method.tables in ("one", "several", "exact")
    assert set(method.needs) <= set(policy.MODELS)


@every_method
def test_a_method_serves_known_distances(name: str) -> None:
    assert METHODS[name].distances
    assert set(METHODS[name].distances) <= set(DISTANCES)


@every_method
def test_a_method_takes_each_of_its_choices(name: str) -> None:
    method = METHODS[name]
    assert callable(method_named(name))
    assert bool(method.option) == bool(method.choices)
    for choice in method.choices:
        assert checked_options(name, {method.option: choice}) == {method.option: choice}
        assert method_and_options(f"{name}:{choice}")[0] == name


@every_method
def test_a_method_takes_each_of_its_variants_and_the_first_is_its_default(name: str) -> None:
    variants = METHODS[name].variants
    for variant, options in variants.items():
        assert method_and_options(f"{name}:{variant}") == (name, checked_options(name, options))
    keywords = inspect.signature(method_named(name)).parameters
    if METHODS[name].tables == "one":  # projections are compared with another base than they publish with
        for option, value in next(iter(variants.values()), {}).items():
            assert keywords[option].default == value


def test_the_default_method_serves_everything() -> None:
    assert METHODS[DEFAULT_METHOD].distances == tuple(DISTANCES)
    assert METHODS[DEFAULT_METHOD].sensitive == "any"


# --- measures, attacks, layouts, file formats ---


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_measure_says_what_it_is_and_which_way_is_better(measure: Any) -> None:
    assert measure.name.isidentifier()
    assert measure.title
    assert measure.better in ("lower", "higher")
    assert measure.high is None or measure.low < measure.high


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_says_what_it_is_and_which_way_is_better(attack: Any) -> None:
    assert attack.name
    assert attack.title
    assert attack.meaning
    assert attack.figure
    assert attack.cure
    assert attack.better in ("lower", "higher")
    assert callable(attack.run)


def test_names_of_measures_and_attacks_differ() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def test_every_method_that_does_not_publish_one_table_of_classes_has_a_layout() -> None:
    assert {name for name, method in METHODS.items() if method.tables != "one"} <= set(LAYOUTS)


def test_a_method_has_a_caveat_where_its_layout_publishes_exact_quasi_identifiers() -> None:
    exact = {name for name in METHODS if layout_of(name).exact_quasi}
    assert exact == {name for name, method in METHODS.items() if method.caveat}


@pytest.mark.parametrize("kind", OUTPUT_FORMATS, ids=lambda kind: kind.name)
def test_what_a_format_writes_can_be_read_back(kind: OutputFormat) -> None:
    table, file = pl.DataFrame({"age": ["[20, 30]", "x, y"], "pay": ["1.10", ""]}), io.BytesIO()
    kind.write(table, file)
    assert parse(file.getvalue()).equals(table)
    for suffix in kind.suffixes:
        assert suffix.startswith(".")
        assert format_of(Path(f"r{suffix.upper()}")) is kind


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_source_has_a_name_and_a_reader(source: Source) -> None:
    assert source.name
    assert callable(source.read)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_says_what_it_is_and_which_text_was_read(name: str) -> None:
    profile = BY_NAME[name]
    assert profile.name == name
    assert profile.title
    assert "read" in profile.read or "Written from copies of the text" in profile.read
    assert callable(profile.require)


def test_only_the_last_source_takes_any_file() -> None:
    assert [source.begins == b"" for source in SOURCES] == [False] * (len(SOURCES) - 1) + [True]
