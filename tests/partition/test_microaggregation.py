"""Microaggregation: MDAV's published losses, the three variants of Soria-Comas et al., and t that no tie breaks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Distance, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible, PolicyError, Unsuited
from tclose.measure.information_loss import MeasuredPartition, NumberPlaces, squared_error
from tclose.partition.microaggregation import algorithms, partition
from tclose.partition.microaggregation.algorithms import (
    FastJudge,
    SlowJudge,
    excess,
    joined,
    judge_of,
    mdav,
    nearest,
    standardised,
    strata_needed,
    strata_of,
    stratified,
    swapped,
)
from tclose.partition.problem import Attribute, Problem

LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1]), np.zeros(6, dtype=np.int64))
DISTANCES: dict[str, Distance] = {
    "ordered": Ordered(6),
    "value": Value(np.array([0, 1, 5, 6, 50, 60])),
    "equal": Equal(),
    "hierarchical": Hierarchical(LEVELS),
    "matrix": Matrix(np.abs(np.arange(6)[:, None] - np.arange(6))),
}
SERVED = [("first", "ordered"), *[("swap", kind) for kind in DISTANCES if kind != "matrix"]]
SERVED += [("merge", kind) for kind in DISTANCES]
brief = settings(max_examples=examples(40), deadline=None)
levels = st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1)])


def silent(done: float) -> None:
    pass


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    numbers = [NumberPlaces.of_points(column) for column in points.T]
    found = squared_error(MeasuredPartition(np.bincount(labels), [], 0, 1, labels, numbers))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def census(pytestconfig: pytest.Config) -> pl.DataFrame:
    file = Path(pytestconfig.rootpath).parent / "shared" / "data" / "census_casc.csv"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return pl.read_csv(file)


def taxes(census: pl.DataFrame, name: str, t: str) -> Problem:
    values, codes = np.unique(census[name].to_numpy(), return_inverse=True)
    one = Attribute(codes.astype(np.int64), np.bincount(codes), Ordered(len(values)), Fraction(t))
    return Problem(census.select("TAXINC", "POTHVAL").to_numpy().astype(np.float64), (one,), 2)


# --- published figures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "loss"), [(3, 5.692), (4, 7.495), (5, 9.088), (10, 14.156)])
def test_mdav_loses_what_is_published(census: pl.DataFrame, k: int, loss: float) -> None:
    points = standardised(census.to_numpy().astype(np.float64))
    labels = mdav(points, k, silent)
    sizes = np.bincount(labels)
    assert k <= sizes.min() <= sizes.max() < 2 * k
    assert round(100 * sse(points, labels), 3) == loss


@pytest.mark.parametrize(("name", "loss"), [("FEDTAX", 0.60), ("FICA", 0.41)])
def test_first_loses_what_is_published(census: pl.DataFrame, name: str, loss: float) -> None:
    problem = taxes(census, name, "0.05")
    labels = partition(problem)
    assert problem.admitted(labels).all()
    assert problem.rows / (labels.max() + 1) == 10
    assert sse(problem.points, labels) == pytest.approx(loss, abs=0.006)


def test_ties_do_not_break_t(census: pl.DataFrame) -> None:
    """Two strata are enough for 1,080 different values, but FICA has 375: some pairs are beyond t until merged."""
    problem = taxes(census, "FICA", "0.25")
    points = standardised(problem.points)
    strata = strata_needed(problem.rows, problem.k, Fraction(1, 4))
    assert strata == 2
    pairs = stratified(points, strata_of(problem.sensitive[0].codes, strata), silent)
    assert not problem.admitted(pairs).all()
    labels = partition(problem)
    assert problem.admitted(labels).all()
    assert problem.sensitive[0].distance.name == "ordered"
    assert labels.max() + 1 > 500


@pytest.mark.parametrize("variant", ["swap", "merge"])
def test_the_other_variants_hold_on_real_taxes(census: pl.DataFrame, variant: str) -> None:
    problem = taxes(census, "FEDTAX", "0.25")
    labels = partition(problem, variant=variant)
    assert problem.admitted(labels).all()
    assert labels.max() > 1


# --- what makes each what it is ---------------------------------------------------------------------------------------


@brief
@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 99))
def test_mdav_groups_have_k_rows_up_to_twice_that(rows: int, k: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 4, (rows, 2)).astype(np.float64)
    labels = mdav(points, k, silent)
    sizes = np.bincount(labels)
    assert sizes.sum() == rows
    assert (k <= sizes.min() and sizes.max() < 2 * k) or (rows < k and len(sizes) == 1)


def test_mdav_starts_from_the_outside() -> None:
    points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.8], [9.9], [10.0]])
    labels = mdav(points, 3, silent)
    assert [len(set(labels[i : i + 3])) for i in (0, 3, 6)] == [1, 1, 1]


@brief
@given(st.integers(1, 400), st.integers(1, 9), st.fractions(0, 1, max_denominator=50))
def test_strata_are_enough_and_leave_fewer_rows_than_classes(rows: int, k: int, t: Fraction) -> None:
    strata = strata_needed(rows, k, t)
    assert min(k, rows) <= strata <= rows
    assert rows == 1 or Fraction(rows - strata, 2 * (rows - 1) * strata) <= t
    codes = np.random.default_rng(rows).integers(0, 5, rows)
    stratum = strata_of(codes, strata)
    sizes = np.bincount(stratum)
    assert sizes.min() == rows // strata
    assert sizes.sum() - strata * sizes.min() < sizes.min()
    middle = {(strata - 1) // 2, strata // 2}
    assert all(size == sizes.min() for i, size in enumerate(sizes) if i not in middle)
    assert all(codes[stratum == i].max() <= codes[stratum == i + 1].min() for i in range(strata - 1))


@brief
@given(st.integers(2, 120), st.fractions(0, 1, max_denominator=50), st.integers(0, 99))
def test_first_takes_one_row_of_each_stratum_and_two_from_the_middle(rows: int, t: Fraction, seed: int) -> None:
    random = np.random.default_rng(seed)
    strata = strata_needed(rows, 1, t)
    stratum = strata_of(random.permutation(rows), strata)
    labels = stratified(random.random((rows, 2)), stratum, silent)
    taken = np.zeros((rows // strata, strata), dtype=int)
    np.add.at(taken, (labels, stratum), 1)
    assert taken.min() == 1
    assert (taken.sum(axis=1) - strata).max() <= 1


@brief
@given(st.integers(2, 80), st.sampled_from(["0.05", "0.1", "0.2"]), st.integers(0, 99))
def test_values_that_all_differ_need_no_merging_where_strata_come_out_even(classes: int, t: str, seed: int) -> None:
    """The paper's bound is a theorem there."""
    random = np.random.default_rng(seed)
    rows = classes * 20
    one = Attribute(random.permutation(rows), np.ones(rows, dtype=np.int64), Ordered(rows), Fraction(t))
    strata = strata_needed(rows, 1, Fraction(t))
    if rows % strata == 0:
        assert partition(Problem(random.random((rows, 2)), (one,))).max() + 1 == rows // strata


