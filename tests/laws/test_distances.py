"""What holds for every earth mover's distance, whatever the counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance
from tests.conftest import examples

from tclose.distance import Counts, Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Product, Value

Dense = list[list[int]]

few = settings(max_examples=examples(20), deadline=None)
fewer = settings(max_examples=examples(10), deadline=None)  # each example solves linear programmes


# --- naive definitions, in fractions ---------------------------------------------------------------------------------


def shares(counts: list[int]) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def on_a_line(positions: list[int], p: list[Fraction], q: list[Fraction]) -> Fraction:
    if positions[-1] == 0:
        return Fraction(0)
    gaps = [b - a for a, b in itertools.pairwise(positions)]
    work = sum(gap * abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i, gap in enumerate(gaps))
    return Fraction(work) / positions[-1]


def variational(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2


def in_a_tree(levels: list[list[int]], p: list[Fraction], q: list[Fraction]) -> Fraction:
    """As Li et al. print it, with the extras of each inner node's direct children."""
    height = len(levels) - 1
    extra = [a - b for a, b in zip(p, q, strict=True)]
    cost = Fraction(0)
    for h in range(1, height + 1):
        for node in set(levels[h]):
            children = {levels[h - 1][i] for i in range(len(extra)) if levels[h][i] == node}
            extras = [sum(extra[i] for i in range(len(extra)) if levels[h - 1][i] == child) for child in children]
            positive = sum((e for e in extras if e > 0), Fraction(0))
            negative = -sum((e for e in extras if e < 0), Fraction(0))
            cost += Fraction(h, height) * min(positive, negative)
    return cost


def by_linear_programme(distance: Distance, p: list[Fraction], q: list[Fraction]) -> float:
    m = len(p)
    costs = [float(distance.between(i, j)) for i in range(m) for j in range(m)]
    leaving, arriving = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    masses = [float(mass) for mass in p + q]
    masses[-1] = sum(masses[:m]) - sum(masses[m:-1])
    return float(linprog(costs, A_eq=np.vstack((leaving, arriving)), b_eq=masses, method="highs").fun)


# --- what is drawn ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A distance over m values, how far apart they lie by its definition, and its naive earth mover's distance."""

    distance: Distance
    between: Callable[[int, int], Fraction]
    emd: Callable[[list[Fraction], list[Fraction]], Fraction] | None  # none: only the linear programme knows


def ordered(draw: st.DrawFn, m: int) -> Drawn:
    return Drawn(
        Ordered(m),
        lambda i, j: Fraction(abs(i - j), max(m - 1, 1)),
        lambda p, q: on_a_line(list(range(m)), p, q),
    )


def value(draw: st.DrawFn, m: int) -> Drawn:
    gaps = draw(st.lists(st.integers(1, 9), min_size=m - 1, max_size=m - 1))
    positions = [sum(gaps[:i]) for i in range(m)]
    return Drawn(
        Value(np.array(positions)),
        lambda i, j: Fraction(abs(positions[i] - positions[j]), max(positions[-1], 1)),
        lambda p, q: on_a_line(positions, p, q),
    )


def with_missing(draw: st.DrawFn, m: int) -> Drawn:
    """The last value is the missing one: ½ from the middle of the line, and then along the line."""
    numbers = value(draw, m - 1) if m > 1 else ordered(draw, m)
    if m == 1:
        return numbers
    positions = np.array([int(x) for x in numbers.distance.geometry(m - 1).positions])
    length = max(int(positions[-1]), 1)

    def between(i: int, j: int) -> Fraction:
        if i == j or m - 1 not in (i, j):
            return numbers.between(i, j) if i != j else Fraction(0)
        return abs(Fraction(int(positions[min(i, j)]), length) - Fraction(1, 2)) + Fraction(1, 2)

    return Drawn(DomainFacts(m, positions=positions, missing=True).make("value"), between, None)


def equal(draw: st.DrawFn, m: int) -> Drawn:
    return Drawn(Equal(), lambda i, j: Fraction(int(i != j)), variational)


def tree(draw: st.DrawFn, m: int) -> list[list[int]]:
    levels = [list(range(m))]
    for _ in range(draw(st.integers(0, 2))):
        parents = np.cumsum([0, *draw(st.lists(st.booleans(), min_size=levels[-1][-1], max_size=levels[-1][-1]))])
        levels.append([int(parents[node]) for node in levels[-1]])
    return [*levels, [0] * m]


