"""A table from a file or from standard input: CSV, Parquet or Arrow, told apart by their first bytes."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.table.sources import csv as delimited

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"


def read(path: str | Path) -> pl.DataFrame:
    r"""Read a table from a CSV, Parquet or Arrow file; `-` is standard input.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table.csv").write_text("age,salary\n20,3\n30,4\n")
    ...     read(Path(folder, "table.csv")).shape
    (2, 2)
    """
    frame = parse(read_bytes(path))
    if frame.height == 0:
        raise InputError("the table has a header but no rows")
    return frame


def read_bytes(path: str | Path) -> bytes:
    """Return a file's bytes, or those of standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed, so there is no table to read")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a table") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def parse(data: bytes, *, repeated: Collection[str] = ()) -> pl.DataFrame:
    """Return the table that these bytes hold; a CSV's columns named in `repeated` come as categories."""
    try:
        if data.startswith(PARQUET):
            return pl.read_parquet(io.BytesIO(data))
        if data.startswith(ARROW_FILE):
            return pl.read_ipc(io.BytesIO(data))
        if data.startswith(ARROW_STREAM):
            return pl.read_ipc_stream(io.BytesIO(data))
    except pl.exceptions.DuplicateError:
        raise InputError("a column name stands in the table twice: rename one") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError(
            "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an unusual type"
        ) from None
    return delimited.parse(data, repeated=repeated)
