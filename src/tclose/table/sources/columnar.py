"""Parquet and Arrow: formats whose columns have types."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from functools import partial

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.base import Source
from tclose.table.sources.trial_reading import DAMAGED, TOO_LARGE, TWICE, read_on_trial


def _source(name: str, begins: bytes, reader: str) -> Source:
    """Return the source that one of polars' readers makes; what others wrote is read on trial first."""
    return Source(name, begins, _read_with(reader), partial(read_on_trial, reader=reader))


def _read_with(reader: str) -> Callable[[bytes, Collection[str]], pl.DataFrame]:
    """Return a reader whose refusals quote no cell."""

    def read(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
        try:
            return pl.DataFrame(getattr(pl, reader)(io.BytesIO(data)))
        except pl.exceptions.DuplicateError:
            raise InputError(TWICE) from None
        except MemoryError:
            raise InputError(TOO_LARGE) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise InputError(DAMAGED) from None

    return read


PARQUET = _source("Parquet", b"PAR1", "read_parquet")
ARROW_FILE = _source("Arrow file", b"ARROW1", "read_ipc")
ARROW_STREAM = _source("Arrow stream", b"\xff\xff\xff\xff", "read_ipc_stream")
