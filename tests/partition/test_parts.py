"""Parts: every row is in one part by itself, counts are exact, every part and every class is admitted."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Distance, DomainFacts, Equal, Ordered
from tclose.errors import Cancelled, InternalError
from tclose.partition import parts as parts_module
from tclose.partition import weave
from tclose.partition.parts import (
    Cut,
    PartCounts,
    cut_into_parts,
    learn_cut,
    random_of_rows,
    repaired,
    sample_size,
)
from tclose.partition.parts.cut import HIGHEST, LOWEST, MARGIN, _limits, halves_of, sensitive_codes, separators
from tclose.partition.problem import Attribute, Problem, WholeTable
from tclose.partition.shared.axes import LabelAxis, NumberAxis, SetAxis
from tclose.partition.weave import limits, search
from tclose.partition.weave.bisection import DEPTH
from tclose.partition.weave.limits import limits_of
from tclose.partition.weave.table import WeaveTable
from tclose.policy import ByGroup
from tclose.privacy import DistinctL, TClosenessByGroup
from tclose.types import Ints

LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.int64))
VALUES = 8


def attribute(codes: Ints, distance: Distance, t: Fraction | None, values: int = VALUES, **more: Any) -> Attribute:
    return Attribute(codes, np.bincount(codes, minlength=values).astype(np.int64), distance, t, **more)


def table_of(seed: int, rows: int, t: Fraction, k: int = 2, attributes: int = 1, ties: int = 4) -> Problem:
    """Return rows whose sensitive values go with the first quasi-identifier; few different ones, if ties are many."""
    random = np.random.default_rng(seed)
    hidden = random.random(rows)
    number = (hidden * ties + random.random(rows) * ties).astype(np.int64)
    places = np.arange(2 * ties) / (2 * ties - 1)
    axes = (
        NumberAxis(np.where(random.random(rows) < 0.05, -1, number), places, places),
        LabelAxis(random.integers(-1, 6, size=rows), LEVELS),
        SetAxis(random.integers(0, 3, size=rows), 3),
    )
    codes = np.minimum((hidden * VALUES * 0.6 + random.random(rows) * VALUES * 0.6).astype(np.int64), VALUES - 1)
    sensitive = [attribute(codes, Ordered(VALUES), t), attribute(random.permutation(codes), Equal(), t)]
    points = np.stack([number / (2 * ties), random.random(rows)], axis=1)
    return Problem(points, tuple(sensitive[:attributes]), k, axes)


tables = st.builds(
    table_of,
    st.integers(0, 2**32),
    st.integers(60, 400),
    st.sampled_from([Fraction(1, 20), Fraction(1, 8), Fraction(1, 3), Fraction(1)]),
    attributes=st.integers(0, 2),
    ties=st.sampled_from([1, 3, 20]),
)


def codes_of(problem: Problem) -> tuple[Ints, Ints]:
    return np.stack([axis.codes for axis in problem.axes], axis=1), sensitive_codes(problem)


def learned(problem: Problem, *, seed: int = 1, sampled: int = 10, share: float = 0.9) -> Cut:
    """Learn a cut of a table from all its rows."""
    return learn_cut(problem, total_rows=problem.rows, part_rows=1, share=share, seed=seed, sampled=sampled)


def numbers_of_sample(rows: int, seed: int = 1) -> np.ndarray:
    """Return the random numbers that the rows of a sample get while a cut is learned."""
    return np.random.default_rng(seed).integers(2**64, size=rows, dtype=np.uint64)


def counts_of(cut: Cut, problem: Problem, parts: Ints) -> PartCounts:
    domains = [len(each.reference) for each in problem.sensitive]
    return PartCounts.of(parts, cut.parts, sensitive_codes(problem), domains)


def naive_part(cut: Cut, axes: list[int], sensitive: list[int], random: int) -> int:
    """Follow the rules of a cut for one row, in plain Python."""
    high, low = random >> 32, random & 0xFFFFFFFF
    stratum, limits = 0, len(cut.limit_attribute)
    for level in range(DEPTH if limits else 0):
        limit = level % limits
        place = int(cut.places[cut.limit_start[limit] + sensitive[cut.limit_attribute[limit]]])
        end = tuple(cut.strata[2**level - 1 + stratum].tolist())
        stratum = 2 * stratum + ((place, high) >= end)
    node = 0
    while cut.children[node, 0] >= 0:
        first, bits = int(cut.axis[node]), int(cut.bits[node])
        key = (*axes[first:], *axes[:first], low)
        threshold = cut.thresholds[int(cut.first[node]) + (stratum >> (DEPTH - bits))]
        node = int(cut.children[node, 1 if key >= tuple(threshold.tolist()) else 0])
    return int(cut.part[node])


@settings(max_examples=15)
@given(tables, st.integers(0, 2**32))
def test_every_row_has_a_part_that_depends_on_the_row_alone(problem: Problem, seed: int) -> None:
    cut, random = learned(problem), random_of_rows(seed, 0, problem.rows)
    axes, sensitive = codes_of(problem)
    parts = cut.parts_of(axes, sensitive, random)
    assert parts.shape == (problem.rows,)
    assert 0 <= parts.min() <= parts.max() < cut.parts
    naive = [naive_part(cut, *row) for row in zip(axes.tolist(), sensitive.tolist(), random.tolist(), strict=True)]
    assert parts.tolist() == naive
    order = np.random.default_rng(seed).permutation(problem.rows)
    batches = [cut.parts_of(axes[rows], sensitive[rows], random[rows]) for rows in np.array_split(order, 7)]
    assert np.concatenate(batches).tolist() == parts[order].tolist()
    ones = [cut.parts_of(axes[[row]], sensitive[[row]], random[[row]])[0] for row in order[:20]]
    assert ones == parts[order[:20]].tolist()


@settings(max_examples=15)
@given(tables, st.sampled_from([8, 30]))
def test_the_rules_divide_the_sample_as_weave_did(problem: Problem, sampled: int) -> None:
    """So every part has enough rows of the sample, and is within the share of t that a cut may use up."""
    cut = learned(problem, sampled=sampled)
    parts = cut.parts_of(*codes_of(problem), numbers_of_sample(problem.rows))
    sizes = np.bincount(parts, minlength=cut.parts)
    assert cut.parts == 1 or sizes.min() >= sampled
    share = Fraction(0.9 * MARGIN) + Fraction(1, 2**40)  # the bisection has it as a float
    for each in problem.sensitive:
        assert replace(each, t=each.t * share).admitted(parts).all()


@settings(max_examples=15)
@given(tables)
def test_every_stratum_is_halved(problem: Problem) -> None:
    cut = learned(problem)
    _, strata = cut.placed(*codes_of(problem), numbers_of_sample(problem.rows))
    limits = len(cut.limit_attribute)
    assert limits == sum(each.t < 1 for each in problem.sensitive)
    for level in range(DEPTH if limits else 0):
        halves = np.bincount(strata >> (DEPTH - level - 1), minlength=2 ** (level + 1)).reshape(-1, 2)
        assert np.isin(halves[:, 0] - halves[:, 1], (0, 1)).all()
    assert limits or not strata.any()


def test_the_limits_of_a_cut_are_those_of_weave() -> None:
    """A value has the same place in the same limit, also where an attribute has several limits."""
    random = np.random.default_rng(2)
    codes = random.integers(0, VALUES, size=90)
    by_group = TClosenessByGroup(ByGroup("age", {"old": Fraction(1, 5)}), Ordered(VALUES // 2))
    sensitive = (
        attribute(codes, Equal(), Fraction(1, 2), models=(DistinctL(2),)),
        attribute(random.permutation(codes), Ordered(VALUES), None, models=(by_group,)),
        attribute(random.permutation(codes), DomainFacts(VALUES, missing=True).make("ordered"), Fraction(1, 3)),
    )
    limits = limits_of(sensitive, 90)
    found = _limits(sensitive)
    assert [number for number, _ in found] == [0, 2, 1, 0]
    for column, (number, places) in zip(limits.codes.T, found, strict=True):
        assert column.tolist() == places[sensitive[number].codes].tolist()


def test_large_tables_are_cut_with_strata_and_by_every_quasi_identifier() -> None:
    cut = learned(table_of(1, 6000, Fraction(1, 12)), sampled=100)
    assert cut.parts > 8
    inner = cut.children[:, 0] >= 0
    assert set(cut.bits[inner].tolist()) >= {0, 2}
    assert len(set(cut.axis[inner].tolist())) > 1


@settings(max_examples=15)
@given(tables, st.integers(1, 5))
def test_counts_of_batches_add_up_to_exact_counts(problem: Problem, batches: int) -> None:
    cut = learned(problem)
    parts = cut.parts_of(*codes_of(problem), random_of_rows(3, 0, problem.rows))
    domains = [len(each.reference) for each in problem.sensitive]
    total = None
    for rows in np.array_split(np.arange(problem.rows), batches):
        batch = PartCounts.of(parts[rows], cut.parts, sensitive_codes(problem)[rows], domains)
        total = batch if total is None else total + batch
    assert total is not None
    for part in range(cut.parts):
        assert total.rows[part] == np.count_nonzero(parts == part)
        for each, values in zip(problem.sensitive, total.values, strict=True):
            here = each.codes[parts == part].tolist()
            assert values[part].tolist() == [here.count(value) for value in range(len(each.reference))]


@settings(max_examples=examples(25))
@given(tables, st.sampled_from([2, 5]), st.sampled_from([0.5, 0.9, 1.0]), st.integers(2, 40))
def test_every_part_is_admitted_after_the_repair(problem: Problem, sampled: int, share: float, k: int) -> None:
    """The parts are learned with a larger share of t, and other random numbers, than they are judged with."""
    problem = replace(problem, k=k)
    cut = learned(replace(problem, k=1), sampled=sampled, share=1.0)
    random = random_of_rows(3, 0, problem.rows)
    parts = cut.parts_of(*codes_of(problem), random)
    joined = repaired(cut, counts_of(cut, problem, parts), problem.sensitive, k, share)
    new = joined.parts_of(*codes_of(problem), random)
    assert new.tolist() == cut.parts_in(joined)[parts].tolist()
    assert set(new.tolist()) == set(range(joined.parts))  # none is empty
    limited = [replace(each, t=each.t * Fraction(share).limit_denominator(1000)) for each in problem.sensitive]
    assert joined.parts == 1 or replace(problem, sensitive=tuple(limited)).admitted(new).all()
    admitted = counts_of(cut, problem, parts).admitted(limited, k)
    if admitted.all():
        assert new.tolist() == parts.tolist()


def test_a_part_climbs_no_further_than_it_must() -> None:
    places = np.arange(400) / 399
    line = (NumberAxis(np.arange(400), places, places),)
    cut = learned(replace(table_of(1, 400, Fraction(1)), axes=line), sampled=100)
    assert cut.children.tolist()[:3] == [[1, 2], [3, 4], [5, 6]]
    leaves, admitted = np.flatnonzero(cut.children[:, 0] < 0), np.ones(7, dtype=bool)
    assert cut.joined(admitted).part[leaves].tolist() == [0, 1, 2, 3]
    admitted[5] = False
    assert cut.joined(admitted).part.tolist() == [-1, -1, 2, 0, 1, 2, 2]
    admitted[2] = False
    assert cut.joined(admitted).part[leaves].tolist() == [0, 0, 0, 0]
    admitted[:] = False
    assert cut.joined(admitted).part[leaves].tolist() == [0, 0, 0, 0]


@settings(max_examples=10)
@given(tables)
def test_a_cut_travels(problem: Problem) -> None:
    cut = learned(problem)
    rows = (*codes_of(problem), random_of_rows(3, 0, problem.rows))
    for other in (pickle.loads(pickle.dumps(cut)), Cut.from_dict(json.loads(json.dumps(cut.to_dict())))):
        assert other.parts_of(*rows).tolist() == cut.parts_of(*rows).tolist()
        assert other.to_dict() == cut.to_dict() == learned(problem).to_dict()


def parted(problem: Problem, *, effort: Any, seed: int = 0) -> Ints:
    """Return weave's classes of each part, as every place makes them (`run/parts/plan.py`)."""
    whole = parts_module.whole_of(parts_module.sample_of(problem, part_rows=40, sampled=10), effort, problem.rows)
    parts = cut_into_parts(problem, part_rows=40, sampled=10, share=parts_module.share_of(effort, whole), seed=seed)
    labels, classes = np.empty(problem.rows, dtype=np.int64), 0
    for number in range(len(parts)):
        made = weave.partition(problem.part(parts.members(number)), effort=effort, seed=seed + number, whole=whole)
        labels[parts.members(number)] = classes + made
        classes += int(made.max()) + 1
    return labels


