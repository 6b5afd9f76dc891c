"""The lattice of fragmentations: what splits reach, what they do not, and how far Ψ is from the best of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Ordered
from tclose.errors import PolicyError, Unsuited
from tclose.partition.fragmentation import partition, plan, printed
from tclose.partition.fragmentation.printed import (
    STRATEGIES,
    Box,
    BoxSearch,
    Extents,
    Fragmentation,
    acceptable,
    aggregate,
    find_fragmentation,
    fragmentations,
)
from tclose.partition.fragmentation.spread import spread_attributes
from tclose.partition.problem import Attribute, Problem
from tclose.types import Ints

SHAPES = [(1,), (4,), (2, 2), (2, 3), (3, 3), (2, 4), (2, 2, 2)]
PINWHEEL = frozenset({((0, 0), (0, 1)), ((0, 1), (2, 2)), ((2, 2), (1, 2)), ((1, 2), (0, 0)), ((1, 1), (1, 1))})


def split_once(found: Fragmentation) -> set[Fragmentation]:
    """Definition 14: every fragmentation that one split makes of this one."""
    results = set()
    for fragment in found:
        for axis, (low, high) in enumerate(fragment):
            for cut in range(low, high):
                parts = [(*fragment[:axis], side, *fragment[axis + 1 :]) for side in ((low, cut), (cut + 1, high))]
                results.add(frozenset({*(found - {fragment}), *parts}))
    return results


def coverings(shape: tuple[int, ...]) -> set[Fragmentation]:
    """Return every set of boxes that covers each cell exactly once: the first free cell gets each box that fits."""
    sides = [[(low, high) for low in range(size) for high in range(low, size)] for size in shape]
    cells_of: dict[Extents, set[tuple[int, ...]]] = {
        box: set(product(*(range(low, high + 1) for low, high in box))) for box in product(*sides)
    }
    found, unfinished = set(), [(frozenset[Extents](), set(product(*map(range, shape))))]
    while unfinished:
        boxes, free = unfinished.pop()
        if not free:
            found.add(boxes)
            continue
        first = min(free)
        unfinished += [
            (boxes | {box}, free - cells) for box, cells in cells_of.items() if first in cells and cells <= free
        ]
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_fragmentations_are_what_splits_reach(shape: tuple[int, ...]) -> None:
    top = frozenset({tuple((0, size - 1) for size in shape)})
    reached, layer = {top}, {top}
    while layer:
        layer = {after for before in layer for after in split_once(before)} - reached
        reached |= layer
    assert fragmentations(shape) == reached
    assert frozenset(tuple((i, i) for i in cell) for cell in product(*map(range, shape))) in reached  # ⊥


def test_a_pinwheel_is_a_covering_that_no_split_reaches() -> None:
    """001 calls its space all coverings by fragments that do not overlap; from 3 × 3 on, this is not so."""
    mirrored = frozenset((rows, (2 - high, 2 - low)) for rows, (low, high) in PINWHEEL)
    assert len(coverings((3, 3))) == 322
    assert coverings((3, 3)) - fragmentations((3, 3)) == {PINWHEEL, mirrored}
    for shape in [(4,), (2, 2), (2, 3), (2, 4)]:
        assert coverings(shape) == fragmentations(shape)


def test_three_attributes_of_two_values_have_pinwheels_already() -> None:
    unreached = coverings((2, 2, 2)) - fragmentations((2, 2, 2))
    assert len(unreached) == 8
    assert {len(covering) for covering in unreached} == {5}  # three bars and two opposite corners


def problem_of(matrix: Ints, t: str, k: int = 1) -> Problem:
    """Return the problem whose multiplicity matrix this is."""
    cells = np.repeat(np.argwhere(matrix >= 0), matrix.ravel(), axis=0)
    sensitive = tuple(
        Attribute(cells[:, a], np.bincount(cells[:, a], minlength=size), Ordered(size), Fraction(t))
        for a, size in enumerate(matrix.shape)
    )
    return Problem(np.linspace(0, 1, len(cells))[:, None], sensitive, k)


def random_tables(count: int, most: int) -> list[Ints]:
    """Return 3 × 3 tables in which every value occurs."""
    random, tables = np.random.default_rng(1), []
    while len(tables) < count:
        table = random.integers(0, most + 1, (3, 3))
        if table.any(axis=0).all() and table.any(axis=1).all():
            tables.append(table)
    return tables


def divisor(boxes: list[Box]) -> int:
    """Return how many classes a fragmentation allows."""
    return gcd(*(len(box.rows) for box in boxes))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("bound", "highest", "times"), [("published", 43, 5), ("tight", 88, 9)])
def test_how_far_psi_is_from_the_best_of_118_tables(bound: str, highest: int, times: int) -> None:
    in_highest_layer, gained = 0, []
    for table in random_tables(118, most=5):
        attributes = spread_attributes(problem_of(table, "0.3"), bound)
        search, budgets = BoxSearch(attributes), [attribute.t for attribute in attributes]
        greedy = find_fragmentation(search, budgets, STRATEGIES["psi"], lambda boxes: False)
        best = acceptable(search, budgets)
        assert greedy is not None
        assert len(greedy) >= len(best[0])
        in_highest_layer += len(greedy) == len(best[0])
        gained.append(max(map(divisor, best)) / divisor(greedy))
    assert in_highest_layer == highest
    assert max(gained) == times
    assert min(gained) >= 1


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=2, max_size=3).map(np.array),
    st.sampled_from(["0", "0.1", "0.3", "0.6"]),
    st.sampled_from(["published", "tight"]),
)
def test_what_is_accepted_is_every_fragmentation_within_the_budgets(table: Ints, t: str, bound: str) -> None:
    if not (table.any(axis=0).all() and table.any(axis=1).all()):
        return
    attributes = spread_attributes(problem_of(table, t), bound)
    search, budgets = BoxSearch(attributes), [attribute.t for attribute in attributes]
    accepted = {frozenset(box.extents for box in boxes) for boxes in acceptable(search, budgets)}
    for fragmentation in fragmentations(table.shape):
        boxes = [Box(np.flatnonzero(np.all([
            (attribute.codes >= low) & (attribute.codes <= high)
            for attribute, (low, high) in zip(attributes, box, strict=True)
        ], axis=0)), box) for box in fragmentation]  # fmt: skip
        within = all(found <= budget for found, budget in zip(aggregate(search, boxes), budgets, strict=True))
        assert within == (fragmentation in accepted)


@pytest.mark.parametrize("bound", ["published", "tight"])
def test_exhaustive_makes_at_least_as_many_classes_as_every_strategy(bound: str) -> None:
    more = 0
    for table, k in zip(random_tables(12, most=5), (1, 2, 3) * 4, strict=True):
        problem = problem_of(table, "0.3", k)
        labels = partition(problem, bound=bound, sizing="gcd", strategy="exhaustive")  # type: ignore[arg-type]
        assert problem.admitted(labels).all()
        for strategy in STRATEGIES:
            others = partition(problem, bound=bound, sizing="gcd", strategy=strategy)  # type: ignore[arg-type]
            assert labels.max() >= others.max()
            more += int(labels.max() > others.max())
    assert more


def test_a_large_space_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(1000)
    sensitive = [Attribute(rows, np.ones(1000, dtype=np.int64), Ordered(1000), Fraction("0.5"))] * 2
    problem = Problem(rows[:, None] / 1000, tuple(sensitive))
    with pytest.raises(Unsuited, match="1000 × 1000 sensitive values have too many fragmentations"):
        plan(problem, sizing="gcd", strategy="exhaustive")
    monkeypatch.setattr(printed, "MOST_FRAGMENTATIONS", 300)
    with pytest.raises(Unsuited, match="3 × 3 sensitive values"):
        fragmentations((3, 3))


def test_exhaustive_is_about_common_divisors() -> None:
    with pytest.raises(PolicyError, match="it needs sizing = 'gcd'"):
        plan(problem_of(np.ones((2, 2), dtype=np.int64), "0.5"), strategy="exhaustive")


def test_every_two_fragmentations_have_one_coarsest_common_refinement() -> None:
    """And one finest common coarsening: the space is a lattice, as 001 says; here for 2 × 3 values."""
    everything = sorted(fragmentations((2, 3)), key=len)
    finer = {each: {each} for each in everything}
    for each in reversed(everything):
        for after in split_once(each):
            finer[each] |= finer[after]
    for one, other in combinations(everything, 2):
        common = finer[one] & finer[other]
        assert sum(common <= finer[each] for each in common) == 1
        coarser = {each for each in everything if one in finer[each] and other in finer[each]}
        assert sum(all(each in finer[up] for up in coarser) for each in coarser) == 1