def hierarchical(draw: st.DrawFn, m: int) -> Drawn:
    levels = tree(draw, m)
    height = len(levels) - 1
    return Drawn(
        Hierarchical(tuple(np.array(level) for level in levels)),
        lambda i, j: Fraction(next(h for h, level in enumerate(levels) if level[i] == level[j]), height),
        lambda p, q: in_a_tree(levels, p, q),
    )


def metric(draw: st.DrawFn, m: int) -> np.ndarray:
    """Shortest ways in a complete graph."""
    costs = np.zeros((m, m), dtype=np.int64)
    above = np.triu_indices(m, 1)
    costs[above] = draw(st.lists(st.integers(1, 9), min_size=len(above[0]), max_size=len(above[0])))
    costs += costs.T
    for through in range(m):
        costs = np.minimum(costs, costs[:, [through]] + costs[[through], :])
    return costs


def matrix(draw: st.DrawFn, m: int) -> Drawn:
    costs = metric(draw, m)
    return Drawn(Matrix(costs), lambda i, j: Fraction(int(costs[i, j]), max(int(costs.max()), 1)), None)


def product(draw: st.DrawFn, m: int) -> Drawn:
    """Tuples of two or three attributes, each of which may have any distance."""
    kinds = draw(st.lists(st.sampled_from(PARTS), min_size=2, max_size=3))
    sizes = [draw(st.integers(3, 4)) for _ in kinds]
    parts = [kind(draw, size) for kind, size in zip(kinds, sizes, strict=True)]
    every = list(itertools.product(*map(range, sizes)))
    tuples = np.array(sorted(draw(st.permutations(every))[:m]))
    geometries = [part.distance.geometry(size) for part, size in zip(parts, sizes, strict=True)]

    def between(i: int, j: int) -> Fraction:
        ends = zip(parts, tuples[i].tolist(), tuples[j].tolist(), strict=True)
        return sum((part.between(a, b) for part, a, b in ends), Fraction(0)) / len(parts)

    return Drawn(Product.of(zip(geometries, tuples.T, strict=True)), between, None)


PARTS = [ordered, value, with_missing, equal, hierarchical, matrix]
KINDS = [*PARTS, product]
NEED_NOT_REACH_1 = (hierarchical, product)  # a root with one child, tuples that nobody shows
every_distance = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@st.composite
def problems(draw: st.DrawFn, kind: Callable[[st.DrawFn, int], Drawn], *, classes: int) -> tuple[Drawn, Dense]:
    m = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any)
    return kind(draw, m), draw(st.lists(row, min_size=classes, max_size=classes))


def emd(drawn: Drawn, row: list[int], reference: list[int]) -> Fraction:
    return drawn.distance.emd(Counts.from_dense([row]), np.array(reference))[0]


def total(dense: Dense) -> list[int]:
    return np.sum(dense, axis=0).tolist()


# --- the laws --------------------------------------------------------------------------------------------------------


