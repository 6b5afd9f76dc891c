"""Raising `Cancelled` from progress ends weave at any moment: no thread lives on, and kernels stop at the next step."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Equal, Ordered
from tclose.errors import Cancelled
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared import workers
from tclose.partition.shared.axes import NumberAxis
from tclose.partition.weave import partition
from tclose.partition.weave.bisection import Bisection, orders_of, ranks_of
from tclose.partition.weave.carving import LOOKED_AT, carve, carving_room, recarve, recarving_room
from tclose.partition.weave.exchange import Neighbours, anneal, mend, no_nearest_rows, schedule, step_room
from tclose.partition.weave.groups import Recutting
from tclose.partition.weave.state import seeded, state_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.transport import smallest_class_size
from tclose.types import silent


def large_problem(rows: int = 20_000) -> Problem:
    random = np.random.default_rng(1)
    codes = random.integers(0, 30, rows)
    guarded = Attribute(codes, np.bincount(codes, minlength=30).astype(np.int64), Ordered(30), Fraction(1, 10))
    return Problem(random.random((rows, 2)), (guarded,), 2)


class CancelAt:
    """Cancels at its n-th call, and remembers the phase."""

    def __init__(self, call: int) -> None:
        self.calls, self.last, self.phase = 0, call, ""

    def __call__(self, share: float, phase: str = "") -> None:
        self.calls += 1
        self.phase = phase or self.phase
        if self.calls == self.last:
            raise Cancelled("stopped")


@pytest.mark.parametrize("call", [1, 2, 7, 40, 400])
def test_progress_that_raises_ends_the_work(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "HEARTBEAT_SECONDS", 0.001)
    before, progress = threading.active_count(), CancelAt(call)
    with pytest.raises(Cancelled):
        partition(large_problem(), effort="best", progress=progress)
    assert progress.calls == call
    assert threading.active_count() == before


def test_every_phase_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "HEARTBEAT_SECONDS", 0.001)
    for wanted in ("forming cells", "carving classes", "exchanging rows"):

        def progress(share: float, phase: str = "", wanted: str = wanted) -> None:
            if phase == wanted:
                raise Cancelled("stopped")

        with pytest.raises(Cancelled):
            partition(large_problem(3000), effort="fast", progress=progress)


def test_a_raised_flag_stops_the_kernels_at_the_next_step() -> None:
    table = WeaveTable.of(large_problem(400), silent)
    labels = table.form_classes(0.7, silent)
    table.stop[0] = 1
    orders = orders_of(table.losses)
    state = state_of(table.losses, table.limits, labels, 8)
    before = state.label.copy()
    ranks = ranks_of(orders)
    common = (table.losses, table.limits, state, orders, ranks, table.k)
    room = recarving_room(table.losses, table.limits, 4, len(state.size))
    assert recarve(*common, 8, 10**12, room, seeded(1), table.stop) == 0
    plan, spare = schedule((0.3, 0.003), (3.0, 1000.0), 8), step_room(table.limits, state)
    near = (*common[:3], Neighbours(orders, ranks, no_nearest_rows(len(labels))), table.k)
    assert anneal(*near, 10**12, plan, spare, seeded(1), table.stop) == 0
    assert mend(*near, 10**12, plan, spare, seeded(1), table.stop) == 0
    assert (state.label == before).all()
    carved = np.zeros(len(table), dtype=np.int32)
    space = carving_room(table.losses, table.limits, len(table))
    rows = (np.arange(len(table)), len(table), table.k)
    carve(table.losses, table.limits, *rows, table.usual_size, LOOKED_AT, 1.0, space, carved, table.stop)
    assert (carved == 0).all()
    assert len(Bisection(table.losses, table.limits, 2, 1.0, table.stop).cells(orders, 10, silent)) == 1
    recutting = Recutting.of(table.losses, table.limits, orders, 2, 10, 1.0, table.stop)
    assert (recutting.recut(labels, [np.arange(len(table))], silent) == labels).all()


def test_a_raised_flag_stops_the_search_for_the_smallest_size() -> None:
    codes = np.zeros(7, dtype=np.int64)
    codes[0] = 1
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(0))
    table = WeaveTable.of(Problem(np.zeros((7, 1)), (guarded,), axes=(NumberAxis.of_points(np.zeros(7)),)), silent)
    assert table.k == 4  # no size below half of the rows will do
    table.stop[0] = 1
    assert smallest_class_size(table.limits, 1, 10**12, table.stop) == 1
