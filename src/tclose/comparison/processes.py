"""Jobs in processes of their own, some side by side: each is stopped when its time is up, all when nobody waits.

Where several run at a time, each keeps to one core and one thread, so that they do not slow each other down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from tclose.comparison.trial import Job, send
from tclose.engine.compiling import warn_of_each_run
from tclose.types import Progress
from tclose.words import compiling

Answer = Mapping[str, Any]

SIDE_BY_SIDE = 2  # more would compete for memory
TURN_SECONDS = 0.1
CHILD = "import sys; sys.path[:] = {path!r}; from tclose.comparison.trial import main; main()"
THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def answers(jobs: Sequence[Job], table: memoryview, limit: float, progress: Sequence[Progress]) -> list[Answer]:
    """Return what each job came to, in their order; each has a progress, which is called from this thread."""
    cores: SimpleQueue[int | None] = SimpleQueue()
    for core in _cores(len(jobs)):
        cores.put(core)
    news: News = SimpleQueue()

    def work(number: int) -> Answer:
        core = cores.get()
        try:
            tell = tellers[number] = _Teller(number, news)
            return _answer(replace(jobs[number], core=core), table, limit, children, tell)
        finally:
            cores.put(core)

    children, tellers = Children(), dict[int, _Teller]()
    pool = ThreadPoolExecutor(cores.qsize())
    try:
        found = _awaited([pool.submit(work, number) for number in range(len(jobs))], news, progress)
    finally:  # also after Ctrl-C: no process may outlive the question
        children.end()
        pool.shutdown(cancel_futures=True)
    warn_of_each_run(max((teller.seconds_of_each_run for teller in tellers.values()), default=0.0))
    return found


News = SimpleQueue[tuple[int, float, str]]  # the number of a job, the share of it that is done, what it does


def _awaited(futures: Sequence[Future[Answer]], news: News, progress: Sequence[Progress]) -> list[Answer]:
    """Wait in short turns, so that Ctrl-C and a progress that raises are heard of, and pass the news on."""
    last: tuple[int, float, str] | None = None
    while not all(future.done() for future in futures):
        with suppress(Empty):
            last = news.get(timeout=TURN_SECONDS)
        if last is not None:  # said again when nothing is new: whoever wants to cancel must be asked
            progress[last[0]](*last[1:])
    while not news.empty():
        number, share, phase = news.get()
        progress[number](share, phase)
    return [future.result() for future in futures]


class _Teller:
    """Turns what a process says into news."""

    def __init__(self, number: int, news: News) -> None:
        self._number, self._news, self._share, self._phase = number, news, 0.0, ""
        self.seconds_of_each_run = 0.0  # to compile kernels that cannot be kept

    def __call__(self, message: Mapping[str, Any]) -> None:
        """Pass a message on, if it is about progress; note if kernels cannot be kept."""
        self.seconds_of_each_run = message.get("compiled each run", self.seconds_of_each_run)
        self._share = message.get("share", self._share)
        if "compiling" in message:
            seconds, each_run = message["compiling"], bool(self.seconds_of_each_run)
            self._phase = compiling(seconds, each_run=each_run) if seconds else ""
        if "share" in message or "compiling" in message:
            self._news.put((self._number, self._share, self._phase))


def _cores(jobs: int) -> list[int | None]:
    """Return the cores to work on, one per process; where there is only one of either, nobody has to share."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    together = min(SIDE_BY_SIDE, len(usable), jobs)
    return [None] if together <= 1 else list(usable[:together])


class Children:
    """The processes at work."""

    def __init__(self) -> None:
        self._lock, self._running, self._ended = threading.Lock(), set[subprocess.Popen[bytes]](), False

    @contextmanager
    def one(self, *, single_threaded: bool) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process, and make sure that it ends."""
        environment = dict(os.environ, **(dict.fromkeys(THREADS, "1") if single_threaded else {}))
        with self._lock:
            if self._ended:
                raise InterruptedError
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", CHILD.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a library's message could hold a cell
                env=environment,
            )
            self._running.add(child)
        try:
            yield child
        finally:
            child.kill()
            with suppress(BrokenPipeError):
                child.__exit__(None, None, None)
            with self._lock:
                self._running.discard(child)

    def end(self) -> None:
        """End all processes, and let no other begin."""
        with self._lock:
            self._ended = True
            for child in self._running:
                child.kill()


class Clock:
    """Rings once when its seconds are used up; it can be paused."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self._left, self._ring, self._since, self.rang = seconds, ring, 0.0, False
        self._timer: threading.Timer | None = None

    def go(self) -> None:
        """Begin, or go on after a pause."""
        self._since = time.monotonic()
        self._timer = threading.Timer(max(self._left, 0), self._time_is_up)
        self._timer.daemon = True
        self._timer.start()

    def pause(self) -> None:
        """Stand still."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left -= time.monotonic() - self._since

    def _time_is_up(self) -> None:
        self.rang = True
        self._ring()


def _answer(job: Job, table: memoryview, limit: float, children: Children, tell: _Teller) -> Answer:
    """Let one process do a job; say so where it had to be stopped, or died."""
    answer: Answer | None = None
    with children.one(single_threaded=job.core is not None) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        clock = Clock(limit, child.kill)
        with suppress(BrokenPipeError):  # it died at once, which its silence tells
            send(job, table, child.stdin)
        for line in child.stdout:
            message = json.loads(line)
            _heed(message, clock)
            tell(message)
            answer = message.get("trial", answer)
        clock.pause()
        status = child.wait()
    if answer is not None:
        return answer
    if clock.rang:
        return {"outcome": "stopped", "reason": f"it took longer than {limit:g} seconds"}
    return {"outcome": "failed", "reason": f"its process ended without an answer (status {status})"}


def _heed(message: Mapping[str, Any], clock: Clock) -> None:
    """Let the clock run while the method works, but not while its kernels are compiled or its release is measured."""
    if "released" in message or message.get("compiling", 0) > 0:
        clock.pause()
    elif "begun" in message or "compiling" in message:
        clock.go()
