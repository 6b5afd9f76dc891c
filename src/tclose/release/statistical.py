"""A release as a file of Stata or SPSS, with the labels that the table came with; the same table, the same bytes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.table.sources.base import Labels
from tclose.words import legible

WHOLE = 2**53
STATA_WORDS = frozenset(
    [
        "_all",
        "_b",
        "_coef",
        "_cons",
        "_n",
        "_N",
        "_pi",
        "_pred",
        "_rc",
        "_skip",
        "byte",
        "double",
        "float",
        "if",
        "in",
        "int",
        "long",
        "strL",
        "using",
        "with",
    ]
)
SPSS_WORDS = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])


@dataclass(frozen=True)
class Package:
    """A statistics package: what it allows, how its files are written, and how their time is set to a fixed one."""

    name: str
    writer: str
    longest_name: int  # characters of Stata, bytes of SPSS
    longest_text: int  # bytes
    fine: re.Pattern[str]  # names of columns
    words: frozenset[str]
    options: Mapping[str, Any]
    timeless: Callable[[bytes], bytes]
    label_bytes: int  # of a value's label


def _timeless_stata(data: bytes) -> bytes:
    return re.sub(rb"<timestamp>\x11.{17}</timestamp>", b"<timestamp>\x1101 Jan 2000 00:00</timestamp>", data, count=1)


def _timeless_spss(data: bytes) -> bytes:
    return data[:92] + b"01 Jan 0000:00:00" + data[109:]


STATA = Package(
    "Stata", "write_dta", 32, 2045, re.compile(r"[^\W\d]\w*"), STATA_WORDS, {"version": 14}, _timeless_stata, 32_000
)
SPSS = Package(
    "SPSS", "write_sav", 64, 32_767, re.compile(r"[^\W\d_](?:[\w.@#$]*[\w@#$])?"), SPSS_WORDS, {}, _timeless_spss, 120
)


def check_names(package: Package, names: Sequence[str]) -> None:
    """Refuse columns whose names the package does not allow."""
    seen: dict[str, str] = {}
    for name in names:
        length = len(name) if package is STATA else len(name.encode())
        word = name if package is STATA else name.upper()
        unit = "characters" if package is STATA else "bytes"
        if length > package.longest_name:
            raise InputError(
                f"{package.name} allows names of {package.longest_name} {unit}: '{legible(name)}' is longer, rename it"
            )
        if not package.fine.fullmatch(name) or word in package.words or re.fullmatch(r"str\d+", name):
            raise InputError(f"{package.name} does not allow a column to be called '{legible(name)}': rename it")
        key = name if package is STATA else name.casefold()
        if key in seen:
            raise InputError(
                f"to {package.name}, '{legible(seen[key])}' and '{legible(name)}' are one name: rename one"
            )
        seen[key] = name


def check_cells(package: Package, frame: pl.DataFrame) -> None:
    """Refuse cells that the package cannot hold."""
    check_names(package, frame.columns)
    for column in frame.iter_columns():
        if (why := _refusal(package, column.alias(""))) is not None:
            raise InputError(f"column '{legible(column.name)}' cannot be written for {package.name}: {why}")


def _refusal(package: Package, cells: pl.Series) -> str | None:
    kind = cells.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = cells.cast(pl.String)
        if (text.str.len_bytes().max() or 0) > package.longest_text:  # type: ignore[operator]
            return f"a cell has over {package.longest_text:,} bytes"
        return "a cell holds a NUL character" if text.str.contains("\0", literal=True).any() else None
    if kind.is_integer():
        return "whole numbers beyond 2^53 would be rounded" if (cells.cast(pl.Float64).abs() > WHOLE).any() else None
    if kind.is_decimal():
        return None if (cells.cast(pl.Float64).cast(kind) == cells).all() else "its decimals would be rounded"
    if kind.is_float():
        return None if cells.drop_nulls().is_finite().all() else "it has NaN or infinity"
    if isinstance(kind, pl.Datetime) and not (cells.dt.truncate("1ms") == cells).all():
        return "its moments are finer than a millisecond"
    fine = kind in (pl.Boolean, pl.Null, pl.Date) or (isinstance(kind, pl.Datetime) and kind.time_zone is None)
    return None if fine else f"it is of type {kind}"


def write_statistical(package: Package, frame: pl.DataFrame, file: BinaryIO, labels: Labels | None = None) -> None:
    """Write a table for a package; columns whose cells are labels get their codes back."""
    check_cells(package, frame)
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("pyreadstat", "stata", f"writing a file for {package.name}") from None
    coded, values = _coded(package, frame, labels or Labels())
    described = {} if labels is None else {n: labels.columns[n] for n in frame.columns if n in labels.columns}
    with tempfile.TemporaryDirectory(prefix="tclose-") as folder:  # the library writes to named files only
        path = Path(folder) / "release"
        try:
            getattr(pyreadstat, package.writer)(
                coded, str(path), column_labels=described, variable_value_labels=values, **package.options
            )
        except (OSError, MemoryError):
            raise
        except Exception:  # its message could quote cells
            raise InputError(f"the release cannot be written for {package.name}") from None
        file.write(package.timeless(path.read_bytes()))


def _coded(package: Package, frame: pl.DataFrame, labels: Labels) -> tuple[pl.DataFrame, dict[str, dict[Any, str]]]:
    """Return the table as the package holds it, and the labels of its codes."""
    columns, values = [], {}
    for column in frame.iter_columns():
        codes = _codes(package, column, labels.values.get(column.name, {}))
        if codes is not None:
            values[column.name] = codes
            column = _with_codes(column, codes)
        columns.append(_held(column))
    return pl.DataFrame(columns), values


def _codes(package: Package, column: pl.Series, labels: Mapping[Any, str]) -> dict[Any, str] | None:
    """Return the codes of a column whose cells are all labels; None where they are not."""
    if column.dtype != pl.String or not labels or not all(isinstance(code, int | float) for code in labels):
        return None
    shown = set(column.drop_nulls().unique()) - {""}
    used = {code: text for code, text in labels.items() if text in shown}
    whole = all(float(code).is_integer() and abs(code) < 2**31 for code in used)
    short = all(len(text.encode()) <= package.label_bytes for text in used.values())
    return used if shown and whole and short and len(used) == len(shown) and set(used.values()) == shown else None


def _with_codes(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    texts, codes = list(labels.values()), [int(code) for code in labels]
    cells = column.alias("").replace_strict(texts, codes, default=None, return_dtype=pl.Int32)
    return cells.alias(column.name)


def _held(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        return column.cast(pl.String)
    other = column.dtype.is_decimal() or (column.dtype.is_integer() and column.dtype != pl.Int32)
    return column.cast(pl.Float64) if other else column
