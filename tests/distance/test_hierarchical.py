from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts, Equal, Hierarchical
from tclose.table.hierarchies import Hierarchy

UNEVEN = Hierarchy.from_rows([("a", "ab", "abc", "*"), ("b", "ab", "abc", "*"), ("c", "abc", "*"), ("d", "*")])
DISTANCE = Hierarchical(UNEVEN.levels)


def emd(row: list[int], whole: list[int]) -> Fraction:
    return DISTANCE.emd(Counts.from_dense([row]), np.array(whole))[0]


def test_a_short_path_is_padded_by_repeating_its_leaf() -> None:
    assert UNEVEN.leaves == ("a", "b", "c", "d")
    assert DISTANCE.height == 3
    thirds = [[DISTANCE.between(i, j) * 3 for j in range(4)] for i in range(4)]
    assert thirds == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 2, 0, 3], [3, 3, 3, 0]]


def test_earth_moves_within_the_lowest_subtree_first() -> None:
    moves = DISTANCE.plan(np.array([2, 0, 1, 1]), np.array([0, 1, 2, 1]))
    assert [(move.source, move.target, move.mass) for move in moves] == [
        (0, 1, Fraction(1, 4)),
        (0, 2, Fraction(1, 4)),
    ]
    assert sum(move.cost for move in moves) == emd([2, 0, 1, 1], [0, 1, 2, 1]) == Fraction(1, 12) + Fraction(2, 12)


def test_extras_of_direct_children_not_of_all_leaves_below() -> None:
    """The paper's words "all leaf nodes below" would charge the root for what its subtrees settle by themselves."""
    balanced = Hierarchical(tuple(map(np.array, ([0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]))))
    found = balanced.emd(Counts.from_dense([[1, 0, 1, 0]]), np.array([0, 1, 0, 1]))
    assert found[0] == Fraction(1, 2)


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_a_flat_tree_is_the_equal_distance(repeats: int) -> None:
    """However often a level repeats the leaves."""
    flat = Hierarchical((*[np.arange(3)] * repeats, np.zeros(3, dtype=np.int64)))
    rows, whole = Counts.from_dense([[1, 2, 0], [0, 0, 4]]), np.array([2, 2, 5])
    assert [flat.emd(rows, whole)[j] for j in (0, 1)] == [Equal().emd(rows, whole)[j] for j in (0, 1)]
    assert flat.between(0, 2) == 1


def test_a_single_leaf() -> None:
    for levels in ((np.array([0]),), (np.array([0]), np.array([0]))):
        only = Hierarchical(levels)
        assert only.emd(Counts.from_dense([[3]]), np.array([5]))[0] == 0
        assert only.plan(np.array([3]), np.array([5])) == []
        assert only.between(0, 0) == 0