@settings(max_examples=10)
@given(tables, st.sampled_from(["fast", "balanced"]))
def test_every_class_of_a_part_is_admitted(problem: Problem, effort: Any) -> None:
    labels = parted(problem, effort=effort, seed=5)
    assert set(labels.tolist()) == set(range(int(labels.max()) + 1))
    assert problem.admitted(labels).all()
    assert labels.tolist() == parted(problem, effort=effort, seed=5).tolist()


def test_every_part_has_k_persons() -> None:
    persons, places = np.repeat(np.arange(50), 6), np.arange(50) / 49
    problem = replace(table_of(2, 300, Fraction(1), k=15), axes=(NumberAxis(persons, places, places),))
    by_rows = cut_into_parts(problem, part_rows=30, sampled=10, share=1.0)
    assert by_rows.sizes.min() < 6 * 15
    problem = replace(problem, persons=persons)
    by_persons = cut_into_parts(problem, part_rows=30, sampled=10, share=1.0).labels_by_row()
    assert by_persons.max() > 0
    assert problem.admitted(by_persons).all()


def test_a_part_gets_the_effort_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, effort_for = [], limits.effort_for

    def noted(name: Any, rows: int) -> Any:
        asked.append(rows)
        return effort_for(name, rows)

    monkeypatch.setattr(limits, "effort_for", noted)
    problem = table_of(6, 300, Fraction(1, 3))
    parted(problem, effort="balanced")
    assert len(asked) >= 4
    assert set(asked) == {300}
    alone = weave.partition(problem, effort="fast")
    assert asked[-1] == 300
    assert alone.tolist() == weave.partition(problem, effort="fast", whole=WholeTable(300)).tolist()


