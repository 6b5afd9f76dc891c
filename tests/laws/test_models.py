"""What holds for every privacy model that counts rows: it judges as its definition says, and merging never hurts.

What holds where persons are counted stands in `test_persons.py`.

Which way merging takes the level that a table reaches:

    k, l, entropy_l                                  rises (never falls)
    t, alpha, beta, enhanced_beta, delta, recursive  falls (never rises)
    kl, average_t                                    falls (never rises)
    (n,t)                                            either way, since the supersets change with the classes
    t_by                                             either way, since a class may get a smaller t to obey
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Equal, Ordered
from tclose.policy import ByGroup
from tclose.privacy import (
    Alpha,
    AverageTCloseness,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    Judgement,
    KAnonymity,
    KLDivergence,
    Model,
    NTCloseness,
    RecursiveCL,
    TCloseness,
    TClosenessByGroup,
)

Row = list[int]
Level = int | float | Fraction
INFINITE = math.inf

# --- naive definitions: the level of one class, and whether it is admitted -------------------------------------------


def shares(row: Row) -> list[Fraction]:
    return [Fraction(count, sum(row)) for count in row]


def log(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()


def decimal(level: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return Decimal(level.numerator) / level.denominator


def gains(row: Row, whole: Row) -> list[tuple[Fraction, Fraction]]:
    """Return (p − q)/q and q of every value that gains."""
    return [((p - q) / q, q) for p, q in zip(shares(row), shares(whole), strict=True) if p > q]


def size(row: Row, whole: Row) -> Level:
    return sum(row)


def distinct(row: Row, whole: Row) -> Level:
    return sum(count > 0 for count in row)


def diversity(row: Row, whole: Row) -> Level:
    """The exponential of the entropy."""
    return math.exp(-sum(float(p) * math.log(p) for p in shares(row) if p))


def recursive_ratio(l: int) -> Callable[[Row, Row], Level]:  # noqa: E741 - the paper's letter
    def figure(row: Row, whole: Row) -> Level:
        falling = sorted(row, reverse=True)
        tail = sum(falling[l - 1 :])
        return Fraction(falling[0], tail) if tail else INFINITE

    return figure


def commonest(row: Row, whole: Row) -> Level:
    return max(shares(row))


def likeness(row: Row, whole: Row) -> Level:
    return max((gain for gain, _ in gains(row, whole)), default=Fraction(0))


def enhanced_likeness(row: Row, whole: Row) -> Level:
    if any(decimal(gain) > -log(q) for gain, q in gains(row, whole)):
        return INFINITE
    return likeness(row, whole)


def disclosure(row: Row, whole: Row) -> Level:
    pairs = [(p, q) for p, q in zip(shares(row), shares(whole), strict=True) if q]
    return INFINITE if any(p == 0 for p, _ in pairs) else float(max(abs(log(p / q)) for p, q in pairs))


def exact_divergence(row: Row, whole: Row) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        pairs = [(p, q) for p, q in zip(shares(row), shares(whole), strict=True) if p != q and p]
        return sum((decimal(p) * log(p / q) for p, q in pairs), Decimal(0))


def divergence(row: Row, whole: Row) -> Level:
    return float(exact_divergence(row, whole))


def divergence_admits(row: Row, whole: Row, required: Fraction) -> bool:
    return exact_divergence(row, whole) <= decimal(required)


def variational(row: Row, whole: Row) -> Level:
    return sum((abs(p - q) for p, q in zip(shares(row), shares(whole), strict=True)), Fraction(0)) / 2


def by_rank(row: Row, whole: Row) -> Level:
    p, q = shares(row), shares(whole)
    sums = [abs(sum(p[:i]) - sum(q[:i])) for i in range(1, len(p))]
    return Fraction(sum(sums)) / max(len(p) - 1, 1)


def entropy_admits(row: Row, whole: Row, required: Fraction) -> bool:
    """s^s ≥ l^s·Πc^c in integers."""
    s = sum(row)
    product = math.prod(count**count for count in row if count)
    return s**s * required.denominator**s >= required.numerator**s * product


def disclosure_admits(row: Row, whole: Row, required: Fraction) -> bool:
    pairs = [(p, q) for p, q in zip(shares(row), shares(whole), strict=True) if q]
    return all(p > 0 and abs(log(p / q)) < decimal(required) for p, q in pairs)


# --- the models ------------------------------------------------------------------------------------------------------

whole_levels = st.integers(1, 6)
fractions = st.fractions(0, 1, max_denominator=30)
positive = st.fractions(Fraction(1, 30), 4, max_denominator=30)


def strictly(figure: Callable[[Row, Row], Level]) -> Callable[..., bool]:
    return lambda row, whole, required: figure(row, whole) < required


def at_most(figure: Callable[[Row, Row], Level]) -> Callable[..., bool]:
    return lambda row, whole, required: figure(row, whole) <= required


def at_least(figure: Callable[[Row, Row], Level]) -> Callable[..., bool]:
    return lambda row, whole, required: figure(row, whole) >= required


# name: (make it, levels that may be required, the figure of a class, is it admitted, which way is worse)
MODELS = {
    "k": (KAnonymity, whole_levels, size, at_least(size), min),
    "l": (DistinctL, whole_levels, distinct, at_least(distinct), min),
    "entropy_l": (EntropyL, st.fractions(1, 5, max_denominator=8), diversity, entropy_admits, min),
    "recursive l=2": (
        lambda c: RecursiveCL(c, 2),
        positive,
        recursive_ratio(2),
        strictly(recursive_ratio(2)),
        max,
    ),
    "recursive l=3": (
        lambda c: RecursiveCL(c, 3),
        positive,
        recursive_ratio(3),
        strictly(recursive_ratio(3)),
        max,
    ),
    "alpha": (Alpha, fractions, commonest, at_most(commonest), max),
    "beta": (BetaLikeness, positive, likeness, at_most(likeness), max),
    "enhanced_beta": (EnhancedBetaLikeness, positive, enhanced_likeness, at_most(enhanced_likeness), max),
    "delta": (DeltaDisclosure, positive, disclosure, disclosure_admits, max),
    "kl": (KLDivergence, st.fractions(0, 2, max_denominator=30), divergence, divergence_admits, max),
    "t equal": (lambda t: TCloseness(t, Equal()), fractions, variational, at_most(variational), max),
    "t ordered": (None, fractions, by_rank, at_most(by_rank), max),
}
every_model = pytest.mark.parametrize("name", MODELS)
thorough = settings(max_examples=examples(25), deadline=None)


def made(name: str, required: Level, m: int) -> Model:
    make = MODELS[name][0]
    return TCloseness(required, Ordered(m)) if make is None else make(required)  # type: ignore[arg-type, operator]


@st.composite
def tables(draw: st.DrawFn, most: int = 5) -> list[Row]:
    m = draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 6), min_size=m, max_size=m).filter(any)
    return draw(st.lists(row, min_size=1, max_size=most))


def total(rows: list[Row]) -> Row:
    return np.sum(rows, axis=0).tolist()


def required_of(name: str, rows: list[Row], data: st.DataObject) -> Level:
    """Draw a level, more often than not one that stands exactly on the line of some class."""
    _, levels, figure, _, _ = MODELS[name]
    whole = total(rows)
    reached = [level for row in rows if isinstance(level := figure(row, whole), int | Fraction) and level > 0]
    return data.draw(st.one_of(levels, *([st.sampled_from(reached)] if reached else [])))


def judged(name: str, required: Level, rows: list[Row], whole: Row) -> Judgement:
    return made(name, required, len(whole)).judge(Counts.from_dense(rows), np.array(whole))


@every_model
@thorough
@given(data=st.data(), rows=tables())
def test_it_judges_as_its_definition_says(name: str, data: st.DataObject, rows: list[Row]) -> None:
    _, _, figure, admits, worse = MODELS[name]
    whole, required = total(rows), required_of(name, rows, data)
    judgement = judged(name, required, rows, whole)
    figures = [figure(row, whole) for row in rows]

    assert judgement.admitted.tolist() == [admits(row, whole, required) for row in rows]
    assert judgement.satisfied is all(judgement.admitted.tolist())
    if isinstance(judgement.reached, float):
        assert judgement.reached == pytest.approx(worse(figures), rel=1e-12)
        assert figures[judgement.worst_class] == pytest.approx(worse(figures), rel=1e-12)
    else:
        assert judgement.reached == worse(figures)
        assert judgement.worst_class == figures.index(worse(figures))


@every_model
@thorough
@given(data=st.data(), rows=tables())
def test_the_level_reached_and_the_verdict_agree(name: str, data: st.DataObject, rows: list[Row]) -> None:
    whole, required = total(rows), required_of(name, rows, data)
    judgement = judged(name, required, rows, whole)
    line = float(required) if isinstance(judgement.reached, float) else required
    holds = {
        "k": judgement.reached >= line,
        "l": judgement.reached >= line,
        "entropy_l": judgement.reached >= line,
        "recursive l=2": judgement.reached < line,
        "recursive l=3": judgement.reached < line,
        "delta": judgement.reached < line,
    }.get(name, judgement.reached <= line)
    assert judgement.satisfied is holds
    assert bool(judgement.admitted[judgement.worst_class]) is holds


@every_model
@thorough
@given(data=st.data(), rows=tables(), others=st.booleans())
def test_merging_never_worsens_it(name: str, data: st.DataObject, rows: list[Row], others: bool) -> None:
    *_, worse = MODELS[name]
    whole, required = total(rows), required_of(name, rows, data)
    first = rows[:-1] if others and len(rows) > 1 else rows
    apart, merged = judged(name, required, first, whole), judged(name, required, [total(first)], whole)
    assert merged.satisfied or not apart.satisfied
    slack = 1e-12 if isinstance(apart.reached, float) else 0
    assert merged.reached <= apart.reached + slack if worse is max else merged.reached >= apart.reached - slack


@pytest.mark.parametrize("name", [name for name in MODELS if name != "k"])
@thorough
@given(data=st.data(), rows=tables(), factor=st.integers(2, 10**6))
def test_scaling_all_counts_changes_no_verdict(name: str, data: st.DataObject, rows: list[Row], factor: int) -> None:
    whole, required = total(rows), required_of(name, rows, data)
    few = judged(name, required, rows, whole)
    many = judged(name, required, (np.array(rows) * factor).tolist(), (np.array(whole) * factor).tolist())
    assert many.admitted.tolist() == few.admitted.tolist()
    assert many.worst_class == few.worst_class or isinstance(few.reached, float)
    assert many.reached == pytest.approx(few.reached, rel=1e-12 if isinstance(few.reached, float) else 0, abs=0)


@every_model
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), rows=tables())
def test_the_order_of_classes_does_not_matter(name: str, data: st.DataObject, rows: list[Row]) -> None:
    whole, required = total(rows), required_of(name, rows, data)
    order = data.draw(st.permutations(range(len(rows))))
    straight, shuffled = judged(name, required, rows, whole), judged(name, required, [rows[j] for j in order], whole)
    assert shuffled.admitted.tolist() == straight.admitted[list(order)].tolist()
    assert shuffled.reached == pytest.approx(straight.reached, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "t ordered"])
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), rows=tables())
def test_what_values_are_called_does_not_matter(name: str, data: st.DataObject, rows: list[Row]) -> None:
    whole, required = total(rows), required_of(name, rows, data)
    order = list(data.draw(st.permutations(range(len(whole)))))
    straight = judged(name, required, rows, whole)
    renamed = judged(name, required, [[row[i] for i in order] for row in rows], [whole[i] for i in order])
    assert renamed.admitted.tolist() == straight.admitted.tolist()
    assert renamed.reached == pytest.approx(straight.reached, rel=1e-12, abs=0)


# --- (n,t)-closeness -------------------------------------------------------------------------------------------------


def nearest(n: int, rows: list[Row], j: int, groupings: list[list[int]]) -> Level:
    """The distance of class j from the nearest of its supersets that has n rows."""
    supersets = [total(rows), rows[j]]
    supersets += [total([rows[i] for i in range(len(rows)) if group[i] == group[j]]) for group in groupings]
    return min((by_rank(rows[j], superset) for superset in supersets if sum(superset) >= n), default=INFINITE)


@st.composite
def nested(draw: st.DrawFn) -> tuple[list[Row], list[list[int]]]:
    rows = draw(tables(most=6))
    grouping = st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    return rows, draw(st.lists(grouping, max_size=3))


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), drawn=nested(), n=st.integers(1, 60))
def test_nt_judges_as_its_definition_says(data: st.DataObject, drawn: tuple[list[Row], list[Row]], n: int) -> None:
    rows, groupings = drawn
    figures = [nearest(n, rows, j, groupings) for j in range(len(rows))]
    t = data.draw(st.one_of(fractions, st.sampled_from(figures).filter(lambda figure: figure <= 1)))
    model = NTCloseness(n, t, Ordered(len(rows[0])), [np.array(grouping) for grouping in groupings])
    judgement = model.judge(Counts.from_dense(rows), np.array(total(rows)))
    assert judgement.admitted.tolist() == [figure <= t for figure in figures]
    assert judgement.reached == max(figures)
    assert figures[judgement.worst_class] == max(figures)
    assert judgement.satisfied is (judgement.reached <= t)


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), drawn=nested())
def test_nt_with_n_of_the_whole_table_is_plain_t_closeness(
    data: st.DataObject, drawn: tuple[list[Row], list[Row]]
) -> None:
    rows, groupings = drawn
    whole, t = np.array(total(rows)), data.draw(fractions)
    supersets = [np.array(grouping) for grouping in groupings]
    counts, distance = Counts.from_dense(rows), Ordered(len(whole))
    plain = TCloseness(t, distance).judge(counts, whole)
    judgement = NTCloseness(int(whole.sum()), t, distance, supersets).judge(counts, whole)
    assert judgement.admitted.tolist() == plain.admitted.tolist()
    assert (judgement.reached, judgement.worst_class) == (plain.reached, plain.worst_class)


@settings(max_examples=examples(30), deadline=None)
@given(drawn=nested(), t=fractions)
def test_nt_with_more_rows_than_the_table_has_admits_none(drawn: tuple[list[Row], list[Row]], t: Fraction) -> None:
    rows, groupings = drawn
    whole = np.array(total(rows))
    model = NTCloseness(int(whole.sum()) + 1, t, Equal(), [np.array(grouping) for grouping in groupings])
    judgement = model.judge(Counts.from_dense(rows), whole)
    assert not judgement.admitted.any()
    assert judgement.reached == INFINITE


# --- average t-closeness ---------------------------------------------------------------------------------------------


def average(rows: list[Row]) -> Fraction:
    whole = total(rows)
    return sum((sum(row) * Fraction(by_rank(row, whole)) for row in rows), Fraction(0)) / sum(whole)


def judged_average(required: Fraction, rows: list[Row]) -> Judgement:
    whole = np.array(total(rows))
    return AverageTCloseness(required, Ordered(len(whole))).judge(Counts.from_dense(rows), whole)


@thorough
@given(data=st.data(), rows=tables())
def test_the_average_is_judged_as_its_definition_says(data: st.DataObject, rows: list[Row]) -> None:
    required = data.draw(st.one_of(fractions, st.just(average(rows))))
    judgement, figures = judged_average(required, rows), [by_rank(row, total(rows)) for row in rows]
    holds = average(rows) <= required
    assert judgement.reached == average(rows)
    assert judgement.satisfied is holds
    assert judgement.admitted.tolist() == [holds or figure <= required for figure in figures]
    assert judgement.worst_class == figures.index(max(figures))


@thorough
@given(rows=tables(), data=st.data())
def test_merging_never_raises_the_average(rows: list[Row], data: st.DataObject) -> None:
    many = data.draw(st.integers(1, len(rows)))
    assert average([total(rows[:many]), *rows[many:]]) <= average(rows)


@thorough
@given(rows=tables(), factor=st.integers(2, 10**15))
def test_the_average_of_very_many_rows_is_the_same(rows: list[Row], factor: int) -> None:
    assert judged_average(Fraction(0), (np.array(rows) * factor).tolist()).reached == average(rows)


@thorough
@given(rows=tables(), t=fractions)
def test_the_average_is_never_above_the_worst_class(rows: list[Row], t: Fraction) -> None:
    whole = np.array(total(rows))
    if TCloseness(t, Ordered(len(whole))).judge(Counts.from_dense(rows), whole).satisfied:
        assert judged_average(t, rows).satisfied


# --- thresholds for groups of persons --------------------------------------------------------------------------------

GROUPS = ["young", "old", "rest"]  # the last one is not named
by_group = st.fixed_dictionaries({"young": fractions, "old": fractions})


@st.composite
def grouped(draw: st.DrawFn) -> list[list[Row]]:
    """Classes; of each, how often every value occurs in each group of persons."""
    m = draw(st.integers(1, 4))
    cell = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    row = st.lists(cell, min_size=m, max_size=m).filter(lambda row: any(map(any, row)))
    return draw(st.lists(row, min_size=1, max_size=5))


def judged_by_group(asked: dict[str, Fraction], classes: list[list[Row]]) -> Judgement:
    """Judge as the model counts: groups in the order of their thresholds, groups of equal thresholds as one."""
    model = TClosenessByGroup(ByGroup("group", asked), Ordered(len(classes[0])))
    levels = sorted(set(asked.values()))
    place = [*(levels.index(asked[group]) for group in GROUPS[:2]), len(levels)]
    dense = np.zeros((len(classes), len(classes[0]), len(levels) + 1), dtype=np.int64)
    for c, row in enumerate(classes):
        for value, cell in enumerate(row):
            for group, count in enumerate(cell):
                dense[c, value, place[group]] += count
    flat = dense.reshape(len(classes), -1)
    return model.judge(Counts.from_dense(flat), flat.sum(axis=0))


@thorough
@given(asked=by_group, classes=grouped())
def test_a_class_obeys_the_smallest_t_of_its_members(asked: dict[str, Fraction], classes: list[list[Row]]) -> None:
    rows = [[sum(cell) for cell in row] for row in classes]
    figures = [Fraction(by_rank(row, total(rows))) for row in rows]
    limits = [
        min((asked[group] for g, group in enumerate(GROUPS[:2]) if any(cell[g] for cell in row)), default=None)
        for row in classes
    ]
    judgement = judged_by_group(asked, classes)
    expected = [limit is None or figure <= limit for figure, limit in zip(figures, limits, strict=True)]
    assert judgement.admitted.tolist() == expected
    beyond = [figure - limit for figure, limit in zip(figures, limits, strict=True) if limit is not None]
    if beyond:
        worst = judgement.worst_class
        limit = limits[worst]
        assert limit is not None
        assert judgement.reached == figures[worst]
        assert figures[worst] - limit == max(beyond)
    else:
        assert judgement.reached == 0


def test_merging_can_break_a_threshold_for_a_group() -> None:
    """A class of the group at distance 0 joins one that is far from the table and has nobody of the group."""
    near, far, rest = [[1, 0, 0], [1, 0, 0]], [[0, 0, 4], [0, 0, 0]], [[0, 0, 0], [0, 0, 4]]
    asked = {"young": Fraction(0), "old": Fraction(0)}
    assert judged_by_group(asked, [near, far, rest]).satisfied
    merged = np.add(near, far).tolist()
    assert judged_by_group(asked, [merged, rest]).admitted.tolist() == [False, True]
