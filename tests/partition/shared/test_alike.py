"""Classes look alike exactly where their published text is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.partition.shared.merge import equality_classes, merged_alike
from tclose.partition.split import problem_of
from tclose.policy import Policy
from tclose.recode.frame import recoded
from tclose.table import CodedTable, encode
from tclose.table.classes import Classes, classes_of
from tclose.types import Ints

AREAS = [["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"], ["b2", "b", "*"]]
PUBLISHED: list[dict[str, Any]] = [
    {"x": {}},
    {"x": {}, "sex": {}},
    {"sex": {}, "area": {"hierarchy": {"rows": AREAS}}},
    {"x": {"step": 4}, "area": {}},
    {"x": {"top": 7, "bottom": 2}},
    {"x": {"step": 4, "top": 8}},
    {"x": {"step": 4, "top": 8, "bottom": 4}},
]


def coded(quasi: dict[str, Any], seed: int, loss: str = "gcp") -> tuple[CodedTable, Policy]:
    random = np.random.default_rng(seed)
    cells: dict[str, list[Any]] = {
        "x": [None if value == 10 else value for value in random.integers(0, 11, 40).tolist()],
        "sex": random.choice(["f", "m", ""], 40).tolist(),
        "area": random.choice(["a1", "a2", "b1", "b2", ""], 40).tolist(),
    }
    policy = Policy.of({"quasi": quasi, "k": 2, "others": "drop", "loss": loss})
    return encode(pl.DataFrame(cells), policy, ignore_others=True), policy


def texts(table: CodedTable, policy: Policy, labels: Ints | None = None) -> Ints:
    """Return the classes that a reader sees."""
    classes = None if labels is None else Classes.from_labels(labels)
    return classes_of(recoded(table, policy, classes)[list(policy.quasi)]).labels_by_row()


def same(first: Ints, second: Ints) -> bool:
    pairs = len(set(zip(first.tolist(), second.tolist(), strict=True)))
    return pairs == len(np.unique(first)) == len(np.unique(second))


@pytest.mark.parametrize("quasi", PUBLISHED, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_rows_that_publish_the_same_text_by_themselves(quasi: dict[str, Any], seed: int) -> None:
    table, policy = coded(quasi, seed)
    assert same(equality_classes(problem_of(table, policy).all_axes, 40), texts(table, policy))


@pytest.mark.parametrize("loss", ["gcp", "sse", "discernibility", "queries"])
@pytest.mark.parametrize("quasi", PUBLISHED, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_classes_that_publish_the_same_text(quasi: dict[str, Any], seed: int, loss: str) -> None:
    table, policy = coded(quasi, seed, loss)
    labels = np.random.default_rng(seed).permutation(np.arange(40) // 3)
    merged = merged_alike(problem_of(table, policy).all_axes, labels)
    seen = texts(table, policy, labels)
    assert same(texts(table, policy, merged), seen)  # merging changes no text
    assert same(merged, seen)


def test_classes_of_means_merge_only_where_their_rows_are_equal() -> None:
    table, policy = coded({"x": {"publish": "mean"}}, 1)
    axes = problem_of(table, policy).all_axes
    codes = axes[0].codes
    whole = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    assert same(merged_alike(axes, np.arange(40)), whole)
    pairs = np.argsort(np.argsort(codes, kind="stable"), kind="stable") // 2
    assert merged_alike(axes, pairs).max() <= pairs.max()