def test_a_threshold_says_no_more_than_it_must() -> None:
    keys = np.array([[1, 5, 9], [1, 6, 2], [1, 6, 7], [2, 0, 4], [3, 1, 1], [3, 1, 1]])
    assert separators(keys, np.zeros(6, dtype=np.int64), np.arange(6) >= 3, 1).tolist() == [[2, LOWEST, LOWEST]]
    assert separators(keys, np.zeros(6, dtype=np.int64), np.arange(6) >= 2, 1).tolist() == [[1, 6, 7]]
    groups, right = np.array([1, 1, 1, 3, 3, 4]), np.array([0, 1, 1, 0, 0, 1], dtype=bool)
    found = separators(keys, groups, right, 6).tolist()
    assert found[0] == found[1] == found[2] == [1, 6, LOWEST]  # nearest groups with rows
    assert found[3] == [HIGHEST, LOWEST, LOWEST]  # nothing on the right
    assert found[4] == found[5] == [LOWEST, LOWEST, LOWEST]  # nothing on the left


def test_random_numbers_depend_on_the_row_and_the_seed() -> None:
    whole = random_of_rows(7, 0, 1000)
    assert np.concatenate([random_of_rows(7, first, 250) for first in range(0, 1000, 250)]).tolist() == whole.tolist()
    assert len(np.unique(whole)) == 1000
    assert not np.isin(whole, random_of_rows(8, 0, 1000)).any()
    for half in halves_of(whole):
        assert abs(half.mean() / 2**32 - 0.5) < 0.05


