"""Very large tables: what 64 bits hold of a limit never allows more than t, and hardly less."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.partition.weave.limits import SAFE, ScaledTree, scaled_tree
from tclose.partition.weave.trees import DISTANCE, LimitTree

MOST_ROWS, MOST_VALUES = 10**9, 2000
KEPT = Fraction(9999, 10_000)  # of t


def line(counts: list[int], t: Fraction, gaps: list[int] | None = None) -> LimitTree:
    """Return a line of values, one apart unless gaps are given."""
    weights = gaps or [1] * (len(counts) - 1)
    below = np.cumsum(counts)[:-1].tolist()
    nothing = np.zeros((len(counts), 0), dtype=np.int32)
    return LimitTree(
        DISTANCE, np.zeros(0, np.int64), len(weights), nothing, below, weights, sum(weights), sum(counts), t
    )


def star(counts: list[int], t: Fraction) -> LimitTree:
    """Return the equal distance."""
    above = np.arange(len(counts), dtype=np.int32).reshape(-1, 1)
    return LimitTree(DISTANCE, np.zeros(0, np.int64), 0, above, counts, [1] * len(counts), 2, sum(counts), t)


def beyond(tree: LimitTree, counts: list[int]) -> list[int]:
    return np.cumsum(counts)[:-1].tolist() if tree.path else counts


def distance(tree: LimitTree, counts: list[int]) -> Fraction:
    size, crossing = sum(counts), zip(tree.weight, beyond(tree, counts), tree.reference, strict=True)
    work = sum(w * abs(tree.total * c - size * r) for w, c, r in crossing)
    return Fraction(work, tree.unit * size * tree.total)


def is_within(tree: LimitTree, scaled: ScaledTree, counts: list[int]) -> bool:
    """Judge a class as kernels do; no sum may pass 63 bits."""
    size, crossing = sum(counts), zip(scaled.weights, beyond(tree, counts), scaled.reference, strict=True)
    work = sum(w * abs(scaled.total * c - size * r) for w, c, r in crossing)
    assert work + scaled.total * max(scaled.weights) < 2**63
    assert scaled.level.numerator * size < 2**63
    return work <= scaled.level.numerator * size // scaled.level.denominator


@st.composite
def tables(draw: st.DrawFn) -> tuple[LimitTree, np.random.Generator]:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values, rows = draw(st.integers(2, MOST_VALUES)), draw(st.integers(10**4, MOST_ROWS))
    shares = random.dirichlet(np.full(values, draw(st.sampled_from([0.1, 1.0, 10.0]))))
    t = draw(st.fractions(Fraction(1, 200), Fraction(1, 2), max_denominator=1000))
    make = draw(st.sampled_from([line, star]))
    return make((random.multinomial(rows, shares) + 1).tolist(), t), random


@given(tables())
def test_a_large_table_is_judged_by_t_or_a_ten_thousandth_less(table: tuple[LimitTree, np.random.Generator]) -> None:
    tree, random = table
    scaled = scaled_tree(tree, tree.total)
    counts = np.diff([0, *tree.reference, tree.total]) if tree.path else np.array(tree.reference)
    for size in (3, 1000, tree.total // 3):
        other = random.multinomial(size, random.dirichlet(np.full(len(counts), 0.5)))
        alike = random.multinomial(size, counts / counts.sum())
        for part in np.linspace(0, 1, 12):
            mixed = np.round(part * other + (1 - part) * alike).astype(np.int64)
            if not mixed.sum():
                continue
            apart, within = distance(tree, mixed.tolist()), is_within(tree, scaled, mixed.tolist())
            assert not within or apart <= tree.t
            assert within or apart > KEPT * tree.t


@pytest.mark.parametrize("rows", [10**7, 10**8, 2 * 10**8, 10**9])
@pytest.mark.parametrize("values", [50, 200, 2000])
@pytest.mark.parametrize("make", [line, star])
def test_t_is_hardly_smaller_on_a_billion_rows(rows: int, values: int, make: type) -> None:
    counts = np.random.default_rng(values).multinomial(rows, np.full(values, 1 / values)).tolist()
    tree = make(counts, Fraction(88, 1000))
    scaled = scaled_tree(tree, rows)
    assert scaled.weights == tree.weight
    assert KEPT * tree.t <= scaled.level / (tree.unit * scaled.total) <= tree.t


def test_uneven_gaps_cost_little() -> None:
    random = np.random.default_rng(1)
    counts, gaps = random.integers(1, 10**6, size=2000).tolist(), random.integers(1, 10**12, size=1999).tolist()
    tree = line(counts, Fraction(1, 10), gaps)
    scaled = scaled_tree(tree, tree.total)
    alike = random.multinomial(10**6, np.array(counts) / sum(counts)).tolist()
    assert is_within(tree, scaled, alike)
    assert sum(scaled.weights) * scaled.total * (tree.total + scaled.total) < 2 * SAFE
    effective = scaled.level / (sum(scaled.weights) * scaled.total)
    assert Fraction(99, 100) * tree.t < effective <= tree.t


def test_nothing_is_scaled_where_64_bits_hold_everything() -> None:
    tree = line([5, 10**5, 3], Fraction(1, 3), [7, 10**6])
    scaled = scaled_tree(tree, tree.total)
    assert (scaled.total, scaled.reference, scaled.weights) == (tree.total, tree.reference, tree.weight)
    assert scaled.level == tree.t * tree.unit * tree.total


def test_wide_weights_of_a_small_table_are_divided_and_nothing_else() -> None:
    tree = line([3, 4, 5], Fraction(1, 3), [2**60, 2**61 + 1])
    scaled = scaled_tree(tree, tree.total)
    assert (scaled.total, scaled.reference) == (tree.total, tree.reference)
    assert max(scaled.weights) < 2**61


def test_t_of_zero_stays_exact() -> None:
    counts = [10**8] * 10
    tree = line(counts, Fraction(0))
    scaled = scaled_tree(tree, sum(counts))
    assert scaled.total == tree.total
    assert is_within(tree, scaled, [3] * 10)
    assert not is_within(tree, scaled, [3] * 9 + [4])
