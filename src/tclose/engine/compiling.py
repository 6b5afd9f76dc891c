"""Notice when numba compiles kernels. It does so once per machine: a bar has to say so, and a clock must not count it.

A method loads numba only where it has kernels, so it is loaded first: nothing can be noticed of a compiler that is not
there, and a method without kernels must not load one.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tclose.partition import method_named
from tclose.partition.options import base_of
from tclose.types import Progress
from tclose.words import compiling as compiling_words

ABOUT_SECONDS = 20  # that all kernels of weave, which has the most, take on a quiet core


class Compiling:
    """How long kernels were compiled, and whether that goes on now; `tell` hears of both ends."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self.seconds, self._depth, self._since = 0.0, 0, 0.0
        self._tell, self._lock = tell, threading.Lock()

    def begin(self) -> None:
        """Take note that the compiler starts; it calls itself for the functions that a kernel calls."""
        with self._lock:
            self._depth += 1
            first = self._depth == 1
            self._since = time.perf_counter() if first else self._since
        if first:
            self._tell(True)

    def end(self) -> None:
        """Take note that the compiler is done."""
        with self._lock:
            self._depth -= 1
            last = self._depth == 0
            self.seconds += time.perf_counter() - self._since if last else 0.0
        if last:
            self._tell(False)


def load(method: str, options: Mapping[str, Any]) -> None:
    """Load a method and the one that it builds on, with their kernels."""
    for name in (method, base_of(method, options)):
        if name is not None:
            method_named(name)


@contextmanager
def watched(tell: Callable[[bool], None]) -> Iterator[Compiling]:
    """Watch the compiler, if a method has loaded it; `tell` hears True when it starts and False when it ends."""
    compiling = Compiling(tell)
    if "numba" not in sys.modules:
        yield compiling
        return
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            compiling.begin()

        def on_end(self, event: Any) -> None:
            compiling.end()

    listener = Listener()
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield compiling
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]


@contextmanager
def announced(progress: Progress, method: str, options: Mapping[str, Any]) -> Iterator[Progress]:
    """Return a progress that says so while the kernels of a method are compiled."""
    last_share, last_phase = 0.0, ""

    def report(share: float, phase: str = "") -> None:
        nonlocal last_share, last_phase
        last_share, last_phase = share, phase or last_phase
        progress(share, phase)

    def tell(running: bool) -> None:
        progress(last_share, compiling_words(ABOUT_SECONDS) if running else last_phase)

    load(method, options)
    with watched(tell):
        yield report
