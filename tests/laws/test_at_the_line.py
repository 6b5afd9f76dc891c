"""Exactly at the line: with ten rows and with ten million, for every distance and for entropy, never by a float."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.distance import Counts, Distance, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.privacy import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    EnhancedBetaLikeness,
    EntropyL,
    RecursiveCL,
    TCloseness,
)

THIRD = Fraction(1, 3)
TREE = Hierarchical(tuple(map(np.array, ([0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0]))))
LINE = np.abs(np.arange(4)[:, None] - np.arange(4))

# Each distance with two classes that are each exactly 1/3 from the table that they make up, of ten or twelve rows.
# Where two values lie 2/3 apart, a class of one of them in a table of both, half and half, is 1/2 · 2/3 away.
AT_A_THIRD: dict[str, tuple[Distance, list[list[int]]]] = {
    "ordered": (Ordered(4), [[5, 0, 0, 0], [0, 0, 5, 0]]),
    "value": (Value(np.array([0, 1, 4, 6])), [[5, 0, 0, 0], [0, 0, 5, 0]]),
    "equal": (Equal(), [[5, 1], [1, 5]]),
    "hierarchical": (TREE, [[5, 0, 0, 0], [0, 0, 5, 0]]),
    "matrix": (Matrix(LINE), [[5, 0, 0, 0], [0, 0, 5, 0]]),
}
every_distance = pytest.mark.parametrize(("distance", "rows"), AT_A_THIRD.values(), ids=AT_A_THIRD)
MILLION = 10**6


def admitted(t: Fraction | str, distance: Distance, rows: Any, whole: Any) -> list[bool]:
    return TCloseness(Fraction(t), distance).judge(Counts.from_dense(rows), np.asarray(whole)).admitted.tolist()


@every_distance
@pytest.mark.parametrize("factor", [1, MILLION, 10**8], ids=["ten rows", "ten million", "a billion"])
def test_exactly_a_third_passes_a_third_and_fails_below(distance: Distance, rows: list[list[int]], factor: int) -> None:
    counts = np.array(rows) * factor
    whole = counts.sum(axis=0)
    ratios = distance.emd(Counts.from_dense(counts), whole)
    assert [ratios[0], ratios[1]] == [THIRD, THIRD]
    assert admitted("1/3", distance, counts, whole) == [True, True]
    assert admitted("0.3333", distance, counts, whole) == [False, False]
    assert admitted("0.3333333333333333333333333333", distance, counts, whole) == [False, False]
    assert admitted("0.3333333333333333333333333334", distance, counts, whole) == [True, True]


@every_distance
@pytest.mark.parametrize("factor", [1, MILLION, 10**8], ids=["ten rows", "ten million", "a billion"])
def test_one_more_row_than_the_line_allows_fails(distance: Distance, rows: list[list[int]], factor: int) -> None:
    """A row of the other value brings a class nearer; a table with one row less of its own leaves it behind."""
    counts = np.array(rows) * factor
    nearer, whole = counts[0].copy(), counts.sum(axis=0)
    nearer[int(counts[1].argmax())] += 1
    rarer = whole.copy()
    rarer[0] -= 1
    assert admitted("1/3", distance, [nearer, counts[0]], whole) == [True, True]
    assert admitted("1/3", distance, [nearer, counts[0]], rarer) == [True, False]


@pytest.mark.parametrize("factor", [1, MILLION, 10**8], ids=["ten rows", "ten million", "a billion"])
def test_one_more_row_of_its_own_value_fails(factor: int) -> None:
    whole = np.array([6, 6]) * factor
    just, more = [5 * factor, factor], [5 * factor + 1, factor]
    assert admitted("1/3", Equal(), [just, more], whole) == [True, False]
    assert admitted("1/3", Ordered(2), [just, more], whole) == [True, False]


@every_distance
def test_one_more_row_fails_even_where_a_float_cannot_tell(distance: Distance, rows: list[list[int]]) -> None:
    """At 10¹⁸ rows one row changes the distance by less than a float's last digit."""
    counts = np.array(rows) * 10**17
    whole = counts.sum(axis=0)
    rarer = whole.copy()
    rarer[0] -= 1
    found = distance.emd(Counts.from_dense(counts[:1]), rarer)
    assert THIRD < found[0] < THIRD + Fraction(1, 10**17)
    assert float(found[0]) == float(THIRD)
    assert admitted("1/3", distance, counts[:1], whole) == [True]
    assert admitted("1/3", distance, counts[:1], rarer) == [False]


