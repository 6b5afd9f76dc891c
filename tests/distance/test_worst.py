"""What a t allows: what a linear programme over transport plans finds, and never less than a real class shows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.conftest import TIMES

from tclose.distance import Counts, Distance, DomainFacts
from tclose.distance.worst_class import (
    Knapsack,
    least,
    least_to_one_value,
    least_to_reach,
    most,
    of_one_value,
    worst_class,
)
from tclose.privacy.tcloseness import TCloseness

KINDS = ("equal", "ordered", "value", "hierarchical", "matrix", "ordered with missing", "value with missing")
LEVELS = [Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 3)]


@dataclass(frozen=True)
class Case:
    """A column: its distance, how far its values are apart by the distance's own word, and its counts."""

    distance: Distance
    apart: list[list[Fraction]]
    reference: np.ndarray

    @property
    def geometry(self):  # type: ignore[no-untyped-def]
        return self.distance.geometry(len(self.reference))

    @property
    def shares(self) -> list[Fraction]:
        return [Fraction(int(count), int(self.reference.sum())) for count in self.reference]


def case(kind: str, rng: np.random.Generator, largest: int = 7) -> Case:
    size = int(rng.integers(2, largest))
    reference = rng.integers(0, 40, size)
    reference[rng.integers(size)] += 1  # a declared value may have no row, but not all may
    steps = np.concatenate(([0], rng.integers(1, 30, size - 1)))
    points = rng.integers(0, 9, (size, 2))
    costs = np.abs(points[:, None] - points).sum(axis=2) + 1 - np.eye(size, dtype=np.int64)
    leaves = np.arange(size)
    facts = DomainFacts(
        size,
        positions=np.cumsum(steps)[: size - ("missing" in kind)],
        levels=(leaves, leaves // 2, leaves // 4, np.zeros(size, dtype=np.int64)),
        costs=costs,
        missing="missing" in kind,
    )
    distance = facts.make(kind.split()[0])
    return Case(distance, [[distance.between(i, j) for j in range(size)] for i in range(size)], reference)


def cases(times: int, largest: int = 7) -> list[tuple[str, Case, np.random.Generator]]:
    return [
        (kind, case(kind, rng, largest), rng)
        for number, kind in enumerate(KINDS)
        for rng in (np.random.default_rng([number, seed]) for seed in range(times * TIMES))
    ]


def by_linear_programme(drawn: Case, chosen: np.ndarray, t: Fraction) -> float:
    """Find the largest share of a set over all transport plans from the table that cost at most t."""
    size = len(drawn.reference)
    gained = np.zeros((size, size))
    gained[:, chosen] = -1
    apart = np.array([[float(cost) for cost in row] for row in drawn.apart])
    leaving = np.kron(np.eye(size), np.ones(size))
    shares = list(map(float, drawn.shares))
    return -float(linprog(gained.ravel(), [apart.ravel()], [float(t)], leaving, shares, method="highs").fun)


def some_of(size: int, rng: np.random.Generator) -> np.ndarray:
    chosen = rng.random(size) < 0.4
    chosen[rng.integers(size)] = True
    return chosen


def test_a_linear_programme_finds_no_larger_share_and_no_smaller_one() -> None:
    for _, drawn, rng in cases(40):
        t, chosen = LEVELS[rng.integers(len(LEVELS))], some_of(len(drawn.reference), rng)
        assert float(most(drawn.geometry, drawn.reference, chosen, t)) == pytest.approx(
            by_linear_programme(drawn, chosen, t), abs=1e-7
        )
        if not chosen.all():
            rest = by_linear_programme(drawn, ~chosen, t)
            assert float(least(drawn.geometry, drawn.reference, chosen, t)) == pytest.approx(1 - rest, abs=1e-7)


def test_the_t_that_a_share_needs_is_the_reverse_exactly() -> None:
    for _, drawn, rng in cases(15):
        chosen, t = some_of(len(drawn.reference), rng), LEVELS[rng.integers(len(LEVELS))]
        knapsack = Knapsack.of(drawn.geometry, drawn.reference, chosen)
        share = knapsack.most(t)
        needed = knapsack.needed(share)
        assert needed <= t
        assert knapsack.most(needed) == share  # exactly, in fractions
        if share < 1:
            assert needed == t


def test_the_worst_class_is_within_t_by_the_judge() -> None:
    for _, drawn, rng in cases(10):
        value, t = int(rng.integers(len(drawn.reference))), LEVELS[rng.integers(len(LEVELS))]
        own = worst_class(drawn.geometry, drawn.reference, value, t)
        chosen = np.arange(len(own)) == value
        assert own[value] == pytest.approx(float(most(drawn.geometry, drawn.reference, chosen, t)))
        assert own.sum() == pytest.approx(1)
        rows = (own * 10**7).astype(np.int64)
        assert float(drawn.distance.emd(Counts.from_dense([rows]), drawn.reference)[0]) <= float(t) + 1e-5


def test_no_class_that_the_judge_admits_shows_more() -> None:
    for _, drawn, rng in cases(10):
        size, chosen = len(drawn.reference), some_of(len(drawn.reference), rng)
        nearly_all = rng.random((40, 1)) * chosen  # classes that lean to the set, which come near the limit
        rows = rng.multinomial(30, drawn.reference / drawn.reference.sum(), 40)
        rows = rows + (30 * nearly_all).astype(np.int64)
        t = LEVELS[rng.integers(len(LEVELS))]
        admitted = TCloseness(t, drawn.distance).judge(Counts.from_dense(rows), drawn.reference).admitted
        upper, lower = (
            most(drawn.geometry, drawn.reference, chosen, t),
            least(drawn.geometry, drawn.reference, chosen, t),
        )
        for row in rows[admitted]:
            assert lower <= Fraction(int(row[chosen].sum()), int(row.sum())) <= upper
        assert size == rows.shape[1]


def test_a_class_of_one_value_is_as_far_as_said_exactly() -> None:
    for _, drawn, _ in cases(15):
        work, unit = of_one_value(drawn.geometry, drawn.reference)
        ratios = drawn.distance.emd(Counts.from_dense(np.eye(len(drawn.reference), dtype=np.int64)), drawn.reference)
        assert [Fraction(int(each), unit) for each in work] == [ratios[value] for value in range(len(work))]
        chosen = np.arange(len(work)) % 2 == 0
        least_far = min(ratios[value] for value in np.flatnonzero(chosen).tolist())
        assert least_to_one_value(drawn.geometry, drawn.reference, chosen) == least_far


def test_no_value_is_chosen() -> None:
    distance, reference = DomainFacts(3).make("ordered"), np.array([1, 2, 3])
    assert least_to_one_value(distance.geometry(3), reference, np.zeros(3, dtype=bool)) is None
    assert least_to_reach(distance.geometry(3), reference, np.zeros(3, dtype=np.int64)) is None


def test_the_t_at_which_some_value_gets_its_rows_is_the_least_of_single_values_exactly() -> None:
    for _, drawn, rng in cases(20, largest=12):
        size, total = len(drawn.reference), int(drawn.reference.sum())
        wanted = np.where(rng.random(size) < 0.7, rng.integers(1, 2 * total + 1, size), 0)
        places = np.arange(size)
        single = [
            Knapsack.of(drawn.geometry, drawn.reference, places == value).needed(Fraction(int(half), 2 * total))
            for value, half in enumerate(wanted)
            if half
        ]
        assert least_to_reach(drawn.geometry, drawn.reference, wanted) == (min(single) if single else None)


def test_positions_of_any_size_give_a_bound_that_is_never_too_large() -> None:
    rng = np.random.default_rng(5)
    for exponent in (50, 59, 61, 64, 90):
        for missing in (False, True):
            positions = np.array([0, *sorted(int(x * 2**exponent) for x in rng.random(6)), 2**exponent], dtype=object)
            facts = DomainFacts(8 + missing, positions=positions, missing=missing)
            distance = facts.make("value")
            reference = rng.integers(1, 30, 8 + missing)
            wanted = reference.sum() + reference
            places = np.arange(len(reference))
            exact = min(
                Knapsack.of(distance.geometry(len(reference)), reference, places == value).needed(
                    Fraction(int(half), 2 * int(reference.sum()))
                )
                for value, half in enumerate(wanted)
            )
            found = least_to_reach(distance.geometry(len(reference)), reference, wanted)
            assert found is not None
            assert 0 <= exact - found < Fraction(1, 10**15)


def test_a_long_column_overflows_nothing() -> None:
    size = 3000
    reference = np.random.default_rng(1).integers(1, 10**13, size)
    for kind, positions in (("ordered", None), ("value", np.arange(size) * 10**14)):
        distance = DomainFacts(size, positions=positions).make(kind)
        geometry, middle = distance.geometry(size), np.arange(size) == 1500
        share = most(geometry, reference, middle, Fraction(1, 10))
        assert float(share) == pytest.approx(2 * 0.1**0.5, rel=0.05)  # 2√t inside a uniform line
        wanted = np.where(middle, reference.sum() + reference, 0)
        needed = Knapsack.of(geometry, reference, middle).needed(Fraction(int(wanted[1500]), 2 * int(reference.sum())))
        assert least_to_reach(geometry, reference, wanted) == needed
        alone = least_to_one_value(geometry, reference, middle)
        assert alone is not None
        assert float(alone) == pytest.approx(0.25, rel=0.05)
