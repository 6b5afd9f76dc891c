"""Cells below a limit, such as <0.2: the setting `below`, which says at which number they are placed.

Such a cell is a number above 0 and below its limit. It is compared as the number at which it is placed, and published
as a range or a bin that holds everything from 0 to the limit, never as that number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose.errors import Mistakes, PolicyError
from tclose.policy import settings

LIMIT = re.compile(r"\s*(?:<=?|≤)\s*(?=[0-9.,])([0-9]*)(?:[.,]([0-9]+))?\s*")
BEYOND = re.compile(r"\s*(?:>=?|≥)\s*[0-9]+(?:[.,][0-9]+)?\s*|\s*[0-9]+(?:[.,][0-9]+)?\s*\+\s*")
HALF = "half"
ANY = "<"  # among the cells that are no numbers: all cells below a limit


@dataclass(frozen=True)
class Below:
    """Where cells below a limit are placed: the number of each cell, or, without cells, half of its limit."""

    cells: Mapping[str, Fraction] | None = None

    @property
    def setting(self) -> Any:
        """The setting as a policy file has it."""
        if self.cells is None:
            return HALF
        return {cell: settings.spelled(number) for cell, number in self.cells.items()}

    @property
    def unread(self) -> tuple[str, ...]:
        """The cells that a reader of the file need not take for numbers."""
        return (ANY,) if self.cells is None else tuple(self.cells)

    def place_of(self, cell: str) -> tuple[Fraction, Fraction] | None:
        """Return the number at which a cell is placed, and its limit; None where it is no cell below a limit.

        >>> Below().place_of("<0,2")
        (Fraction(1, 10), Fraction(1, 5))
        """
        limit = limit_of(cell)
        if limit is None or (self.cells is not None and cell not in self.cells):
            return None
        return (limit / 2 if self.cells is None else self.cells[cell]), limit


def limit_of(cell: str) -> Fraction | None:
    """Return the limit of a cell such as <0.2 or <0,2; None where it is none, or can be read in two ways.

    In <1,234 and <1.234 the mark may stand before decimals or between thousands.

    >>> limit_of("< 0,2"), limit_of("<.125"), limit_of("<1,234"), limit_of("<1.234"), limit_of(">500")
    (Fraction(1, 5), Fraction(1, 8), None, None, None)
    """
    found = LIMIT.fullmatch(cell)
    if found is None:
        return None
    whole, decimals = found.groups(default="")
    if len(decimals) == 3 and whole.strip("0") and len(whole) <= 3:
        return None
    return Fraction(f"{whole or 0}.{decimals or 0}") or None


def read_below(value: object, place: str) -> Below:
    """Read where cells below a limit are placed."""
    if isinstance(value, Below):
        value = value.setting
    if value == HALF:
        return Below()
    if not isinstance(value, Mapping) or not value:
        raise PolicyError('expected "half", or a number for each cell, as in { "<0,2" = 0.1 }', place=place)
    numbers, mistakes = {}, Mistakes()
    for cell, number in value.items():
        with mistakes.collected():
            numbers[str(cell)] = _number(str(cell), number, settings.join(place, str(cell)))
    mistakes.report()
    return Below(numbers)


def _number(cell: str, value: object, place: str) -> Fraction:
    if BEYOND.fullmatch(cell):
        raise PolicyError(
            "this cell lies above a limit, and below is for cells under one: list it in missing, or write the limit as "
            "a number in the table (a quasi-identifier then publishes it as top = LIMIT)",
            place=place,
        )
    limit = limit_of(cell)
    if limit is None:
        raise PolicyError(
            'expected a cell such as "<0.2" or "<0,2", with a limit above 0 that can be read in one way only',
            place=place,
        )
    number = settings.number(value, place)
    if not 0 < number <= limit:
        raise PolicyError("the number must lie above 0, and at the limit or below it", place=place)
    if 10**settings.MOST_DIGITS % number.denominator:
        raise PolicyError("expected a decimal number, such as 0.1", place=place)
    return number
