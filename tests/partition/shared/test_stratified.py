"""Cells take the same rows of every stratum, and the work can be stopped between any two calls of progress."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.errors import Cancelled
from tclose.partition.fragmentation import classes
from tclose.partition.shared.buckets import bisect

LAYERS = np.array([2, 1, 3])
CELLS = 40


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, the stratum of each row, and the rows by stratum and by each coordinate."""
    random = np.random.default_rng(3)
    stratum = random.permutation(np.repeat(np.arange(3), LAYERS * CELLS))
    points = random.random((len(stratum), 2))
    return points, stratum, np.array([np.lexsort((axis, stratum)) for axis in points.T])


def test_every_cell_takes_its_rows_of_every_stratum() -> None:
    points, stratum, orders = table()
    members = bisect(points, orders, LAYERS, CELLS, np.array([0.5]))
    assert sorted(members.ravel().tolist()) == list(range(len(points)))
    assert (stratum[members] == np.repeat(np.arange(3), LAYERS)).all()


def test_many_short_calls_give_the_same_cells_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    points, _, orders = table()
    fragment_of, random = np.repeat(np.arange(3), LAYERS), np.arange(97) % CELLS
    results = []
    for looks in (classes.LOOKS_PER_CALL, 1):
        monkeypatch.setattr(classes, "LOOKS_PER_CALL", looks)
        members = bisect(points, orders.copy(), LAYERS, CELLS, np.array([0.25, 0.5]))
        ranges = classes.exchange(points, members, fragment_of, 8, 0.001, random)
        results.append((members.tolist(), ranges))
    assert results[0] == results[1]


@pytest.mark.parametrize("call", [1, 2, 30])
def test_progress_that_raises_stops_the_exchanges(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "LOOKS_PER_CALL", 1)
    points, _, orders = table()
    members, calls = bisect(points, orders, LAYERS, CELLS, np.array([0.5])), []

    def progress(share: float, phase: str = "") -> None:
        calls.append(share)
        if len(calls) == call:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        classes.exchange(points, members, np.repeat(np.arange(3), LAYERS), 8, 0.001, np.arange(97) % CELLS, progress)
    assert len(calls) == call


def test_progress_that_raises_stops_the_bisection() -> None:
    points, _, orders = table()

    def progress(share: float, phase: str = "") -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        bisect(points, orders, LAYERS, CELLS, np.array([0.5]), progress)
