"""The cells that typed columns hold, each different one once: how a reader of a release sees it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import polars as pl

from tclose.recode.cell import Cell, CellKind
from tclose.recode.typed import ALL, BOTTOM, HIGH, LABEL, LOW, MEAN, MISSING_ROWS, SOME, TOP, listed_as_text
from tclose.recode.typed_values import EPOCH
from tclose.table.classes import classes_of
from tclose.types import Ints

MICROSECOND = datetime.timedelta(microseconds=1)


def read_cells(parts: Mapping[str, pl.Series], *, leaves: bool = True) -> tuple[tuple[Cell, ...], Ints]:
    """Return the different cells of a column, by what typed columns add to its name, and which of them each row has.

    Without `leaves`, the lists of a hierarchy hold labels, and nobody knows the values below them.
    """
    classes = classes_of(pl.DataFrame([listed_as_text(part).alias(suffix) for suffix, part in parts.items()]))
    places = classes.rows[classes.starts]
    kind = _kind(parts)
    columns = {suffix: part[places].to_list() for suffix, part in parts.items()}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return tuple(_cell(said, kind, leaves) for said in rows), classes.labels_by_row()


def _kind(parts: Mapping[str, pl.Series]) -> CellKind:
    if LOW in parts:
        return "date" if parts[LOW].dtype.is_temporal() else "number"
    return "number" if MEAN in parts else "text"


def _cell(said: Mapping[str, Any], kind: CellKind, leaves: bool) -> Cell:
    word = said.get(MISSING_ROWS)
    if word == ALL or (LOW in said and all(said.get(suffix) is None for suffix in (LOW, HIGH, BOTTOM, TOP))):
        return Cell(kind=kind, missing=True, present=False)
    low, high, bottom, top, mean = (exact_number(said.get(suffix)) for suffix in (LOW, HIGH, BOTTOM, TOP, MEAN))
    values = tuple(said.get("") or ())
    known = values if leaves else None
    label = said.get(LABEL, values[0] if not leaves and values else None)
    return Cell(
        kind=kind,
        low=low,
        high=high,
        bottom=bottom,
        top=top,
        mean=mean,
        values=known,
        label=label,
        missing=word == SOME,
    )


def exact_number(value: Any) -> Fraction | None:
    """Return a number exactly, a float as its shortest spelling, and a date as microseconds since 1970.

    >>> exact_number(0.1), exact_number(datetime.date(1970, 1, 2))
    (Fraction(1, 10), Fraction(86400000000, 1))
    """
    if value is None:
        return None
    if isinstance(value, datetime.date):
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3])
        return Fraction((moment.replace(tzinfo=None) - EPOCH) // MICROSECOND)
    return Fraction(repr(value) if isinstance(value, float) else value)
