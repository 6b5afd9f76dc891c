"""Policies under which the smallest class can show one composition only."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.privacy.allowance import rigid_attributes
from tclose.table import encode_quietly


def table_of(values: list[Any], **spec: Any) -> tuple[Any, tclose.Policy]:
    policy = tclose.Policy.from_dict({"quasi": ["row"], "sensitive": {"ill": spec}, "k": 1})
    return encode_quietly(pl.DataFrame({"row": range(len(values)), "ill": values}), policy), policy


def found(values: list[Any], k: int, **spec: Any) -> tuple[int, int | None] | None:
    table, _ = table_of(values, **spec)
    policy = tclose.Policy.from_dict({"quasi": ["row"], "sensitive": {"ill": spec}, "k": k})
    answer = rigid_attributes(table, policy)
    return (answer[0].rows, answer[0].opening_k) if answer else None


def admitted(values: list[Any], chosen: tuple[Any, ...], spec: dict[str, Any]) -> bool:
    """Judge a class with these values in a table with all values, by the public check."""
    rest = list((Counter(values) - Counter(chosen)).elements())
    frame = pl.DataFrame({"row": [1] * len(chosen) + [2] * len(rest), "ill": [*chosen, *rest]})
    policy = {"quasi": ["row"], "sensitive": {"ill": spec}, "k": 1}
    finding = tclose.check(frame, policy)
    explained = tclose.explain(frame, policy, attribute="ill", class_number=1)
    return finding.satisfied or explained.closeness <= tclose.Policy.of(policy).sensitive["ill"].t  # type: ignore[operator]


def test_one_yes_in_every_class_of_three() -> None:
    values = ["yes"] * 30 + ["no"] * 70
    assert found(values, 3, t=0.2) == (3, 4)
    assert found(values, 2, t=0.2) == (2, 4)
    assert found(values, 1, t=0.1) == (3, 5)  # no class of one or two rows is admitted
    assert found(values, 4, t=0.2) is None
    assert found(values, 3, t=0.05) == (3, 12)


def test_other_models_count_as_well() -> None:
    values = ["a", "b", "c"] * 10
    assert found(values, 3, l=3) == (3, 4)
    assert found(values, 4, l=3) is None
    assert found(values, 2, alpha=0.5) is None
    assert found(values, 3, t=0.1) == (3, 7)


def test_what_is_not_looked_at() -> None:
    assert found(["a"] * 20, 3, t=0.2) is None
    assert found(list(range(100)), 30, t=0.5) is None  # too many ways to try
    assert found(["yes"] * 30 + ["no"] * 70, 3, t=0.2, n=50) is None
    assert found(["yes"] * 30 + ["no"] * 70, 3, t=0.2, average_t=0.01) == (3, 4)  # a single class may be farther
    assert found(["yes"] * 30 + ["no"] * 70, 3, t=0.2, t_by={"column": "ill", "t": {"yes": 0.01}}) == (3, 4)


@settings(max_examples=4, deadline=None)
@given(
    values=st.lists(st.sampled_from("abc"), min_size=6, max_size=9).filter(lambda values: len(set(values)) > 1),
    k=st.integers(1, 4),
    t=st.sampled_from([0.1, 0.2, 0.34]),
)
def test_every_way_is_tried(values: list[str], k: int, t: float) -> None:
    ways = {}
    for size in range(k, len(values)):
        chosen = (way for way in combinations_with_replacement(sorted(set(values)), size))
        chosen = (way for way in chosen if not Counter(way) - Counter(values))
        ways[size] = sum(admitted(values, way, {"t": t}) for way in chosen)
    smallest = next((size for size in ways if ways[size]), None)
    answer = found(values, k, t=t)
    if smallest is None or ways[smallest] > 1:
        assert answer is None or answer[0] >= len(values)
    else:
        opening = next((size for size in ways if size > smallest and ways[size] > 1), None)
        assert answer == (smallest, opening)


def test_check_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"row": range(100), "ill": ["yes"] * 30 + ["no"] * 70})
    asked = {"quasi": ["row"], "sensitive": {"ill": {"t": 0.2}}, "k": 3}
    result = tclose.check(frame, asked)
    assert result.notes == tuple(result.to_dict()["notes"])
    assert "only one composition of 'ill' in the smallest possible class (3 rows)" in result.notes[0]
    assert result.notes[0].endswith("k = 4 admits more than one")
    assert "notes" not in tclose.check(frame, {**asked, "k": 4}).to_dict()
