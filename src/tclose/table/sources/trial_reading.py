"""A file that could end the process which reads it is read on trial first, in another process.

polars aborts when a damaged Parquet file makes it ask for 2^61 bytes, and panics print their own text. Both depend on
bytes deep inside compressed pages, so no check of a footer finds them (decision 051).
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

from tclose.errors import InputError
from tclose.table.sources import trial_process
from tclose.table.sources.trial_process import LENGTH, MANY, NO_MEMORY, READ, REPEATED_NAME

TWICE = "a column name stands in the table twice: rename one"
DAMAGED = "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an unusual type"
TOO_LARGE = "reading the table needs more memory than is available: it is too large for this machine, or damaged"
NO_PROCESS = (
    "a Parquet or Arrow file is first read in a process of its own, which cannot be started here ({why}): give the "
    "table as CSV or, in Python, as a frame"
)
NO_ALLOCATION = re.compile(rb"memory allocation of [0-9]+ bytes failed")
KILLED = -getattr(signal, "SIGKILL", 9)  # as the system does when memory runs out


def read_on_trial(data: bytes, reader: str) -> None:
    """Refuse bytes that polars' `reader` cannot read to the end, whatever happens to it."""
    try:
        done = subprocess.run(
            _command(reader), input=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
    except OSError as error:
        raise _not_started(error) from None
    if done.returncode != READ:
        raise InputError(_reason(done.returncode, done.stderr))


class ReadingProcess:
    """One process that reads many files, one after the other: to start one for each would take longer."""

    def __init__(self, reader: str) -> None:
        self.reader = reader  # and how it reads
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self._ended(self.process)
            self.errors.close()

    def ask(self, *parts: bytes) -> None:
        """Send a request."""
        process = self.process = self.process or self._started()
        assert process.stdin is not None
        with suppress(OSError):  # the process may die before it has read all
            for part in parts:
                process.stdin.write(part)
            process.stdin.flush()

    def answer(self, length: int) -> bytes:
        """Return that many bytes of the answer; refuse a table over which the process has died."""
        process = self.process
        assert process is not None
        assert process.stdout is not None
        if len(data := process.stdout.read(length)) == length:
            return data
        self._ended(process)
        self.errors.seek(0)
        raise InputError(_reason(process.returncode, self.errors.read()))

    def _started(self) -> subprocess.Popen[bytes]:
        pipe, self.errors = subprocess.PIPE, tempfile.TemporaryFile()  # noqa: SIM115, closed in the end
        try:
            return subprocess.Popen(_command(self.reader), stdin=pipe, stdout=pipe, stderr=self.errors)
        except OSError as error:
            self.errors.close()
            raise _not_started(error) from None

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()


class OnTrial(ReadingProcess):
    """A process that reads files on trial."""

    def __init__(self, reader: str) -> None:
        super().__init__(reader + MANY)

    def __call__(self, data: bytes) -> None:
        """Refuse bytes that cannot be read to the end; no other file can be tried then."""
        self.ask(len(data).to_bytes(LENGTH, "big"), data)
        self.answer(1)


def _command(reader: str) -> list[str]:
    code = Path(trial_process.__file__).read_text(encoding="utf-8")
    return [sys.executable or "python", "-c", code, reader, *sys.path]


def _not_started(error: OSError) -> InputError:
    return InputError(NO_PROCESS.format(why=error.strerror or type(error).__name__))


def _reason(status: int, said: bytes) -> str:
    if status == REPEATED_NAME:
        return TWICE
    too_large = status in (NO_MEMORY, KILLED) or NO_ALLOCATION.search(said)
    return TOO_LARGE if too_large else DAMAGED
