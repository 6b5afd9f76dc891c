"""A table from a file or from standard input: CSV, Parquet or Arrow, told apart by their first bytes."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.policy.paths import check_name, check_readable
from tclose.table.sources.base import Source
from tclose.table.sources.columnar import ARROW_FILE, ARROW_STREAM, PARQUET
from tclose.table.sources.csv import CSV
from tclose.table.sources.folder import read_folder

SOURCES: tuple[Source, ...] = (PARQUET, ARROW_FILE, ARROW_STREAM, CSV)  # the first whose bytes fit reads a file


def read(path: str | Path, *, only: Collection[str] = ()) -> pl.DataFrame:
    r"""Read a table from a CSV, Parquet or Arrow file, or a folder of Parquet files; `-` is standard input.

    With `only`, other columns than these may be left out, which spares memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table.csv").write_text("age,salary\n20,3\n30,4\n")
    ...     read(Path(folder, "table.csv")).shape
    (2, 2)
    """
    frame = read_folder(Path(path), read_bytes, only) if is_folder(path) else parse(read_bytes(path), only=only)
    if frame.height == 0:
        raise InputError("the table has a header but no rows")
    return frame


def is_folder(path: str | Path) -> bool:
    """Tell whether a path leads to a folder; neither an empty one nor one that no file can have does."""
    check_name(path)
    try:
        return str(path) not in ("", "-") and Path(path).is_dir()
    except OSError:  # a name that is too long, say: whoever reads it says why it cannot be read
        return False


def read_bytes(path: str | Path) -> bytes:
    """Return a file's bytes, or those of standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed, so there is no table to read")
        return sys.stdin.buffer.read()
    check_readable(path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a table") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def parse(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = (), written_here: bool = False
) -> pl.DataFrame:
    """Return the table that these bytes hold; columns named in `repeated` may come as categories.

    With `only`, other columns than these may be left out. Bytes that this process wrote itself are read without the
    check that a stranger's file needs.
    """
    source = next(source for source in SOURCES if data.startswith(source.begins))
    if source.check is not None and not written_here:
        source.check(data)
    if only and source.read_only is not None:
        return source.read_only(data, only)
    return source.read(data, repeated)
