"""What libraries do behind Python's back: they print to stderr by themselves, and they abort when memory runs out.

A panic of polars prints its own text, which may quote cells, before Python hears of it. And where an allocation fails,
polars aborts: no exception reaches Python. Both are caught here, for the length of a command, on POSIX systems
(decision 052).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

NO_MEMORY = "error: the table does not fit into memory"
ABORTED = "error: a library that tclose uses ended the process (SIGABRT); this is a bug, please report it"
NO_THREADS = "error: no more threads can be started: the memory, or the number of processes allowed, is used up"
NO_THREAD = ("can't start new thread", "could not spawn", "failed to spawn")  # in Python's words, and in polars'
OUT_OF_MEMORY = ("memory allocation of ", "thread creation failed", "OutOfMemory", "Cannot allocate memory")
BAD, BUG = 2, 70
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
