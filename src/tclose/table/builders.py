"""Hierarchies by rule: prefixes of text (ZIP codes), intervals of numbers, units of dates."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.table.hierarchy import Hierarchy

if TYPE_CHECKING:
    from tclose.table.values import ValueList  # which spells numbers by this module

ROOT = "*"


def build(builder: Builder, values: ValueList, longest: int = 0) -> Hierarchy:
    """Make the hierarchy over the values that a column shows; prefixes are padded to at least `longest`."""
    name = f"the hierarchy of '{values.name}'"
    if builder.kind == "rows":
        return Hierarchy.from_rows(builder.levels, name=name)
    by_rule: dict[str, Callable[[Builder, ValueList], list[tuple[str, ...]]]] = {
        "prefix": partial(_by_prefix, longest),
        "width": _by_width,
        "date": _by_date,
    }
    paths = by_rule[builder.kind](builder, values)
    return Hierarchy.from_rows([(*path, ROOT) for path in paths or [()]], name=name, by_rule=True)


def _by_prefix(least: int, builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    longest = max([least, *map(len, values.texts)])
    lengths = [length for length in builder.levels if length < longest]
    return [(text, *(text[:length].ljust(longest, "*") for length in lengths)) for text in values.texts]


def _by_width(builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    if values.kind != "number" or values.units is None:
        raise InputError(f"column '{values.name}' is not all numbers, so it has no intervals of a width")
    exact = [Fraction(int(unit), 10**values.scale) for unit in values.units]
    return [
        (text, *(_interval(number, width) for width in builder.levels))
        for text, number in zip(values.texts, exact, strict=True)
    ]


def _interval(number: Fraction, width: Fraction) -> str:
    low = number // width * width
    return f"[{spell(low)}, {spell(low + width)})"


def spell(number: Fraction) -> str:
    """Spell a number as a decimal, or as a fraction where no decimal is exact.

    >>> spell(Fraction(5, 2)), spell(Fraction(20)), spell(Fraction(1, 3))
    ('2.5', '20', '1/3')
    """
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{number.numerator}/{number.denominator}"
    places = next(p for p in range(number.denominator.bit_length() + 1) if 10**p % number.denominator == 0)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if number < 0 else "") + whole + (f".{part}" if part else "")


def _by_date(builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    if values.kind != "date":
        raise InputError(f"column '{values.name}' is not all dates such as 2024-03-31")
    days = [datetime.date.fromisoformat(text[:10]) for text in values.texts]
    units = (
        builder.levels if any(len(text) > 10 for text in values.texts) else [u for u in builder.levels if u != "day"]
    )
    return [(text, *(_unit(day, unit) for unit in units)) for text, day in zip(values.texts, days, strict=True)]


def _unit(day: datetime.date, unit: str) -> str:
    return {
        "day": day.isoformat(),
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10:03}0s",
    }[unit]
