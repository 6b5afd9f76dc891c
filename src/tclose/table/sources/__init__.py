"""A table from a file, standard input or a database; files are told apart by their first bytes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import InputError, SourceWarning
from tclose.policy.settings import check_name, check_readable
from tclose.policy.source import PLAIN, SourceSettings, same_reading
from tclose.table.sources.base import TableRead
from tclose.table.sources.databases import Location, check_scheme
from tclose.table.sources.door import parse_bytes, read_database_file, read_file
from tclose.table.sources.folder import read_folder
from tclose.table.sources.formats import SOURCES

__all__ = ["SOURCES", "checked", "is_folder", "parse", "read", "read_bytes", "read_plain", "read_table", "told"]


def read(
    path: str | Path,
    *,
    only: Collection[str] = (),
    source: SourceSettings | Mapping[str, Any] | None = None,
    missing: Collection[str] = (),
) -> pl.DataFrame:
    r"""Read a table from a file, from a folder of Parquet files, or from a database; `-` is standard input.

    `book.xlsx#Sheet` names a sheet. `source` says how the file is written, as `[source]` in a policy does; without it,
    that is detected, and a `SourceWarning` says what was found beyond plain CSV. Cells in `missing` mean "no value".
    With `only`, other columns than these may be left out, which spares memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table.csv").write_text("age,salary\n20,3\n30,4\n")
    ...     read(Path(folder, "table.csv")).shape
    (2, 2)
    """
    said = same_reading(source)
    return checked(read_table(path, only=only, source=said, missing=missing), said).frame


def checked(found: TableRead, said: SourceSettings | None) -> TableRead:
    """Refuse a table that can be read in two ways; say how it was read where the policy does not."""
    for question in found.questions:
        raise InputError(question)
    return told(found) if said is None else found


def told(found: TableRead) -> TableRead:
    """Say in one line how a table was read beyond plain CSV."""
    if (sentence := found.sentence) is not None:
        warnings.warn(sentence, SourceWarning, 4)
    return found


def read_plain(path: str | Path) -> pl.DataFrame:
    """Read a table that tclose wrote: nothing is detected in it."""
    return read(path, source=PLAIN)


def read_table(
    path: str | Path,
    *,
    only: Collection[str] = (),
    source: SourceSettings | None = None,
    missing: Collection[str] = (),
    detect: bool = False,
) -> TableRead:
    """Read a table, and say how it was read and what could not be decided; with `detect`, `source` may be a part."""
    check_scheme(path)
    location = Location.of(path)
    if location.scheme == "postgresql":
        from tclose.table.sources.content import spelled
        from tclose.table.sources.databases import read_server

        found = spelled(read_server(location, source), source, missing, detect=detect)
    elif location.scheme is not None:
        found = read_database_file(location, source, missing, detect=detect)
    elif is_folder(path):
        found = TableRead(read_folder(Path(path), read_bytes, only))
    else:
        given = path if location.path is None else location.path
        found = read_file(given, source, only=only, missing=missing, part=location.part, detect=detect)
    if found.frame.height == 0:
        raise InputError("the table has a header but no rows")
    return found


def parse(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = (), written_here: bool = False
) -> pl.DataFrame:
    """Return the table that these bytes hold, as tclose itself writes tables; nothing is detected.

    Columns named in `repeated` may come as categories. With `only`, other columns than these may be left out. Bytes
    that this process wrote itself are read here; all others go through the door.
    """
    if written_here:
        from tclose.table.sources import content

        return content.parse(data, repeated=repeated, only=only, written_here=True)
    return parse_bytes(data, repeated=repeated, only=only)


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
        raise InputError("there is no file {path}", path=path) from None
    except IsADirectoryError:
        raise InputError("{path} is a folder, not a table", path=path) from None
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None
