"""While kernels are compiled, a progress says so; a method without kernels loads no compiler."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import polars as pl
import pytest
from numba.core import event

import tclose
from tclose import Cancelled
from tclose.run import rows
from tclose.run.compile_notice import compile_clock, load, method_compile_notice

COMPILE = "numba:compile"


def start() -> None:
    event.start_event(COMPILE, {})  # type: ignore[no-untyped-call]


def end() -> None:
    event.end_event(COMPILE, {})  # type: ignore[no-untyped-call]


def test_the_phase_says_so_while_the_compiler_runs() -> None:
    heard: list[tuple[float, str]] = []

    def progress(share: float, phase: str = "") -> None:
        heard.append((share, phase))

    with method_compile_notice(progress, "fragmentation", {}) as report:
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

    with method_compile_notice(progress, "fragmentation", {}), pytest.raises(Cancelled):
        start()


def test_time_spent_on_compiling_is_counted_once() -> None:
    load("fragmentation", {})
    told: list[float] = []
    with compile_clock(told.append) as compiling:
        start()
        start()
        end()
        end()
    assert [bool(seconds) for seconds in told] == [True, False]
    assert compiling.seconds >= 0


def test_a_method_without_kernels_loads_no_compiler() -> None:
    code = (
        "import sys\nfrom tclose.run.compile_notice import method_compile_notice\nfrom tclose.types import silent\n"
        "with method_compile_notice(silent, 'mondrian', {}):\n    pass\nassert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_heartbeat_does_not_hide_that_a_kernel_is_compiled() -> None:
    heard: list[str] = []
    with method_compile_notice(lambda share, phase="": heard.append(phase), "fragmentation", {}) as report:
        start()
        report(0.5, "splitting")
        end()
    assert heard[0] == heard[1]
    assert heard[0].startswith("compiling, once per machine")
    assert heard[2] == "splitting"


TABLE = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
POLICY = tclose.Policy(quasi=["age"], sensitive={"salary": {"t": 0.5}}, k=2)


@pytest.mark.parametrize("work", ["anonymize", "attack"])
def test_every_caller_hears_of_the_compiler(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release, laid_out, heard = tclose.anonymize(TABLE, POLICY, method="mondrian"), rows.laid_out, list[str]()

    def compiles(*given: Any) -> Any:
        start()
        end()
        return laid_out(*given)

    def progress(share: float, phase: str = "") -> None:
        heard.append(phase)

    monkeypatch.setattr(rows, "laid_out", compiles)
    if work == "anonymize":
        tclose.anonymize(TABLE, POLICY, method="fragmentation", progress=progress)
    else:
        tclose.attack(release, original=TABLE, policy=POLICY, method="fragmentation", progress=progress)
        assert "making a k-anonymous table" in heard
    assert any(phase.startswith("compiling, once per machine") for phase in heard)


def test_a_release_by_a_method_without_kernels_loads_no_compiler() -> None:
    code = (
        "import sys, polars, tclose\n"
        "table = polars.DataFrame({'age': [20, 30, 40, 50], 'salary': [3, 4, 3, 4]})\n"
        "policy = {'quasi': ['age'], 'sensitive': {'salary': {'t': 0.5}}, 'k': 2}\n"
        "tclose.anonymize(table, policy, method='mondrian')\nassert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
