"""While kernels are compiled, a progress says so; a method without kernels loads no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
from numba.core import event

from tclose import Cancelled
from tclose.engine.compiling import announced, load, watched

COMPILE = "numba:compile"


def start() -> None:
    event.start_event(COMPILE, {})  # type: ignore[no-untyped-call]


def end() -> None:
    event.end_event(COMPILE, {})  # type: ignore[no-untyped-call]


def test_the_phase_says_so_while_the_compiler_runs() -> None:
    heard: list[tuple[float, str]] = []

    def progress(share: float, phase: str = "") -> None:
        heard.append((share, phase))

    with announced(progress, "fragmentation", {}) as report:
        report(0.2, "splitting")
        report(0.3)
        start()
        start()  # a function that the kernel calls
        end()
        end()
    start()  # nobody listens any more
    end()
    (_, _, (share, phase), after) = heard
    assert share == 0.3
    assert phase.startswith("compiling, once per machine (about ")
    assert after == (0.3, "splitting")


def test_cancelling_is_heard_when_the_compiler_starts() -> None:
    def progress(share: float, phase: str = "") -> None:
        if phase.startswith("compiling"):
            raise Cancelled

    with announced(progress, "fragmentation", {}), pytest.raises(Cancelled):
        start()


def test_time_spent_on_compiling_is_counted_once() -> None:
    load("fragmentation", {})
    told: list[float] = []
    with watched(told.append) as compiling:
        start()
        start()
        end()
        end()
    assert [bool(seconds) for seconds in told] == [True, False]
    assert compiling.seconds >= 0


def test_a_method_without_kernels_loads_no_compiler() -> None:
    code = (
        "import sys\nfrom tclose.engine.compiling import announced\nfrom tclose.types import silent\n"
        "with announced(silent, 'mondrian', {}):\n    pass\nassert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