# --- through check() -------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "tree.csv").write_text("1;a;x;*\n2;a;x;*\n3;b;x;*\n4;c;y;*\n")
    header = "," + ",".join("1234")
    lines = [f"{i + 1}," + ",".join(str(cost) for cost in LINE[i]) for i in range(4)]
    (tmp_path / "costs.csv").write_text("\n".join([header, *lines]))
    return tmp_path


SETTINGS: dict[str, dict[str, Any]] = {
    "ordered": {"domain": [1, 2, 3, 4]},
    "value": {"distance": "value", "domain": [1, 2, 3, 4]},
    "equal": {"distance": "equal"},
    "hierarchical": {"hierarchy": "tree.csv"},
    "matrix": {"matrix": "costs.csv"},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("factor", [1, 100_000], ids=["ten rows", "a million"])
def test_a_table_exactly_at_a_third(name: str, factor: int, files: Path) -> None:
    _, rows = AT_A_THIRD[name]
    classes, codes = np.indices(np.shape(rows))
    repeats = np.ravel(rows) * factor
    order = np.random.default_rng(1).permutation(int(repeats.sum()))
    frame = pl.DataFrame(
        {"group": np.repeat(classes.ravel(), repeats)[order], "value": np.repeat(codes.ravel() + 1, repeats)[order]}
    )

    def result(t: str) -> tclose.CheckResult:
        policy = {"quasi": ["group"], "sensitive": {"value": {"t": t, **SETTINGS[name]}}}
        return tclose.check(frame, tclose.Policy.from_dict(policy, folder=files))

    passing, failing = result("1/3"), result("0.3333")
    assert passing.satisfied
    assert passing.sensitive["value"].closeness == THIRD
    assert passing.sensitive["value"].failing_classes == 0
    assert not failing.satisfied
    assert failing.sensitive["value"].failing_classes == 2
    assert not result("0.33333333333333333333").satisfied


def test_a_hierarchical_verdict_at_two_million_rows_is_the_one_at_two_thousand(files: Path) -> None:
    """An earlier tool's sums overflow here and let every class pass."""
    draws = np.random.default_rng(7)
    group = draws.integers(0, 5, 2000)
    value = (draws.integers(0, 4, 2000) + draws.integers(0, 2, 2000) * group).clip(0, 3) + 1
    small = pl.DataFrame({"group": group, "value": value})
    large = pl.concat([small] * 1000)
    policy = {"quasi": ["group"], "sensitive": {"value": {"t": 1, "hierarchy": "tree.csv"}}}
    closeness = tclose.check(small, tclose.Policy.from_dict(policy, folder=files)).sensitive["value"].closeness
    assert closeness > 0
    for t, holds in ((str(closeness), True), (str(closeness - Fraction(1, 10**15)), False)):
        policy["sensitive"]["value"]["t"] = t  # type: ignore[index]
        read = tclose.Policy.from_dict(policy, folder=files)
        found = [tclose.check(frame, read) for frame in (small, large)]
        assert [result.satisfied for result in found] == [holds, holds]
        assert {result.sensitive["value"].closeness for result in found} == {closeness}
        assert len({result.sensitive["value"].failing_classes for result in found}) == 1


# --- integers beyond 64 bits -----------------------------------------------------------------------------------------


def line_work(positions: list[int], row: dict[int, int], whole: np.ndarray) -> Fraction:
    """Σ gap·|C_i/s − N_i/N| over the whole length, with running sums in Python's integers."""
    s, total = sum(row.values()), int(whole.sum())
    seen = below = work = 0
    for i, (here, after) in enumerate(pairwise(positions)):
        seen += row.get(i, 0)
        below += int(whole[i])
        work += (after - here) * abs(total * seen - s * below)
    return Fraction(work, s * total * positions[-1])


def sparse(rows: list[dict[int, int]], m: int) -> Counts:
    entries = [sorted(row.items()) for row in rows]
    starts = np.cumsum([0, *map(len, entries[:-1])])
    codes, counts = np.array([entry for row in entries for entry in row]).T
    return Counts(starts, codes, counts, m)


big_rows = st.dictionaries(st.integers(0, 99_999), st.integers(1, 10**6), min_size=1, max_size=5)


@settings(max_examples=8, deadline=None)
@given(rows=st.lists(big_rows, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_a_billion_rows_over_a_hundred_thousand_values(rows: list[dict[int, int]], seed: int) -> None:
    m = 100_000
    whole = np.random.default_rng(seed).integers(1, 20_000, m)  # N ≈ 10⁹, so that N·s·m passes 2⁶³ many times over
    found = Ordered(m).emd(sparse(rows, m), whole)
    expected = [line_work(list(range(m)), row, whole) for row in rows]
    assert [found[j] for j in range(len(rows))] == expected
    assert found.largest() == (max(expected), expected.index(max(expected)))
    for figure in expected:
        assert found.at_most(figure).tolist() == [other <= figure for other in expected]
        just_below = figure - Fraction(1, 10**40)
        assert found.at_most(just_below).tolist() == [other <= just_below for other in expected]


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), m=st.integers(2, 6), largest=st.sampled_from([10**9, 4 * 10**9, 10**12, 10**17]))
def test_positions_and_counts_beyond_64_bits(data: st.DataObject, m: int, largest: int) -> None:
    """Among them classes with more rows than the reference: a distance knows no table."""
    gaps = data.draw(st.lists(st.integers(1, 10**17), min_size=m - 1, max_size=m - 1))
    positions = [sum(gaps[:i]) for i in range(m)]
    row = st.lists(st.integers(0, largest), min_size=m, max_size=m).filter(any)
    rows, whole = data.draw(st.lists(row, min_size=1, max_size=3)), np.array(data.draw(row))
    counts = Counts.from_dense(rows)

    found = Value(np.array(positions)).emd(counts, whole)
    assert [found[j] for j in range(len(rows))] == [line_work(positions, dict(enumerate(r)), whole) for r in rows]

    p, q = [[Fraction(c, sum(r)) for c in r] for r in rows], [Fraction(int(n), int(whole.sum())) for n in whole]
    halves = [sum((abs(a - b) for a, b in zip(mine, q, strict=True)), Fraction(0)) / 2 for mine in p]
    found = Equal().emd(counts, whole)
    assert [found[j] for j in range(len(rows))] == halves
    assert found.largest()[0] == max(halves)
    deep = Hierarchical((*[np.arange(m)] * 40, np.zeros(m, dtype=np.int64)))
    assert [deep.emd(counts, whole)[j] for j in range(len(rows))] == halves

    cheap = Matrix(1 - np.eye(m, dtype=np.int64))
    assert [cheap.emd(counts, whole)[j] for j in range(len(rows))] == halves

    if whole.all():
        likeness = BetaLikeness(Fraction(1)).judge(counts, whole)
        best = [max(max((a - b) / b for a, b in zip(mine, q, strict=True)), Fraction(0)) for mine in p]
        assert likeness.reached == max(best)
        assert likeness.admitted.tolist() == [gain <= 1 for gain in best]


def test_positions_of_any_length() -> None:
    positions = np.array([0, 10**200, 3 * 10**250, 10**400], dtype=object)
    row, whole = {0: 1, 2: 1}, np.array([1, 1, 1, 1])
    found = Value(positions).emd(sparse([row], 4), whole)
    expected = line_work(positions.tolist(), row, whole)
    assert found[0] == expected
    assert found.at_most(expected).all()
    assert not found.at_most(expected - Fraction(1, 10**500)).any()
    assert found.floats()[0] == pytest.approx(float(expected))
    assert found.largest() == (expected, 0)


def test_a_level_with_more_digits_than_64_bits_hold() -> None:
    level = Fraction(1, 10**30)
    whole = np.array([4, 4])
    for distance in (Equal(), Ordered(2), Matrix(1 - np.eye(2, dtype=np.int64))):
        assert admitted(level, distance, [[2, 2]], whole) == [True]
        assert admitted(level, distance, [[2, 1]], whole) == [False]
    assert RecursiveCL(Fraction(10**30), 2).judge(Counts.from_dense([[3, 0]]), whole).admitted.tolist() == [False]
    assert Alpha(1 - level).judge(Counts.from_dense([[3, 0], [2, 1]]), whole).admitted.tolist() == [False, True]


def test_many_exact_ties_at_the_line() -> None:
    """A thousand classes of different sizes, all exactly 1/3 away, among a thousand that are a hair farther."""
    factors = np.arange(1, 1001)
    tied = np.outer(factors, [5, 1]) * 10**6
    farther = tied + np.array([1, 0])
    whole = np.array([1, 1]) * 10**12
    counts = Counts.from_dense(np.vstack((tied, farther)))
    judgement = TCloseness(THIRD, Equal()).judge(counts, whole)
    assert judgement.admitted.tolist() == [True] * 1000 + [False] * 1000
    exact = Fraction(5 * 10**6 + 1, 6 * 10**6 + 1) - Fraction(1, 2)
    assert (judgement.reached, judgement.worst_class) == (exact, 1000)
    only_ties = TCloseness(THIRD, Equal()).judge(Counts.from_dense(tied), whole)
    assert only_ties.satisfied
    assert (only_ties.reached, only_ties.worst_class) == (THIRD, 0)


# --- the other models ------------------------------------------------------------------------------------------------


def entropy(required: str | Fraction, rows: Any) -> list[bool]:
    counts = Counts.from_dense(rows)
    return EntropyL(Fraction(required)).judge(counts, np.ones(counts.domain_size)).admitted.tolist()


@pytest.mark.parametrize("each", [1, 3, 2_500_000, 10**9])
def test_entropy_of_equal_counts_is_exactly_their_number(each: int) -> None:
    rows = [[each] * 4, [each + 1, each - 1, each, each], [each + 1, each, each, each]]
    assert entropy(4, rows) == [True, False, False]
    assert entropy(Fraction(4) + Fraction(1, 10**40), rows[:1]) == [False]
    assert entropy(Fraction(4) - Fraction(1, 10**40), rows[:1]) == [True]


def test_entropy_reached_is_the_line_when_a_class_stands_on_it() -> None:
    for l in range(1, 40):  # noqa: E741 - the paper's letter
        judgement = EntropyL(Fraction(l)).judge(Counts.from_dense([[7] * l]), np.ones(l))
        assert judgement.satisfied
        assert judgement.reached >= l
        moved = EntropyL(Fraction(l)).judge(Counts.from_dense([[10**9 + 1, *[10**9] * (l - 1)]]), np.ones(l))
        assert moved.satisfied is (l == 1)
        assert (moved.reached < l) is (l > 1)


def test_entropy_ties_of_unequal_counts() -> None:
    """½ and four times ⅛ have an entropy of two bits, as four quarters have."""
    for each in (1, 10**6):
        row = [4 * each, each, each, each, each]
        assert entropy(4, [row]) == [True]
        assert entropy(4, [[row[0] + 1, *row[1:]]]) == [False]
        assert entropy(4, [[row[0] - 1, *row[1:]]]) == [True]


def entropy_exactly(required: Fraction, row: list[int]) -> bool:
    with localcontext() as context:
        context.prec = 100
        s = sum(row)
        weighted = sum((c * Decimal(c).ln() for c in row if c), Decimal(0))
        line = Decimal(required.numerator).ln() - Decimal(required.denominator).ln()
        return bool(s * Decimal(s).ln() - weighted >= s * line)


def test_entropy_of_two_and_a_half() -> None:
    """The count of the commonest value at which ten million rows fall below 2.5 is found to the row."""
    required = Fraction("2.5")

    def row(common: int) -> list[int]:
        rest = 10**7 - common
        return [common, rest // 2, rest - rest // 2]

    low, high = 4_000_000, 9_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if entropy_exactly(required, row(middle)) else (low, middle)
    near = [row(low + step) for step in range(-3, 5)]
    assert entropy(required, near) == [entropy_exactly(required, each) for each in near]
    assert entropy("2.5", [row(low), row(high)]) == [True, False]


def test_entropy_with_a_long_level_is_decided_at_once() -> None:
    """A level of many digits has large prime factors, which need not be found."""
    level = Fraction("3.99999999999999999999999999999999999999999999999999999999999999999999997")
    assert entropy(level, [[10**6] * 4]) == [True]
    assert entropy(8 - level, [[10**6] * 4]) == [False]


def test_entropy_of_a_million_values() -> None:
    row = np.full((1, 10**6), 3)
    assert entropy(10**6, row) == [True]
    row[0, 0] += 1
    assert entropy(10**6, row) == [False]


@pytest.mark.parametrize("factor", [1, MILLION, 10**12])
def test_recursive_is_strict(factor: int) -> None:
    """r₁ = 6 and r₂ + r₃ = 4: c must exceed 3/2."""
    whole = np.array([6, 3, 1]) * factor
    counts = Counts.from_dense([whole])
    assert not RecursiveCL(Fraction(3, 2), 2).judge(counts, whole).satisfied
    assert RecursiveCL(Fraction(3, 2) + Fraction(1, 10**30), 2).judge(counts, whole).satisfied
    assert not RecursiveCL(Fraction(6), 3).judge(counts, whole).satisfied
    judgement = RecursiveCL(Fraction(7), 3).judge(counts, whole)
    assert judgement.satisfied
    assert judgement.reached == 6


def test_delta_is_strict_and_a_value_that_a_class_lacks_is_infinitely_far() -> None:
    whole = np.array([2, 2])
    judgement = DeltaDisclosure(Fraction(1000)).judge(Counts.from_dense([[1, 1], [1, 0], [0, 1]]), whole)
    assert judgement.admitted.tolist() == [True, False, False]
    assert judgement.reached == math.inf
    assert judgement.worst_class == 1
    alike = DeltaDisclosure(Fraction(1, 10**30)).judge(Counts.from_dense([[1, 1]]), whole)
    assert alike.satisfied
    assert alike.reached < 1e-30


def test_delta_needs_no_value_that_nobody_shows() -> None:
    assert DeltaDisclosure(Fraction(1, 10)).judge(Counts.from_dense([[1, 0, 1]]), np.array([3, 0, 3])).satisfied


LN_2 = Decimal("0.693147180559945309417232121458176568075500134360255254120680")


@pytest.mark.parametrize("digits", [3, 9, 15, 20, 50])
@pytest.mark.parametrize("factor", [1, MILLION, 10**10])
def test_delta_is_decided_to_the_last_digit(digits: int, factor: int) -> None:
    """p/q = 2 for one value and 2/3 for the other: the largest |ln| is ln 2, which no fraction equals."""
    whole, counts = np.array([1, 3]) * factor, Counts.from_dense([[factor, factor]])
    step = Fraction(1, 10**digits)
    below = Fraction(LN_2) // step * step
    assert not DeltaDisclosure(below).judge(counts, whole).satisfied
    assert DeltaDisclosure(below + step).judge(counts, whole).satisfied
    assert not DeltaDisclosure(below).judge(counts, whole).reached < float(below)
    assert DeltaDisclosure(below + step).judge(counts, whole).reached < float(below + step)


@pytest.mark.parametrize("factor", [1, MILLION, 10**12])
def test_beta_at_the_line(factor: int) -> None:
    """p = ½ and q = ¼: the gain is exactly 1."""
    whole, counts = np.array([1, 3]) * factor, Counts.from_dense([[factor, factor]])
    judgement = BetaLikeness(Fraction(1)).judge(counts, whole)
    assert judgement.satisfied
    assert judgement.reached == 1
    assert not BetaLikeness(1 - Fraction(1, 10**30)).judge(counts, whole).satisfied


def test_enhanced_beta_is_capped_by_minus_ln_q() -> None:
    """A value of half the table may gain at most ln 2 ≈ .693, however large β is."""
    whole = np.array([1, 1]) * 10**6
    within, beyond = [846_573, 153_427], [846_574, 153_426]
    judgement = EnhancedBetaLikeness(Fraction(5)).judge(Counts.from_dense([within]), whole)
    assert judgement.satisfied
    assert judgement.reached == Fraction(within[0], 500_000) - 1
    judgement = EnhancedBetaLikeness(Fraction(5)).judge(Counts.from_dense([within, beyond]), whole)
    assert judgement.admitted.tolist() == [True, False]
    assert judgement.reached == math.inf
    assert judgement.worst_class == 1
    assert BetaLikeness(Fraction(5)).judge(Counts.from_dense([beyond]), whole).satisfied
    assert not EnhancedBetaLikeness(Fraction(1, 2)).judge(Counts.from_dense([within]), whole).satisfied


@pytest.mark.parametrize("digits", [6, 9, 12, 15, 17])
def test_the_cap_of_enhanced_beta_is_decided_to_the_row(digits: int) -> None:
    """Of a class of 10^digits rows, (1 + ln 2)/2 may show a value of half the table."""
    rows = 10**digits
    most = int((1 + LN_2) / 2 * rows)
    counts = Counts.from_dense([[most, rows - most], [most + 1, rows - most - 1]])
    judgement = EnhancedBetaLikeness(Fraction(5)).judge(counts, np.array([rows, rows]))
    assert judgement.admitted.tolist() == [True, False]


def test_a_constant_column_passes_every_model_that_compares() -> None:
    counts, whole = Counts.from_dense([[3], [1]]), np.array([4])
    tiny = Fraction(1, 10**9)
    for model in (BetaLikeness(tiny), EnhancedBetaLikeness(tiny), DeltaDisclosure(tiny), Alpha(Fraction(1))):
        assert model.judge(counts, whole).satisfied
    for distance in (Ordered(1), Value(np.array([0])), Equal(), Matrix(np.zeros((1, 1), dtype=np.int64))):
        judgement = TCloseness(Fraction(0), distance).judge(counts, whole)
        assert judgement.satisfied
        assert judgement.reached == 0
    for levels in ((np.array([0]),), (np.array([0]), np.array([0]))):
        assert TCloseness(Fraction(0), Hierarchical(levels)).judge(counts, whole).satisfied