def test_a_sample_is_large_enough_for_every_part() -> None:
    assert sample_size(1_000_000, 60_000) == 66_667
    assert sample_size(5000, 60_000) == 334
    assert sample_size(1000, 10) == 1000


def test_further_models_are_kept() -> None:
    problem = table_of(3, 300, Fraction(1, 4), k=4)
    problem = replace(problem, sensitive=(replace(problem.sensitive[0], models=(DistinctL(3),)),))
    assert problem.admitted(parted(problem, effort="balanced")).all()


def test_what_cannot_be_cut_is_refused() -> None:
    problem = table_of(1, 60, Fraction(1, 4))
    with pytest.raises(InternalError, match="quasi-identifiers"):
        learned(replace(problem, axes=()))
    cut, (axes, sensitive) = learned(problem), codes_of(problem)
    with pytest.raises(InternalError, match="random number per row"):
        cut.parts_of(axes[:, :2], sensitive, random_of_rows(1, 0, 60))
    with pytest.raises(InternalError, match="random number per row"):
        cut.parts_of(axes, sensitive[:, :0], random_of_rows(1, 0, 60))


def test_cancelling_stops_the_learning() -> None:
    def cancel(share: float, phase: str = "") -> None:
        raise Cancelled

    problem = table_of(1, 400, Fraction(1, 4))
    with pytest.raises(Cancelled):
        learn_cut(problem, total_rows=400, part_rows=20, share=0.9, sampled=10, progress=cancel)


def test_the_share_of_a_large_table_is_chosen_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []

    def noted(table: WeaveTable, shares: Any, progress: Any) -> float:
        chosen.append(len(table))
        return float(shares[1])

    monkeypatch.setattr(limits, "MANY_ROWS", 200)
    monkeypatch.setattr(parts_module, "chosen_share", noted)
    monkeypatch.setattr(search, "chosen_share", None)  # no part may choose its own
    problem = table_of(6, 300, Fraction(1, 3))
    labels = parted(problem, effort="fast")
    assert chosen == [75]  # rows of the sample
    assert problem.admitted(labels).all()
