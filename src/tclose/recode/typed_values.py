"""Cells as the exact values that they spell, and back: what typed columns of a release are made of.

A number has one plain spelling here, and so has a date. So two files hold the same values if these spellings agree,
whatever types their format has.
"""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.table.hierarchies import spell
from tclose.table.values import Kind, ValueList, exact_values, values_of

DAY = 86_400_000_000  # in microseconds, which dates are counted in
EPOCH = datetime.datetime(1970, 1, 1)
LARGEST = 2**63 - 1  # of 64 bits, signed
USE_TEXT = "use --format text"


def plain(column: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """Return the cells as text with one spelling for each number and each date; a missing cell is null.

    >>> plain(pl.Series("pay", ["1.50", "2", ""])).to_list()
    ['1.5', '2', None]
    """
    values = values_of(column, missing)
    texts = pl.Series([*plain_texts(values.domain), None], dtype=pl.String)
    return texts.gather(np.where(values.codes < 0, len(texts) - 1, values.codes)).alias(column.name)


def plain_texts(values: ValueList) -> list[str]:
    """Return the one spelling of each value."""
    if values.units is None or values.kind not in ("number", "date"):
        return list(values.texts)
    exact = [Fraction(int(unit), 10**values.scale) for unit in values.units.tolist()]
    return [spell(value) if values.kind == "number" else date_text(value) for value in exact]


def date_text(moment: Fraction) -> str:
    """Spell a date, with its time where it has one.

    >>> date_text(Fraction(0)), date_text(Fraction(3_600_000_000))
    ('1970-01-01', '1970-01-01T01:00:00')
    """
    if moment.denominator != 1:
        raise InputError("typed columns hold dates up to microseconds, not finer ones: use --format text")
    found = EPOCH + datetime.timedelta(microseconds=int(moment))
    return found.date().isoformat() if moment % DAY == 0 else found.isoformat()


def typed(column: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Return a column that is published as it is with numbers as numbers, dates as dates and missing cells as null.

    A number that no typed column holds exactly is refused.
    """
    values = values_of(column, missing)
    domain, absent = values.domain, values.codes < 0
    if column.dtype != pl.String or domain.kind not in ("number", "date"):
        cells = column.alias("")
        return pl.select(pl.when(pl.Series(~absent)).then(cells)).to_series().alias(column.name)
    cells = of_kind(domain.kind, [*exact(domain), None], column.name)
    return cells.gather(np.where(absent, len(cells) - 1, values.codes)).alias(column.name)


def exact(values: ValueList) -> list[Fraction]:
    """Return the values as exact numbers; dates count microseconds."""
    assert values.units is not None
    return [Fraction(int(unit), 10**values.scale) for unit in values.units.tolist()]


def exact_texts(texts: Sequence[str]) -> tuple[Kind, list[Fraction]]:
    """Read texts that are all numbers or all dates; `mixed` where they are neither, or several."""
    kinds: tuple[Kind, ...] = ("number", "date")
    for kind in kinds:
        found = [value for value in exact_values(texts, kind) if value is not None]
        if len(found) == len(texts):
            return kind, found
    return "mixed", []


def numbers(values: Sequence[Fraction | None], name: str) -> pl.Series:
    """Return numbers as integers where all are whole, else as floats; a number that neither holds is refused."""
    known = [value for value in values if value is not None]
    if all(value.denominator == 1 for value in known):
        if any(abs(value) > LARGEST for value in known):
            raise InputError("column '{name}' has a whole number beyond 64 bits: use --format text", name=name)
        return pl.Series([None if value is None else int(value) for value in values], dtype=pl.Int64)
    if not all(_is_float(value) for value in known):
        raise InputError("column '{name}' has a number that no float holds exactly: use --format text", name=name)
    return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)


def _is_float(value: Fraction) -> bool:
    """Tell whether the shortest spelling of the nearest float is this number."""
    try:
        return Fraction(repr(float(value))) == value
    except (OverflowError, ValueError):
        return False


def float_near(value: Fraction, towards: int = 0) -> float:
    """Return the nearest float; with `towards` -1 or 1, the nearest whose shortest spelling is not above, or below.

    >>> float_near(Fraction(1, 3)), float_near(Fraction(1, 3), 1), float_near(Fraction(1, 10), 1)
    (0.3333333333333333, 0.33333333333333337, 0.1)
    """
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    while towards and math.isfinite(near) and (Fraction(repr(near)) - value) * towards < 0:
        near = math.nextafter(near, towards * math.inf)
    if math.isinf(near) and (towards == 0 or near * towards < 0):
        return math.copysign(sys.float_info.max, near)
    return near


def numbers_near(values: Sequence[Fraction | None], towards: int) -> pl.Series:
    """Return numbers as a typed column; if one of them has no exact type, all are floats, rounded `towards` -1 or 1."""
    try:
        return numbers(values, "")
    except InputError:
        near = [None if value is None else float_near(value, towards) for value in values]
        return pl.Series(near, dtype=pl.Float64)


def dates(values: Sequence[Fraction | None]) -> pl.Series:
    """Return dates as dates, or as moments where one of them has a time."""
    whole = [None if value is None else _microseconds(value) for value in values]
    moments = pl.Series(whole, dtype=pl.Int64).cast(pl.Datetime("us"))
    return moments.cast(pl.Date) if all(moment is None or moment % DAY == 0 for moment in whole) else moments


def _microseconds(moment: Fraction) -> int:
    date_text(moment)
    return int(moment)


def of_kind(kind: Kind, values: Sequence[Fraction | None], name: str) -> pl.Series:
    """Return numbers or dates as a typed column."""
    return dates(values) if kind == "date" else numbers(values, name)


def middles(kind: Kind, ends: Sequence[tuple[Fraction | None, Fraction | None]]) -> pl.Series:
    """Return the midpoints of ranges, as floats; of days, the day that the midpoint lies in. An open range has none."""
    found = [None if low is None or high is None else (low + high) / 2 for low, high in ends]
    if kind != "date":
        return pl.Series([None if middle is None else float(middle) for middle in found], dtype=pl.Float64)
    days = all(end is None or end % DAY == 0 for pair in ends for end in pair)
    whole = [None if middle is None else Fraction(middle // DAY * DAY if days else middle // 1) for middle in found]
    return dates(whole) if days else pl.Series([None if w is None else int(w) for w in whole]).cast(pl.Datetime("us"))
