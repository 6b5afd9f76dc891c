"""Say when numba compiles kernels. It does so once per machine: a bar has to say so, and a clock must not count it.

A method loads numba only where it has kernels, so the method is loaded first: nothing can be noticed of a compiler that
is not there, and a method without kernels must not load one.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tclose.errors import CacheWarning
from tclose.partition import method_named
from tclose.partition.options import base_of
from tclose.partition.shared.compile_cache import compiled_each_time
from tclose.partition.starts import methods_considered
from tclose.types import Progress
from tclose.words import compiling as compiling_words

KERNELS = "tclose.partition.shared.kernels"  # not imported here: it loads numba


class CompileClock:
    """How long kernels were compiled; `tell` hears about how many seconds it takes, and 0 when it is done."""

    def __init__(self, tell: Callable[[float], None], about_seconds: float) -> None:
        self.seconds, self._since = 0.0, 0.0
        self._tell, self._about = tell, max(about_seconds, 1.0)

    def begin(self) -> None:
        """Take note that the compiler starts."""
        self._since = time.perf_counter()
        self._tell(self._about)

    def end(self) -> None:
        """Take note that the compiler is done."""
        self.seconds += time.perf_counter() - self._since
        self._tell(0)


def load(method: str, options: Mapping[str, Any]) -> None:
    """Load a method, the one that it builds on, and those whose classes it considers, with their kernels."""
    base = base_of(method, options)
    for name in (method, *([] if base is None else [base]), *methods_considered(base or method, options)):
        method_named(name)


def seconds_of_each_run() -> float:
    """Return about how long loaded kernels take to compile that cannot be kept on disk."""
    kernels = sys.modules.get(KERNELS)
    return 0.0 if kernels is None else float(kernels.seconds_of_each_run())


def warn_of_each_run(seconds: float) -> None:
    """Say that kernels are compiled at every run, what that costs, and how to fix it."""
    if seconds:
        warnings.warn(compiled_each_time(seconds), CacheWarning, 2)


@contextmanager
def compile_clock(tell: Callable[[float], None]) -> Iterator[CompileClock]:
    """Watch the compiler, if a method has loaded it.

    `tell` hears about how many seconds all kernels that are missing take when the compiler starts, and 0 when it ends.
    """
    kernels = sys.modules.get(KERNELS)
    compiling = CompileClock(tell, 0 if kernels is None else kernels.seconds_to_compile())
    if kernels is None:
        yield compiling
        return
    with kernels.compiling(compiling.begin, compiling.end):
        yield compiling


@contextmanager
def method_compile_notice(progress: Progress, method: str, options: Mapping[str, Any]) -> Iterator[Progress]:
    """Return a progress that says so while the kernels of a method are compiled."""
    load(method, options)
    with compile_notice(progress) as (report, _):
        yield report


@contextmanager
def compile_notice(progress: Progress) -> Iterator[tuple[Progress, CompileClock]]:
    """Return a progress that says so while loaded kernels are compiled, and how long they were."""
    last_share, last_phase, words = 0.0, "", ""

    def report(share: float, phase: str = "") -> None:
        nonlocal last_share, last_phase
        last_share, last_phase = share, phase or last_phase
        progress(share, words or phase)  # a kernel's heartbeat must not hide that another is compiled

    def tell(about_seconds: float) -> None:
        nonlocal words
        words = compiling_words(about_seconds, each_run=bool(each_run)) if about_seconds else ""
        progress(last_share, words or last_phase)

    each_run = seconds_of_each_run()
    warn_of_each_run(each_run)
    with compile_clock(tell) as compiling:
        yield report, compiling
    if not each_run:  # a full disk shows only when the kernels are written
        warn_of_each_run(seconds_of_each_run())
