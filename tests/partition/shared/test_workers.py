"""Work in threads: results in order, progress at every heartbeat, and an end of all threads when somebody cancels."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tclose.errors import Cancelled
from tclose.partition.shared import workers
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.workers import Flag, in_parallel, lowered_flag, raised
from tclose.types import silent


@kernel
def steps_until_raised(stop: Flag, steps: np.ndarray) -> None:
    """Count steps for ever, but for the flag."""
    while not raised(stop):
        steps[0] += 1


@kernel
def wait_for_flag(stop: Flag) -> None:
    """Wait in a loop that writes nothing, where a compiler may take the flag for a constant."""
    while not raised(stop):
        pass


def test_results_come_in_order() -> None:
    assert list(in_parallel(lambda n: n * n, range(20), silent, lowered_flag())) == [n * n for n in range(20)]


def test_no_items_give_no_results() -> None:
    assert list(in_parallel(lambda n: n, [], silent, lowered_flag())) == []


def test_a_kernel_that_never_ends_ends_when_progress_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "HEARTBEAT_SECONDS", 0.001)
    stop, before, calls = lowered_flag(), threading.active_count(), []

    def progress(share: float, phase: str = "") -> None:
        calls.append(share)
        if len(calls) == 3:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        list(in_parallel(lambda _: steps_until_raised(stop, np.zeros(1)), range(9), progress, stop))
    assert calls == [0.0, 0.0, 0.0]
    assert threading.active_count() == before


def test_a_raised_flag_is_seen_by_a_loop_that_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "HEARTBEAT_SECONDS", 0.001)
    stop = lowered_flag()

    def progress(share: float, phase: str = "") -> None:
        stop[0] = 1

    list(in_parallel(lambda _: wait_for_flag(stop), range(2), progress, stop))


def test_an_error_in_one_item_ends_the_others() -> None:
    stop, before = lowered_flag(), threading.active_count()

    def work(item: int) -> None:
        if item == 0:
            raise ValueError("broken")
        steps_until_raised(stop, np.zeros(1))

    with pytest.raises(ValueError, match="broken"):
        list(in_parallel(work, range(3), silent, stop))
    assert threading.active_count() == before


def test_a_caller_that_gives_up_ends_the_threads() -> None:
    stop, before = lowered_flag(), threading.active_count()
    results = in_parallel(lambda n: steps_until_raised(stop, np.zeros(1)) if n else n, range(3), silent, stop)
    assert next(results) == 0
    results.close()
    assert stop[0] == 1
    assert threading.active_count() == before
