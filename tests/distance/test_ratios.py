from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Ratios
from tclose.distance.counts import BracketedRatios, combine, largest_of, widened

sizes_of = st.sampled_from([10, 10**6, 10**12, 10**18])


@st.composite
def ratios(draw: st.DrawFn) -> Ratios:
    """Fractions of any magnitude, many of them equal or next to each other."""
    top, bottom = draw(sizes_of), draw(sizes_of)
    base = draw(st.lists(st.tuples(st.integers(0, top), st.integers(1, bottom)), min_size=1, max_size=4))
    pairs = base + [(a + step, b) for a, b in base for step in (0, 1)]
    numerators, sizes = np.array(pairs).T
    if draw(st.booleans()):
        numerators = numerators.astype(object) * 10**9
    return Ratios(numerators, sizes, draw(st.integers(1, 10**18)))


@settings(max_examples=examples(200), deadline=None)
@given(found=ratios(), data=st.data())
def test_comparing_with_a_level_is_exact(found: Ratios, data: st.DataObject) -> None:
    exact = [found[j] for j in range(len(found))]
    near = data.draw(st.sampled_from(exact)) + data.draw(st.sampled_from([0, 1, -1])) * Fraction(1, 10**70)
    level = max(data.draw(st.one_of(st.just(near), st.fractions(0, 1))), Fraction(0))
    assert found.at_most(level).tolist() == [fraction <= level for fraction in exact]
    assert found.at_most(level).dtype == bool


@settings(max_examples=examples(200), deadline=None)
@given(found=ratios())
def test_the_largest_is_the_first_of_the_largest(found: Ratios) -> None:
    exact = [found[j] for j in range(len(found))]
    assert found.largest() == (max(exact), exact.index(max(exact)))


@settings(max_examples=examples(100), deadline=None)
@given(found=ratios())
def test_floats_are_near(found: Ratios) -> None:
    assert found.floats().tolist() == pytest.approx([float(found[j]) for j in range(len(found))], rel=1e-15, abs=0)


BRACKETS = st.lists(st.tuples(*[st.integers(0, 4)] * 3, st.integers(1, 3)), min_size=1)


@settings(max_examples=examples(200), deadline=None)
@given(given=BRACKETS, unit=st.integers(1, 3), level=st.fractions(0, 4, max_denominator=3))
def test_brackets_decide_as_the_fractions_do(
    given: list[tuple[int, int, int, int]], unit: int, level: Fraction
) -> None:
    """The true numerators are drawn, with how far below and above each its bracket begins and ends."""
    true, below, above, sizes = (np.array(each, dtype=object) for each in zip(*given, strict=True))

    def brackets() -> BracketedRatios:
        low = np.maximum(true - below, 0)
        return BracketedRatios(low, sizes, unit, true + above, lambda j: int(true[j]))

    exact = [Fraction(number, size * unit) for number, size in zip(true.tolist(), sizes.tolist(), strict=True)]
    assert brackets().at_most(level).tolist() == [fraction <= level for fraction in exact]
    assert brackets().largest() == (max(exact), exact.index(max(exact)))


big = st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=5)


@settings(max_examples=examples(100), deadline=None)
@given(total=st.integers(1, 10**10), values=big, data=st.data())
def test_combining_never_overflows(total: int, values: list[int], data: st.DataObject) -> None:
    n = len(values)
    sizes = data.draw(st.lists(st.integers(1, 10**10), min_size=n, max_size=n))
    others = data.draw(st.lists(st.integers(-(10**17), 10**17), min_size=n, max_size=n))
    found = combine(total, np.array(values), np.array(sizes), np.array(others))
    assert found.tolist() == [total * v + s * o for v, s, o in zip(values, sizes, others, strict=True)]


def test_integers_are_widened_only_where_they_must_be() -> None:
    array = np.array([3, -5])
    assert largest_of(array) == 5
    assert largest_of(array[:0]) == 0
    assert widened(array, 2**62 - 1) is array
    assert (widened(array, 2**62) * 2**64).tolist() == [3 * 2**64, -5 * 2**64]
