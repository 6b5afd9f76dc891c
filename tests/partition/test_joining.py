"""Blocks that hold together, and groups from which rows are left out until they are admitted."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy
from tclose.partition.new_rows import GroupJudge, accepted, balanced, trimmed
from tclose.table import encode
from tclose.table.classes import Classes
from tclose.types import still


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 40), st.integers(0, 60))
def test_what_is_accepted_holds_together(blocks: list[int], limit: int, tries: int) -> None:
    asked: list[int] = []

    def holds(part: list[int]) -> bool:
        asked.append(sum(part))
        return sum(part) <= limit

    kept = accepted(blocks, holds, tries)
    assert sum(kept) <= limit
    assert len(asked) <= tries
    if sum(blocks) <= limit and tries:
        assert sorted(kept) == sorted(blocks)


@given(st.lists(st.integers(0, 4), min_size=6, max_size=40), st.integers(2, 4), st.sampled_from([0.1, 0.3, 0.5]))
def test_a_trimmed_group_is_admitted(values: list[int], k: int, t: float) -> None:
    policy = Policy.from_dict({"quasi": ["x"], "sensitive": {"pay": {"t": t, "distance": "equal"}}, "k": k})
    table = encode(pl.DataFrame({"x": ["a"] * len(values), "pay": values}), policy)
    judge, rows = GroupJudge(table, policy), np.arange(len(values) // 2)
    group = trimmed(rows, judge, k, still)
    if group is not None:
        assert set(group) <= set(rows)
        assert judge.admitted([group])[0]
    elif len(rows) >= k:
        assert not judge.admitted([rows])[0]


def test_rows_are_left_out_that_move_the_table_away_from_a_class() -> None:
    policy = Policy.from_dict({"quasi": ["x"], "sensitive": {"pay": {"t": 0.1, "distance": "equal"}}})
    old, new = [0, 1] * 20, [0] * 20 + [1] * 4  # classes of 0 and 1 in equal shares hold beside equal shares only
    table = encode(pl.DataFrame({"x": ["a"] * 64, "pay": old + new}), policy)
    published = Classes(np.arange(40), np.array([20, 20]))
    rows = balanced(table, policy, published, np.arange(40, 64), still)
    kept = np.bincount(table.sensitive["pay"].codes[rows], minlength=2)
    shares = (kept + 20) / (kept.sum() + 40)
    assert abs(shares[0] - 0.5) <= 0.1
    assert kept[1] == 4
