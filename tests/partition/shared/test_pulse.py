"""Long work reports often enough to be stopped, wherever it is."""

from __future__ import annotations

from threading import Event

import pytest

from tclose.errors import Cancelled
from tclose.partition.shared.pulse import Pulse, waited_for


def test_a_beat_repeats_the_last_share() -> None:
    told: list[tuple[float, str]] = []
    pulse = Pulse(lambda share, phase="": told.append((share, phase)))
    pulse.beat()
    pulse(0.25, "splitting")
    pulse.beat()
    assert told == [(0.0, ""), (0.25, "splitting"), (0.25, "")]


def test_work_that_cannot_call_back_is_waited_for() -> None:
    assert waited_for(lambda: 42, Pulse()) == 42


def test_its_errors_are_raised_where_they_are_expected() -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        waited_for(fails, Pulse())


def test_waiting_ends_as_soon_as_a_beat_raises() -> None:
    never = Event()

    def cancel(share: float, phase: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        waited_for(never.wait, Pulse(cancel))
    never.set()