def test_swaps_bring_groups_nearer() -> None:
    random = np.random.default_rng(3)
    codes = random.integers(0, 6, 300)
    points = standardised(np.stack((codes + random.random(300), random.random(300)), axis=1))
    for kind in ("ordered", "value", "equal", "hierarchical"):
        one = Attribute(codes, np.bincount(codes, minlength=6), DISTANCES[kind], Fraction(1, 4))
        beyond = [
            (excess(labels, (one,)) > 0).sum() for labels in (mdav(points, 6, silent), swapped(points, 6, one, silent))
        ]
        assert beyond[1] < beyond[0] / 2


@brief
@given(
    st.sampled_from([1, 2, 3, 64]), st.sampled_from(["ordered", "value", "equal", "hierarchical"]), st.integers(0, 99)
)
def test_sorted_rows_are_swapped_as_unsorted_ones(few: int, kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes, points = random.integers(0, 6, 60), random.integers(0, 4, (60, 2)).astype(np.float64)
    one = Attribute(codes, np.bincount(codes, minlength=6), DISTANCES[kind], Fraction(1, 10))
    unsorted = swapped(points, 3, one, silent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algorithms, "FEW_VALUES", 0)
        assert swapped(points, 3, one, silent).tolist() == unsorted.tolist()


@brief
@given(st.sampled_from(sorted(DISTANCES)), st.integers(1, 30), levels, st.integers(0, 99))
def test_one_class_is_judged_as_many_are(kind: str, size: int, t: Fraction, seed: int) -> None:
    """To the last bit, as the excess decides which class is merged first."""
    random = np.random.default_rng(seed)
    codes, rows = random.integers(0, 6, 90), random.permutation(90)[:size]
    one = Attribute(codes, np.bincount(codes, minlength=6), DISTANCES[kind], t)
    judge = judge_of(one)
    assert isinstance(judge, SlowJudge if kind == "matrix" else FastJudge)
    assert judge.excess(rows) == excess(np.zeros(size, dtype=np.int64), (replace(one, codes=codes[rows]),))[0]


@pytest.mark.parametrize("length", [2**40, 2**59, 10**30])
def test_lines_too_long_for_64_bits_are_judged_exactly(length: int) -> None:
    codes = np.array([0, 1, 2, 3] * 5)
    positions = np.array([0, 1, length - 1, length], dtype=np.int64 if length < 2**62 else object)
    one = Attribute(codes, np.bincount(codes), Value(positions), Fraction(1, 4))
    judge, rows = judge_of(one), np.array([0, 4, 8])
    assert isinstance(judge, FastJudge if length == 2**40 else SlowJudge)
    assert judge.excess(rows) == excess(np.zeros(3, dtype=np.int64), (replace(one, codes=codes[rows]),))[0] > 0


@brief
@given(st.integers(2, 60), st.integers(1, 12), st.integers(0, 999))
def test_the_nearest_class_is_the_first_of_equals(classes: int, columns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    centres = random.integers(0, 3, (classes, columns)) / 3 + random.choice([0.0, 1e-16, 1e-9], (classes, columns))
    centres[random.random(classes) < 0.2] = np.inf
    chosen = int(random.integers(classes))
    centres[chosen] = random.random(columns)
    gaps = ((centres - centres[chosen]) ** 2).sum(axis=1)
    gaps[chosen] = np.inf
    if np.isfinite(gaps).any():
        assert nearest(centres, chosen) == gaps.argmin()


def by_the_book(points: np.ndarray, k: int, one: Attribute) -> list[set[int]]:
    """Algorithm 2 word by word, on fractions: every row in turn, every member as the one to leave."""
    left, groups, origin = set(range(len(points))), [], points[0]
    while len(left) >= 2 * k:
        origin = points[sorted(left)].mean(axis=0) if len(groups) % 2 == 0 else origin
        origin = points[max(left, key=lambda row: ((points[row] - origin) ** 2).sum())]
        near = sorted(left, key=lambda row: ((points[row] - origin) ** 2).sum())

        def emd(rows: set[int]) -> Fraction:
            return one.emd_of(one.codes[sorted(rows)], one.reference)

        group = set(near[:k])
        for row in near[k:]:
            if emd(group) <= one.t:
                break
            swapped_in = min((group - {out} | {row} for out in group), key=emd)
            group = min(group, swapped_in, key=emd)
        groups.append(group)
        left -= group
    return [*groups, left]


@pytest.mark.parametrize("seed", range(6))
def test_swaps_are_those_of_the_paper(seed: int) -> None:
    random = np.random.default_rng(seed)
    places = np.sort(random.choice(10**6, 40, replace=False))
    one = Attribute(random.permutation(40), np.ones(40, dtype=np.int64), Value(places - places[0]), Fraction(1, 8))
    points = random.random((40, 2))
    labels = swapped(points, 4, one, silent)
    assert [set(np.flatnonzero(labels == g)) for g in range(labels.max() + 1)] == by_the_book(points, 4, one)


def test_swaps_keep_groups_that_are_within_t() -> None:
    codes = np.tile([0, 1, 2, 3, 4, 5], 20)
    points = np.repeat(np.arange(20.0), 6)[:, None]
    one = Attribute(codes, np.bincount(codes), Ordered(6), Fraction(0))
    labels = swapped(points, 6, one, silent)
    assert all(len(set(labels[i : i + 6])) == 1 for i in range(0, 120, 6))


def test_merging_joins_the_worst_with_the_nearest() -> None:
    codes = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    one = Attribute(codes, np.array([4, 4]), Equal(), Fraction(0))
    points = np.array([[0.0], [0.0], [1.0], [1.0], [5.0], [5.0], [9.0], [9.0]])
    labels = joined(points, np.array([0, 0, 1, 1, 2, 2, 3, 3]), (one,), silent)
    assert [labels[0], labels[4], labels[6]] == [labels[2], labels[5], labels[7]]
    assert labels.max() == 2


# --- every variant ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "kind"), SERVED)
@brief
@given(data=st.data())
def test_every_class_is_within_t(variant: str, kind: str, data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = data.draw(st.integers(1, 90))
    codes = random.choice(6, rows, p=random.dirichlet(np.ones(6)))
    reference = np.bincount(codes, minlength=6) + random.integers(0, 3, 6)  # the rows may be a part of the table
    one = Attribute(codes, reference, DISTANCES[kind], data.draw(levels))
    problem = Problem(random.integers(0, 5, (rows, 2)) / 4, (one,), data.draw(st.integers(1, min(rows, 5))))
    if one.t is not None and one.emd_of(codes, reference) > one.t:
        with pytest.raises(Infeasible):
            partition(problem, variant=variant)
        return
    labels = partition(problem, variant=variant)
    assert set(labels) == set(range(labels.max() + 1))
    assert problem.admitted(labels).all()


def test_merging_serves_several_attributes() -> None:
    random = np.random.default_rng(8)
    both = tuple(
        Attribute(codes, np.bincount(codes, minlength=6), DISTANCES[kind], Fraction(1, 5))
        for kind, codes in (("ordered", random.integers(0, 6, 400)), ("hierarchical", random.integers(0, 6, 400)))
    )
    problem = Problem(random.random((400, 3)), both, 3)
    labels = partition(problem, variant="merge")
    assert problem.admitted(labels).all()
    assert labels.max() > 5


def test_what_it_cannot_serve_is_refused() -> None:
    codes = np.arange(6)
    one = Attribute(codes, np.ones(6, dtype=np.int64), Ordered(6), Fraction(1))
    problem = Problem(np.zeros((6, 1)), (one,))
    with pytest.raises(Unsuited, match="'merge' it serves any number"):
        partition(replace(problem, sensitive=(one, one)))
    with pytest.raises(Unsuited, match="'ordered' only"):
        partition(replace(problem, sensitive=(replace(one, distance=Equal()),)))
    with pytest.raises(Unsuited, match="distance 'matrix'"):
        partition(replace(problem, sensitive=(replace(one, distance=DISTANCES["matrix"]),)), variant="swap")
    with pytest.raises(PolicyError, match="did you mean 'first'"):
        partition(problem, variant="fist")  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", ["first", "swap", "merge"])
def test_progress_only_grows(variant: str) -> None:
    random = np.random.default_rng(4)
    codes = random.integers(0, 6, 200)
    one = Attribute(codes, np.bincount(codes), Ordered(6), Fraction(1, 8))
    told: list[float] = []
    partition(
        Problem(random.random((200, 2)), (one,), 2),
        variant=variant,
        progress=lambda share, phase="": told.append(share),
    )
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_equally_spaced_numbers_are_served_as_ranks_are() -> None:
    random = np.random.default_rng(4)
    codes, points = random.integers(0, 6, size=200), random.random((200, 2))
    ranks, numbers = (
        Problem(points, (Attribute(codes, np.bincount(codes), distance, Fraction(1, 8)),), 2)
        for distance in (Ordered(6), Value(np.arange(6)))
    )
    assert partition(numbers).tolist() == partition(ranks).tolist()
