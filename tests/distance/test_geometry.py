from __future__ import annotations

import numpy as np

from tclose.distance import Equal, Line, Matrix, Tree, Value


def test_the_leaves_of_a_star_all_hang_from_the_root() -> None:
    star = Tree.star(3)
    assert star.is_star
    assert [level.tolist() for level in star.levels] == [[0, 1, 2], [0, 0, 0]]
    assert [level.tolist() for level in star.below_root] == [[0, 1, 2]]
    assert Equal().geometry(3).is_star


def test_a_taller_tree_is_no_star() -> None:
    assert not Tree((np.arange(2), np.arange(2), np.zeros(2, dtype=np.int64))).is_star


def test_equally_spaced_positions_are_ranks() -> None:
    assert Line(np.arange(4)).by_rank
    assert not Line(np.array([0, 2, 4])).by_rank  # the reader of a table divides by the common factor
    assert not Line(np.array([0, 1, 3])).by_rank


def test_lengths_are_never_zero() -> None:
    assert Value(np.array([0])).geometry(1).length == 1
    assert Matrix(np.zeros((1, 1), dtype=np.int64)).geometry(1).farthest == 1
