"""A file that could end the process which reads it is read on trial first, in another process.

polars aborts when a damaged Parquet file makes it ask for 2^61 bytes, and panics print their own text. Both depend on
bytes deep inside compressed pages, so no check of a footer finds them (decision 051).
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from tclose.errors import InputError
from tclose.table.sources import trial_process
from tclose.table.sources.trial_process import NO_MEMORY, READ, REPEATED_NAME

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
    code = Path(trial_process.__file__).read_text(encoding="utf-8")
    command = [sys.executable or "python", "-c", code, reader, *sys.path]
    try:
        done = subprocess.run(command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise InputError(NO_PROCESS.format(why=error.strerror or type(error).__name__)) from None
    if done.returncode != READ:
        raise InputError(_reason(done))


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    if done.returncode == REPEATED_NAME:
        return TWICE
    too_large = done.returncode in (NO_MEMORY, KILLED) or NO_ALLOCATION.search(done.stderr)
    return TOO_LARGE if too_large else DAMAGED
