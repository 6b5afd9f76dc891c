"""An estimate: what is expected, and bounds that hold; bounds are rounded outwards where no float is exact."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from tclose.recode.typed_values import EPOCH, float_near

WHOLE = range(-(2**63), 2**63)  # what a column of whole numbers holds

Number = Fraction | float  # a float is infinite, or no number at all


@dataclass(frozen=True)
class Estimate:
    """What is expected under an even spread, and the bounds between which the original table's figure lies.

    `needs` says what is needed for bounds where the release alone gives none, or none about the original table.
    """

    expected: Any
    lower: Any
    upper: Any
    needs: str = ""

    def __repr__(self) -> str:
        """Show the figures; what is needed only where something is."""
        needs = f", needs={self.needs!r}" if self.needs else ""
        return f"Estimate(expected={self.expected!r}, lower={self.lower!r}, upper={self.upper!r}{needs})"


def estimate(expected: Number, lower: Number, upper: Number, *, is_date: bool = False, needs: str = "") -> Estimate:
    """Return exact figures as people know them: the expected one within the bounds, dates as dates."""
    if not (_is_nan(expected) or _is_nan(lower)):
        expected = min(max(expected, lower), upper)
    shown = _date if is_date else _number
    return Estimate(shown(expected, 0), shown(lower, -1), shown(upper, 1), needs)


def _is_nan(number: Number) -> bool:
    return isinstance(number, float) and math.isnan(number)


def _number(number: Number, towards: int) -> float | int:
    """Return a float whose shortest spelling is the number, else a whole number, else the next float `towards` it."""
    if isinstance(number, float):
        return number
    near = float_near(number)
    if Fraction(repr(near)) == number:
        return near
    return int(number) if number.denominator == 1 else float_near(number, towards)


def _date(number: Number, towards: int) -> datetime.datetime | float:
    """Return a moment, to the microsecond."""
    if isinstance(number, float):
        return number
    microseconds = math.floor(number) if towards < 0 else math.ceil(number) if towards else round(number)
    try:
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        return math.copysign(math.inf, number)


def series(figures: Sequence[Any], *, towards: int, is_date: bool) -> pl.Series:
    """Return figures of estimates as one column; where it has fractions too, whole numbers are rounded `towards`.

    A column of dates has no open ends: they are null there.
    """
    if is_date:
        moments = [figure if isinstance(figure, datetime.datetime) else None for figure in figures]
        return pl.Series(moments, dtype=pl.Datetime("us"))
    if figures and all(isinstance(figure, int) and figure in WHOLE for figure in figures):
        return pl.Series(figures, dtype=pl.Int64)
    floats = [float_near(Fraction(each), towards) if isinstance(each, int) else each for each in figures]
    return pl.Series(floats, dtype=pl.Float64)
