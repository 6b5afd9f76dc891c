"""Parquet and Arrow: formats whose columns have types."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.base import Source

TWICE = "a column name stands in the table twice: rename one"
SMALL = 1 << 20  # bytes of a file whose columns are read all at once
GROUPS = 16  # of columns: with one column each, a file of 50,000 would be opened as often
DAMAGED = "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an unusual type"


def _source(name: str, begins: bytes, reader: str) -> Source:
    """Return the source that one of polars' readers makes."""
    return Source(name, begins, partial(_read, reader), declared=name.partition(" ")[0].lower())


def _read(reader: str, data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    with _refusals():
        return pl.DataFrame(getattr(pl, reader)(io.BytesIO(data)))


def _read_parquet(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    """Read column by column where cells repeat, so that text is in memory once, as categories."""
    if not repeated:
        return _read("read_parquet", data, repeated)
    with _refusals():
        columns = (_columns(data, [place]).to_series() for place in range(len(_names(data))))
        return pl.DataFrame([_categories(column) if column.name in repeated else column for column in columns])


def _read_only(data: bytes, only: Collection[str]) -> pl.DataFrame:
    """Read some of the columns of a Parquet file; all of them if it lacks one, so that a message can name others."""
    with _refusals():
        names = _names(data)
        if not set(only) <= set(names):
            return _read("read_parquet", data, ())
        return _columns(data, [place for place, name in enumerate(names) if name in only])


def parquet_groups(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """Yield the columns of a Parquet file in groups, read as `_read_parquet` and `_read_only` read all of them."""
    with _refusals():
        names = _names(data)
        whole = not only or not set(only) <= set(names)
        places = [place for place, name in enumerate(names) if whole or name in only]
        size = len(places) if len(data) < SMALL else -(-len(places) // GROUPS)
        for start in range(0, len(places), max(size, 1)):
            frame = _columns(data, places[start : start + size])
            yield frame.with_columns(_categories(column) for column in frame if column.name in repeated)


def _names(data: bytes) -> list[str]:
    return list(pl.read_parquet_schema(io.BytesIO(data)))


def _columns(data: bytes, places: list[int]) -> pl.DataFrame:
    """Read columns by their places: polars takes a name such as ^x$ for a pattern."""
    return pl.read_parquet(io.BytesIO(data), columns=places)


def _categories(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    return column.alias("").cast(pl.Categorical(pl.Categories.random())).alias(column.name)


@contextmanager
def _refusals() -> Iterator[None]:
    """Refuse what cannot be read, in words that quote no cell."""
    try:
        yield
    except pl.exceptions.DuplicateError:
        raise InputError(TWICE) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError(DAMAGED) from None


PARQUET = replace(_source("Parquet", b"PAR1", "read_parquet"), read=_read_parquet, read_only=_read_only)
ARROW_FILE = _source("Arrow file", b"ARROW1", "read_ipc")
ARROW_STREAM = _source("Arrow stream", b"\xff\xff\xff\xff", "read_ipc_stream")
