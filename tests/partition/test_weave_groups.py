"""Thresholds for groups of persons inside weave: a class without them is free, any other one is limited as by t."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.partition import merged
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel
from tclose.partition.weave import partition
from tclose.partition.weave.limits import Limits, limits_of
from tclose.partition.weave.transport import (
    add_excess,
    class_work,
    count_row,
    within_limits,
    work_after_exchange,
    work_after_move,
)
from tclose.policy import ByGroup
from tclose.privacy import TClosenessByGroup

VALUES = 4
DISTANCES: dict[str, Distance] = {
    "ordered": Ordered(VALUES),
    "value": Value(np.array([0, 1, 5, 7])),
    "missing": DomainFacts(VALUES, missing=True).make("ordered"),
    "equal": Equal(),
    "tree": Hierarchical((np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))),
}
every_distance = pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)


@kernel
def counted(limits: Limits, counts: np.ndarray, rows: np.ndarray) -> None:
    for i in range(len(rows)):
        count_row(limits, counts, 0, rows[i], 1)


@kernel
def works(limits: Limits, counts: np.ndarray, size: int, found: np.ndarray) -> bool:
    for a in range(len(limits.attributes)):
        found[a] = class_work(limits, counts, 0, size, a)
    return within_limits(limits, counts, 0, size)


@kernel
def work_after(limits: Limits, counts: np.ndarray, size: int, leaving: int, joining: int, found: np.ndarray) -> None:
    """Row `leaving` leaves and row `joining` joins; -1 for none."""
    for a in range(len(limits.attributes)):
        if joining < 0:
            found[a] = work_after_move(limits, counts, 0, size, a, limits.codes[leaving, a], -1)
        elif leaving < 0:
            found[a] = work_after_move(limits, counts, 0, size, a, limits.codes[joining, a], 1)
        else:
            work = class_work(limits, counts, 0, size, a)
            values = limits.codes[leaving, a], limits.codes[joining, a]
            found[a] = work_after_exchange(limits, counts, 0, size, work, a, values[0], values[1])


@kernel
def excess_of(limits: Limits, counts: np.ndarray, size: int, sign: int, excess: np.ndarray) -> None:
    add_excess(limits, counts, 0, size, sign, 1.0, excess)


class Table:
    """Rows of a value and a group of persons: 0 and 1 have thresholds, 2 has none."""

    def __init__(self, distance: Distance, cells: list[tuple[int, int]], asked: dict[str, Fraction]) -> None:
        self.model = TClosenessByGroup(ByGroup("group", asked), distance)
        levels = self.model.asked.levels
        place = [*(levels.index(asked[name]) for name in ("young", "old")), len(levels)]
        codes = np.array([value * self.model.groups + place[group] for value, group in cells])
        self.reference = np.bincount(codes, minlength=VALUES * self.model.groups)
        self.attribute = Attribute(codes, self.reference, distance, None, models=(self.model,))
        self.limits = limits_of((self.attribute,), len(codes))

    def admits(self, rows: list[int]) -> bool:
        counts = Counts.from_codes(np.zeros(len(rows)), self.attribute.codes[rows], len(self.reference))
        return self.model.judge(counts, self.reference).satisfied

    def counts(self, rows: list[int]) -> np.ndarray:
        counts = np.zeros((1, len(self.limits.edges)), dtype=np.int32)
        counted(self.limits, counts, np.array(rows, dtype=np.int64))
        return counts

    def work(self, rows: list[int]) -> tuple[list[int], bool]:
        found = np.zeros(len(self.limits.attributes), dtype=np.int64)
        within = works(self.limits, self.counts(rows), len(rows), found)
        return found.tolist(), within


fractions = st.fractions(0, 1, max_denominator=12)
thresholds = st.fixed_dictionaries({"young": fractions, "old": fractions})
cells = st.lists(st.tuples(st.integers(0, VALUES - 1), st.integers(0, 2)), min_size=2, max_size=14)


@every_distance
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), given_cells=cells, asked=thresholds)
def test_weave_limits_a_class_exactly_as_the_model_judges(
    distance: Distance, data: st.DataObject, given_cells: list[tuple[int, int]], asked: dict[str, Fraction]
) -> None:
    table = Table(distance, given_cells, asked)
    rows = data.draw(st.lists(st.sampled_from(range(len(given_cells))), min_size=1, unique=True))
    assert table.work(rows)[1] == table.admits(rows)


@every_distance
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), given_cells=cells, asked=thresholds)
def test_one_row_more_less_or_exchanged_is_answered_as_if_counted(
    distance: Distance, data: st.DataObject, given_cells: list[tuple[int, int]], asked: dict[str, Fraction]
) -> None:
    table = Table(distance, given_cells, asked)
    everyone = list(range(len(given_cells)))
    rows = data.draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=len(everyone) - 1, unique=True))
    new = data.draw(st.sampled_from([row for row in everyone if row not in rows]))
    old, counts = rows[0], table.counts(rows)
    before, found = counts.copy(), np.zeros(len(table.limits.attributes), dtype=np.int64)
    work_after(table.limits, counts, len(rows), -1, new, found)
    assert found.tolist() == table.work([*rows, new])[0]
    work_after(table.limits, counts, len(rows), old, new, found)
    assert found.tolist() == table.work([*rows[1:], new])[0]
    if len(rows) > 1:
        work_after(table.limits, counts, len(rows), old, -1, found)
        assert found.tolist() == table.work(rows[1:])[0]
    assert counts.tolist() == before.tolist()


@every_distance
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), given_cells=cells, asked=thresholds)
def test_a_row_has_a_price_exactly_where_it_takes_the_class_beyond_a_threshold(
    distance: Distance, data: st.DataObject, given_cells: list[tuple[int, int]], asked: dict[str, Fraction]
) -> None:
    table = Table(distance, given_cells, asked)
    everyone = list(range(len(given_cells)))
    rows = data.draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=len(everyone) - 1, unique=True))
    new = data.draw(st.sampled_from([row for row in everyone if row not in rows]))
    attributes = table.limits.attributes
    excess = np.zeros(int(attributes["values"].sum()))
    excess_of(table.limits, table.counts(rows), len(rows), 1, excess)
    price = sum(excess[attributes["value"] + table.limits.codes[new]])
    assert (price > 1e-12) == (not table.admits([*rows, new]))


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), given_cells=cells, asked=thresholds)
def test_a_class_within_the_limits_is_admitted_where_a_tree_stands_for_the_distance(
    data: st.DataObject, given_cells: list[tuple[int, int]], asked: dict[str, Fraction]
) -> None:
    places = np.array([0, 2, 3, 9])
    table = Table(Matrix(np.abs(places[:, None] - places)), given_cells, asked)
    rows = data.draw(st.lists(st.sampled_from(range(len(given_cells))), min_size=1, unique=True))
    assert table.admits(rows) or not table.work(rows)[1]


def test_mixing_loses_less_than_the_strictest_threshold_for_everyone() -> None:
    """One row in twelve is guarded: weave keeps these rows in near classes and leaves the others their freedom."""
    random = np.random.default_rng(3)
    points, values = random.random((1200, 2)), random.integers(0, VALUES, size=1200)
    guarded = points[:, 0] < 1 / 12
    model = TClosenessByGroup(ByGroup("group", {"young": Fraction(1, 20)}), Ordered(VALUES))
    codes = 2 * values + ~guarded
    loose = Attribute(values, np.bincount(values), Ordered(VALUES), Fraction(1, 2))
    by_group = Attribute(codes, np.bincount(codes), Ordered(VALUES), None, models=(model,))
    asked = Problem(points, (loose, by_group), 3)
    labels = partition(asked, effort="fast", seed=1)
    assert asked.admitted(labels).all()
    strict = Problem(points, (Attribute(values, loose.reference, Ordered(VALUES), Fraction(1, 20)),), 3)
    free = partition(Problem(points, (loose,), 3), effort="fast", seed=1)
    joined = merged(free, np.zeros(1200, dtype=np.int64), points, lambda labels: ~asked.admitted(labels))
    woven = _loss(points, labels)
    assert woven < 0.5 * _loss(points, partition(strict, effort="fast", seed=1))
    assert woven < _loss(points, joined)


def _loss(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.ptp(points[labels == c], axis=0).sum() * (labels == c).sum() for c in range(labels.max() + 1))
