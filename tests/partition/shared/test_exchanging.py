"""Exchanging rows: sizes stay, what is wrong never grows, and nothing is left wrong exactly where all is admitted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance import Equal, Ordered
from tclose.partition import Attribute, Problem
from tclose.partition.anatomy import Exchange, strains
from tclose.privacy.ldiversity import DistinctL


def problem(rows: list[tuple[int, int]], t: str) -> Problem:
    first, second = (np.unique(column, return_inverse=True)[1] for column in np.array(rows).T)
    numbers = Attribute(first, np.bincount(first), Ordered(int(first.max()) + 1), Fraction(t))
    names = Attribute(second, np.bincount(second), Equal(), Fraction(t), None, (DistinctL(2),))
    return Problem(np.zeros((len(rows), 1)), (numbers, names))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=2, max_size=40),
    st.sampled_from(["0", "0.1", "1/3", "0.7"]),
    st.integers(1, 12),
    st.integers(0, 3),
)
@settings(deadline=None)
def test_exchanges(rows: list[tuple[int, int]], t: str, groups: int, seed: int) -> None:
    asked, before = problem(rows, t), np.arange(len(rows)) % min(groups, len(rows))
    exchange = Exchange(asked, before, np.random.default_rng(seed))
    wrong = exchange.strain.sum()
    assert np.array_equal(exchange.labels, before)
    exchange.run()
    after = exchange.labels
    assert np.array_equal(np.bincount(after), np.bincount(before))
    assert exchange.strain.sum() <= wrong
    order = np.argsort(after, kind="stable")
    assert np.array_equal(exchange.strain, strains(asked, order, after[order]))
    assert np.array_equal(exchange.strain == 0, asked.admitted(after))


def test_an_exchange_that_mends() -> None:
    """Two groups, all low and all high: exchanges make both even."""
    asked = problem([(i // 8, i % 2) for i in range(16)], "0")
    exchange = Exchange(asked, np.arange(16) // 8, np.random.default_rng(0))
    assert exchange.strain.sum() > 0
    exchange.run()
    assert exchange.strain.sum() == 0
