"""Parquet and Arrow: formats whose columns have types."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.base import Source


def _reader(read: Callable[[io.BytesIO], Any]) -> Callable[[bytes, Collection[str]], pl.DataFrame]:
    """Return a reader whose refusals quote no cell."""

    def parse(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
        try:
            return pl.DataFrame(read(io.BytesIO(data)))
        except pl.exceptions.DuplicateError:
            raise InputError("a column name stands in the table twice: rename one") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise InputError(
                "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an "
                "unusual type"
            ) from None

    return parse


PARQUET = Source("Parquet", b"PAR1", _reader(lambda file: pl.read_parquet(file)))
ARROW_FILE = Source("Arrow file", b"ARROW1", _reader(lambda file: pl.read_ipc(file)))
ARROW_STREAM = Source("Arrow stream", b"\xff\xff\xff\xff", _reader(lambda file: pl.read_ipc_stream(file)))
