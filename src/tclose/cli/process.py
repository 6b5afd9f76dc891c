"""The process of a command: its exit statuses, signals that end it, and what libraries do behind Python's back.

A signal that asks the process to end becomes an exception, so that everything is cleaned up first. The first signal
counts, and all later ones are ignored: a second Ctrl-C must not interrupt the cleaning up. A library may swallow the
exception (one that is raised while Python frees an object is lost), so every report of progress raises it again. Once
files have got their names, it is too late: a status that says "ended" beside a complete release would be false. The
command then goes on to its own end, which is near, and one line says so.

Libraries print to stderr by themselves, and they abort when memory runs out. A panic of polars prints its own text,
which may quote cells, before Python hears of it. And where an allocation fails, polars aborts: no exception reaches
Python. Both are caught here, for the length of a command, on POSIX systems (decision 052).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

from tclose import steps

# Exit statuses: it holds, it does not, bad usage or input


HOLDS, FAILS, BAD = 0, 1, 2


# Signals


WORDS = {"SIGINT": "interrupted", "SIGTERM": "ended on request", "SIGHUP": "the terminal was closed"}


class Ended(BaseException):
    """Another process, the end of the terminal, or Ctrl-C asked this process to stop: it cleans up first."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_status = 128 + getattr(signal, name)
        self.words = WORDS[name]


TOO_LATE = "asked to end too late: the files had got their names already, so the command has done all its work"
_first: list[str] = []  # the name of the signal that came first
_late: list[str] = []  # the names of those that came when files had got their names
_server: list[bool] = []  # not empty where this process only ends when it is asked to


def clean_up_when_ended() -> None:
    """Turn the signals that would end the process at once into exceptions."""
    for name in WORDS:
        number = getattr(signal, name, None)  # Windows knows no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _end)


def ignore_endings() -> None:
    """Ignore all further requests to end: the process is about to."""
    for name in WORDS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def check_ended() -> None:
    """Raise the request to end again, in case that a library swallowed it."""
    if _first:
        raise Ended(_first[0])


def end_at_any_time() -> None:
    """Never find a request to end too late: a server writes files, too, and ends only when it is asked to."""
    _server.append(True)


def came_too_late() -> bool:
    """Tell whether this process was asked to end when its files had got their names already."""
    return bool(_late)


def _end(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    begun = "tclose.release.files" in sys.modules  # which a command without files never loads
    if begun and steps.anything_published() and not _server:
        _late.append(name)
        return
    ignore_endings()
    _first.append(name)
    raise Ended(_first[0])


# Libraries


NO_MEMORY = "error: the table does not fit into memory"
ABORTED = "error: a library that tclose uses ended the process (SIGABRT); this is a bug, please report it"
NO_THREADS = "error: no more threads can be started: the memory, or the number of processes allowed, is used up"
NO_THREAD = ("can't start new thread", "could not spawn", "failed to spawn")  # in Python's words, and in polars'
OUT_OF_MEMORY = ("memory allocation of ", "thread creation failed", "OutOfMemory", "Cannot allocate memory")
BUG = 70
MOST = 1 << 16  # bytes that a pipe holds
SPARE = 1 << 23  # bytes set aside, so that there is room to say that there is none


@contextmanager
def contained(clean_up: Callable[[], None]) -> Iterator[None]:
    """Keep what libraries print from the terminal; when one aborts, clean up, say one sentence and end in order."""
    stream = sys.stderr
    if os.name != "posix" or not _is_terminal_or_file(stream):
        yield
        return
    said, catch = os.pipe()
    os.set_blocking(said, False)
    os.set_blocking(catch, False)  # a library that says too much must not wait for a reader
    stderr = os.dup(2)
    sys.stderr = open(stderr, "w", buffering=1, encoding=stream.encoding, errors=stream.errors)  # noqa: PTH123, SIM115
    os.dup2(catch, 2)
    try:
        with _aborts_answered(said, stderr, clean_up):
            yield
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        sys.stderr.close()
        sys.stderr = stream
        os.close(said)
        os.close(catch)


def _is_terminal_or_file(stream: TextIO | None) -> bool:
    """Tell whether a stream stands for descriptor 2, as it does unless somebody closed or replaced it."""
    with suppress(OSError, ValueError, AttributeError):
        return stream is not None and stream.fileno() == 2
    return False


@contextmanager
def _aborts_answered(said: int, stderr: int, clean_up: Callable[[], None]) -> Iterator[None]:
    """Answer SIGABRT below Python, whose own handlers would only run after the process has ended."""
    words, spare, signs = bytearray(MOST), mmap.mmap(-1, SPARE), [sign.encode() for sign in OUT_OF_MEMORY]
    answers = {True: (f"{NO_MEMORY}\n".encode(), BAD), False: (f"{ABORTED}\n".encode(), BUG)}

    def end(number: int) -> None:
        status = BUG
        try:
            spare.close()  # room for what follows
            with suppress(OSError):
                os.readv(said, [words])
            sentence, status = answers[any(sign in words for sign in signs)]
            os.write(stderr, sentence)
            clean_up()
        finally:
            os._exit(status)

    library = ctypes.CDLL(None)
    library.signal.restype = ctypes.c_void_p
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(end)
    before = library.signal(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        library.signal(signal.SIGABRT, before)
        if not spare.closed:
            spare.close()


def shortage(error: BaseException) -> str | None:
    """Return the sentence for an error that means that the system has no more to give; None for any other."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if type(error).__name__ != "PanicException" and not isinstance(error, RuntimeError):
        return None
    if any(sign in str(error) for sign in NO_THREAD):
        return NO_THREADS
    return NO_MEMORY if any(sign in str(error) for sign in OUT_OF_MEMORY) else None
