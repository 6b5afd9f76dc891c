"""The Hilbert curve: it visits every cell of a grid once and only ever steps to a neighbouring cell."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.partition.shared.redistribution import hilbert_ranks


@pytest.mark.parametrize(("side", "axes"), [(8, 1), (2, 2), (16, 2), (8, 3), (4, 4), (2, 7)])
def test_neighbours_on_the_curve_are_neighbours_in_space(side: int, axes: int) -> None:
    grid = np.indices((side,) * axes).reshape(axes, -1).T
    ranks = hilbert_ranks(grid / (side - 1))
    assert sorted(ranks) == list(range(side**axes))
    steps = np.abs(np.diff(grid[np.argsort(ranks)], axis=0)).sum(axis=1)
    assert (steps == 1).all()


def test_many_axes_do_not_overflow() -> None:
    corners = np.eye(100)
    ranks = hilbert_ranks(np.concatenate((corners, corners)))
    assert sorted(ranks[:100]) == list(range(100))
    assert (ranks[:100] == ranks[100:]).all()


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((3, 0)), np.full((3, 2), 0.5)])
def test_where_nothing_varies_all_rows_share_a_place(points: np.ndarray) -> None:
    assert not hilbert_ranks(points).any()