@every_distance
@few
@given(data=st.data())
def test_ground_distances_are_a_metric_of_at_most_1(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (row,) = data.draw(problems(kind, classes=1))
    m = len(row)
    d = [[drawn.distance.between(i, j) for j in range(m)] for i in range(m)]
    assert d == [[drawn.between(i, j) for j in range(m)] for i in range(m)]
    assert max(map(max, d)) <= 1
    assert kind in NEED_NOT_REACH_1 or max(map(max, d)) == int(m > 1)
    for i in range(m):
        for j in range(m):
            assert d[i][j] == d[j][i]
            assert (d[i][j] == 0) is (i == j)
            assert all(d[i][j] <= d[i][k] + d[k][j] for k in range(m))


@every_distance
@few
@given(data=st.data())
def test_it_is_a_metric_in_the_distributions(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (a, b, c) = data.draw(problems(kind, classes=3))
    assert emd(drawn, a, b) == emd(drawn, b, a)
    assert emd(drawn, a, a) == 0
    assert (emd(drawn, a, b) == 0) is (shares(a) == shares(b))
    assert emd(drawn, a, c) <= emd(drawn, a, b) + emd(drawn, b, c)
    assert 0 <= emd(drawn, a, b) <= 1


@every_distance
@few
@given(data=st.data())
def test_one_row_against_one_row_is_the_ground_distance(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (row,) = data.draw(problems(kind, classes=1))
    one = np.eye(len(row), dtype=np.int64)
    for j in range(len(row)):
        ratios = drawn.distance.emd(Counts.from_dense(one), one[j])
        assert [ratios[i] for i in range(len(row))] == [drawn.between(i, j) for i in range(len(row))]


@every_distance
@fewer
@given(data=st.data())
def test_it_agrees_with_the_linear_programme(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (row, reference) = data.draw(problems(kind, classes=2))
    found = emd(drawn, row, reference)
    assert float(found) == pytest.approx(by_linear_programme(drawn.distance, shares(row), shares(reference)), abs=1e-8)


@pytest.mark.parametrize("kind", [ordered, value], ids=lambda kind: kind.__name__)
@few
@given(data=st.data())
def test_it_agrees_with_scipy_on_lines(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (row, reference) = data.draw(problems(kind, classes=2))
    places = [float(drawn.between(0, i)) for i in range(len(row))]
    expected = wasserstein_distance(places, places, row, reference)
    assert float(emd(drawn, row, reference)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", [ordered, value, equal, hierarchical], ids=lambda kind: kind.__name__)
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), classes=st.integers(1, 6), unseen=st.booleans())
def test_many_classes_at_once_equal_the_naive_definition(
    kind: Callable[..., Drawn], data: st.DataObject, classes: int, unseen: bool
) -> None:
    """`unseen` lets the reference hold rows of none of the classes, as on a cluster's worker."""
    drawn, dense = data.draw(problems(kind, classes=classes + 1))
    reference = total(dense if unseen else dense[:-1])
    ratios = drawn.distance.emd(Counts.from_dense(dense[:-1]), np.array(reference))
    assert drawn.emd is not None
    expected = [drawn.emd(shares(row), shares(reference)) for row in dense[:-1]]
    assert [ratios[j] for j in range(len(ratios))] == expected
    assert ratios.floats().tolist() == pytest.approx([float(figure) for figure in expected], rel=1e-15, abs=0)
    assert ratios.largest() == (max(expected), expected.index(max(expected)))
    for level in {*expected, Fraction(1, 3)}:
        below = level - Fraction(1, 10**40)
        assert ratios.at_most(level).tolist() == [figure <= level for figure in expected]
        assert ratios.at_most(max(below, Fraction(0))).tolist() == [figure <= max(below, 0) for figure in expected]


@fewer
@given(data=st.data(), classes=st.integers(1, 4))
def test_many_classes_at_once_equal_the_linear_programme_by_a_matrix(data: st.DataObject, classes: int) -> None:
    """The denominators are small, so that the nearest fraction to the programme's float is its exact answer."""
    drawn, dense = data.draw(problems(matrix, classes=classes))
    reference = total(dense)
    ratios = drawn.distance.emd(Counts.from_dense(dense), np.array(reference))
    farthest = max(drawn.distance.costs.max(), 1)  # type: ignore[attr-defined]
    for j, row in enumerate(dense):
        unit = int(sum(row) * sum(reference) * farthest)
        exact = Fraction(round(by_linear_programme(drawn.distance, shares(row), shares(reference)) * unit), unit)
        assert ratios[j] == exact


@every_distance
@few
@given(data=st.data())
def test_a_plan_turns_the_class_into_the_reference_at_exactly_that_cost(
    kind: Callable[..., Drawn], data: st.DataObject
) -> None:
    drawn, (row, reference) = data.draw(problems(kind, classes=2))
    masses = shares(row)
    moves = drawn.distance.plan(np.array(row), np.array(reference))
    for move in moves:
        assert move.mass > 0
        assert move.distance == drawn.between(move.source, move.target) > 0
        assert move.cost == move.mass * move.distance
        masses[move.source] -= move.mass
        masses[move.target] += move.mass
        assert masses[move.source] >= 0
    assert masses == shares(reference)
    assert sum(move.cost for move in moves) == emd(drawn, row, reference)


@pytest.mark.parametrize("kind", [ordered, value, equal, hierarchical], ids=lambda kind: kind.__name__)
@few
@given(data=st.data())
def test_a_plan_moves_no_more_often_than_there_are_ends(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, (row, reference) = data.draw(problems(kind, classes=2))
    moves = drawn.distance.plan(np.array(row), np.array(reference))
    sources, targets = {move.source for move in moves}, {move.target for move in moves}
    assert not sources & targets
    assert len(moves) <= max(len(sources) + len(targets) - 1, 0)


@every_distance
@few
@given(data=st.data())
def test_merging_never_raises_closeness(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    """Stronger: the merged class is at most as far as its parts are on average."""
    drawn, (a, b, others) = data.draw(problems(kind, classes=3))
    reference = total([a, b, others])
    parts = sum(sum(row) * emd(drawn, row, reference) for row in (a, b))
    merged = emd(drawn, total([a, b]), reference)
    assert merged * sum(a + b) <= parts
    assert merged <= max(emd(drawn, a, reference), emd(drawn, b, reference))


@every_distance
@few
@given(data=st.data())
def test_the_whole_table_as_one_class_is_at_distance_0(kind: Callable[..., Drawn], data: st.DataObject) -> None:
    drawn, dense = data.draw(problems(kind, classes=2))
    assert emd(drawn, total(dense), total(dense)) == 0


@every_distance
@few
@given(data=st.data(), rows=st.integers(1, 10**9), table=st.integers(1, 10**9))
def test_scaling_counts_changes_nothing(kind: Callable[..., Drawn], data: st.DataObject, rows: int, table: int) -> None:
    drawn, (row, reference) = data.draw(problems(kind, classes=2))
    few_rows = emd(drawn, row, reference)
    many = drawn.distance.emd(
        Counts.from_dense([np.array(row) * rows, np.array(row) * table]), np.array(reference) * table
    )
    assert [many[0], many[1]] == [few_rows, few_rows]
    assert many.largest() == (few_rows, 0)
    assert many.at_most(few_rows).all()
    assert few_rows == 0 or not many.at_most(few_rows - Fraction(1, 10**60)).any()


@every_distance
@few
@given(data=st.data(), randoms=st.randoms(use_true_random=False))
def test_the_order_of_classes_does_not_matter(kind: Callable[..., Drawn], data: st.DataObject, randoms: object) -> None:
    drawn, dense = data.draw(problems(kind, classes=4))
    order = list(range(4))
    randoms.shuffle(order)  # type: ignore[attr-defined]
    reference = np.array(total(dense))
    straight = drawn.distance.emd(Counts.from_dense(dense), reference)
    shuffled = drawn.distance.emd(Counts.from_dense([dense[j] for j in order]), reference)
    assert [shuffled[j] for j in range(4)] == [straight[j] for j in order]


@few
@given(data=st.data())
def test_any_relabelling_leaves_equal_and_matrix_alone(data: st.DataObject) -> None:
    drawn, (row, reference) = data.draw(problems(matrix, classes=2))
    order = data.draw(st.permutations(range(len(row))))
    moved, whole = [row[i] for i in order], [reference[i] for i in order]
    costs = drawn.distance.costs[np.ix_(order, order)]  # type: ignore[attr-defined]
    assert emd(Drawn(Matrix(costs), drawn.between, None), moved, whole) == emd(drawn, row, reference)
    same = Drawn(Equal(), drawn.between, None)
    assert emd(same, moved, whole) == emd(same, row, reference)


@few
@given(data=st.data(), unit=st.integers(1, 1000))
def test_mirroring_or_stretching_a_line_changes_nothing(data: st.DataObject, unit: int) -> None:
    drawn, (row, reference) = data.draw(problems(value, classes=2))
    positions = drawn.distance.positions  # type: ignore[attr-defined]
    mirrored = Drawn(Value(unit * (positions[-1] - positions[::-1])), drawn.between, None)
    assert emd(mirrored, row[::-1], reference[::-1]) == emd(drawn, row, reference)


@few
@given(data=st.data())
def test_swapping_subtrees_changes_nothing(data: st.DataObject) -> None:
    drawn, (row, reference) = data.draw(problems(hierarchical, classes=2))
    levels = drawn.distance.levels  # type: ignore[attr-defined]
    mirrored = Hierarchical(tuple(level[-1] - level[::-1] for level in levels))
    assert emd(Drawn(mirrored, drawn.between, None), row[::-1], reference[::-1]) == emd(drawn, row, reference)


@few
@given(data=st.data())
def test_values_that_nobody_shows_change_no_line_of_magnitudes(data: st.DataObject) -> None:
    drawn, dense = data.draw(problems(value, classes=2))
    places = 2 * drawn.distance.positions  # type: ignore[attr-defined]
    wider = np.zeros((2, int(places[-1]) + 1), dtype=np.int64)
    wider[:, places] = dense
    everywhere = Drawn(Value(np.arange(wider.shape[1])), drawn.between, None)
    assert emd(everywhere, *wider.tolist()) == emd(drawn, *dense)


@few
@given(data=st.data())
def test_values_that_nobody_shows_change_no_equal_distance(data: st.DataObject) -> None:
    drawn, dense = data.draw(problems(equal, classes=2))
    wider = np.zeros((2, 3 * len(dense[0])), dtype=np.int64)
    wider[:, 1::3] = dense
    assert emd(drawn, *wider.tolist()) == emd(drawn, *dense)
