"""Frames of any library (pandas, polars, pyarrow), and Arrow streams, to polars and back."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from tclose.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

TWICE = "a column name stands in the frame twice: rename one"
TYPES: Mapping[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64}


def to_polars(frame: Any) -> pl.DataFrame:
    """Return the same table as a polars frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    table = frame if isinstance(frame, pl.DataFrame) else _convert(frame)
    if table.height == 0:
        raise InputError("the table has no rows")
    return table


def _convert(frame: Any) -> pl.DataFrame:
    import narwhals as nw  # which frames of polars do without

    try:
        eager: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
        names = [str(name) for name in eager.columns]
    except TypeError:
        if hasattr(frame, "__arrow_c_stream__") and not _is_series(frame):
            return _from_stream(frame)
        raise InputError("expected a pandas, polars or pyarrow frame, not {kind}", kind=type(frame).__name__) from None
    except nw.exceptions.DuplicateError:
        raise InputError(TWICE) from None
    if len(set(names)) < len(names):
        raise InputError(TWICE)
    if eager.implementation.is_pyarrow():
        return _from_arrow(frame)
    return pl.DataFrame({name: _column(name, column) for name, column in zip(names, eager.iter_columns(), strict=True)})


def _is_series(frame: Any) -> bool:
    import narwhals as nw

    try:
        nw.from_native(frame, series_only=True)
    except TypeError:
        return False
    return True


def _from_stream(frame: Any) -> pl.DataFrame:
    """Read an Arrow stream, such as a relation of DuckDB or a reader of record batches; it can be read once only."""
    try:
        return pl.DataFrame(frame)
    except pl.exceptions.DuplicateError:
        raise InputError(TWICE) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError):
        raise InputError("the Arrow stream cannot be read as a table of text, numbers and dates") from None


def _from_arrow(frame: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(pl.from_arrow(frame))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError("a column of the frame is of an unusual type: make it text, a number or a date") from None


def _column(name: str, column: nw.Series[Any]) -> pl.Series:
    import narwhals as nw

    dtype = column.dtype
    plain = dtype.is_numeric() or dtype == nw.Boolean or (isinstance(dtype, nw.Datetime) and dtype.time_zone is None)
    if plain and column.null_count() == 0:
        return pl.Series(name, column.to_numpy())
    nulls = column.is_null().to_list()
    cells = [None if null else cell for cell, null in zip(column.to_list(), nulls, strict=True)]
    try:
        made = pl.Series(name, cells)
    except (TypeError, pl.exceptions.PolarsError):  # its message would quote cells
        if not all(cell is None or type(cell) in (int, float, Decimal) for cell in cells):
            raise InputError(
                "column '{name}' mixes kinds of values: make them all text, or all numbers", name=name
            ) from None
        return _as_text(name, cells)
    return _as_text(name, cells) if made.dtype == pl.Object else made


def _as_text(name: str, cells: list[Any]) -> pl.Series:
    """Spell cells that polars has no type for: numbers of several types, intervals of pandas.cut, periods."""
    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def with_one_spelling(frame: pl.DataFrame, spellings: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return a table that is to be published, in which each listed column spells "no value" in one way.

    `spellings` holds the texts of each column that mean the same as null. Where several of these occur, all become the
    empty cell: what is judged as one value must be one to readers, and a CSV file has no null.
    """
    return pl.DataFrame(
        {
            column.name: _one_spelling(column, spellings[column.name]) if column.name in spellings else column
            for column in frame.iter_columns()
        }
    )


def _one_spelling(column: pl.Series, spellings: Sequence[str]) -> pl.Series:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    text = column.alias("").cast(pl.String)
    lacking = text.is_null() | text.is_in(list(spellings))
    return column if text.filter(lacking).n_unique() < 2 else text.set(lacking, "")  # null counts as a spelling


def kind_of(frame: Any) -> str:
    """Return which library a frame belongs to; what comes as an Arrow stream leaves as a polars frame."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return "polars"
    import narwhals as nw

    try:
        return str(nw.from_native(frame, eager_only=True).implementation.value)
    except TypeError:
        return "polars"


def from_polars(frame: pl.DataFrame, kind: str) -> Any:
    """Return the same table as a frame of another library."""
    if kind == "polars":
        return frame
    if kind == "pyarrow":
        return frame.to_arrow()
    import narwhals as nw

    backend: Any = kind
    return nw.from_dict({column.name: _cells(column) for column in frame.iter_columns()}, backend=backend).to_native()


def _cells(column: pl.Series) -> Any:
    """Return the cells as pandas keeps them: integers among nulls stay integers, moments keep their nanoseconds."""
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
        return column.to_numpy()
    if (column.dtype.is_numeric() and not column.dtype.is_decimal()) and not column.null_count():
        return column.to_numpy()
    if column.dtype.is_integer():
        return import_module("pandas").array(column.to_list(), dtype=str(column.dtype))
    return column.to_list()


def from_columns(columns: Mapping[str, tuple[type, Sequence[Any]]], kind: str) -> Any:
    """Return a frame of the library `kind`, from names to (the cells' type, the cells); a cell may be None."""
    made = [pl.Series(name, cells, dtype=TYPES[of]) for name, (of, cells) in columns.items()]
    return from_polars(pl.DataFrame(made), kind)


def to_stream(table: pl.DataFrame) -> memoryview:
    """Return a table as an Arrow stream, which another process can read."""
    file = io.BytesIO()
    try:
        table.write_ipc_stream(file)
    except pl.exceptions.PolarsError:
        raise InputError("a column of the table is of an unusual type: make it text, a number or a date") from None
    return file.getbuffer()


def from_stream(data: bytes) -> pl.DataFrame:
    """Return the table that an Arrow stream holds."""
    return pl.read_ipc_stream(io.BytesIO(data))
