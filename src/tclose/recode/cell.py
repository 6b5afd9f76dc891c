"""A published cell: everything that the original cells behind it may have been, whatever its text.

`spelling.py` says how cells are written. What a cell leaves open is none here: an end that nobody knows, and the values
below a label whose hierarchy the reader does not have. Dates count microseconds since 1970.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.recode.spelling import AT_LEAST, AT_MOST, LabelCell, MeanCell, MissingCell, RangeCell, SetCell, Spelling
from tclose.recode.typed_values import DAY, EPOCH, USE_TEXT, exact_texts
from tclose.table.builders import ROOT

CellKind = Literal["number", "date", "text"]
LeavesBelow = Callable[[str], Sequence[str] | None]  # none where the reader does not know them

BIN = re.compile(r"([(\[])([^,]+), ([^,]+)\]")  # of a sensitive column: (low, high], the first one [low, high]
INTERVAL = re.compile(r"\[([^,]+), ([^,]+)\)")  # of a hierarchy by width
UNIT = re.compile(r"([0-9]{3})0s|([0-9]{4})(?:-Q([1-4])|-([0-9]{2}))?")  # of a hierarchy by date, days aside


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one published cell says."""

    kind: CellKind
    low: Fraction | None = None  # of numbers and dates: the smallest that the value may be; none where it is open
    high: Fraction | None = None
    above_low: bool = False  # the value lies above `low`, and is not equal to it
    below_high: bool = False
    bottom: Fraction | None = None  # of an open end: where the coded tail ends that it lies in
    top: Fraction | None = None
    mean: Fraction | None = None  # of the class, rounded; the values themselves are open then
    values: tuple[str, ...] | None = ()  # of text: all that the value may be; none where that is unknown
    label: str | None = None  # of a hierarchy
    missing: bool = False  # whether the value may be missing
    present: bool = True  # whether there may be a value at all

    @property
    def exact(self) -> bool:
        """Whether the cell leaves nothing open."""
        if self.missing or not self.present:
            return not self.present
        if self.kind == "text":
            return self.values is not None and len(self.values) == 1
        return self.low is not None and self.low == self.high


def cells_of(spellings: Sequence[Spelling], name: str, below: LeavesBelow = lambda _: None) -> list[Cell]:
    """Return what the different cells of one column say; `below` returns the leaves below a label."""
    kind, value_of = _values(spellings, name)
    return [_cell(spelled, kind, value_of, below) for spelled in spellings]


def _values(spellings: Sequence[Spelling], name: str) -> tuple[CellKind, Mapping[str, Fraction]]:
    """Return the kind of a column's cells, and the number or date that each end or mean spells."""
    ends = [end for spelled in spellings for end in _ends(spelled)]
    if not ends:
        of_text = any(isinstance(spelled, SetCell | LabelCell) for spelled in spellings)
        return "text" if of_text else "number", {}
    kind, exact = exact_texts(ends)
    if kind not in ("number", "date"):
        raise InputError(f"column '{name}' has ends that are neither decimal numbers nor dates: {USE_TEXT}")
    return kind, dict(zip(ends, exact, strict=True))


def _ends(spelled: Spelling) -> tuple[str, ...]:
    """Return the numbers or dates that stand in a cell, without the signs of coded tails."""
    match spelled:
        case RangeCell():
            return plain_end(spelled.low), plain_end(spelled.high)
        case MeanCell():
            return (spelled.mean,)
        case _:
            return ()


def plain_end(end: str) -> str:
    """Return the number of an end, without the sign of a coded tail."""
    return end.lstrip(AT_MOST + AT_LEAST)


def _cell(spelled: Spelling, kind: CellKind, value_of: Mapping[str, Fraction], below: LeavesBelow) -> Cell:
    match spelled:
        case MissingCell():
            return missing_cell(kind)
        case RangeCell():
            return range_cell(spelled, kind, value_of[plain_end(spelled.low)], value_of[plain_end(spelled.high)])
        case MeanCell():
            return Cell(kind=kind, mean=value_of[spelled.mean], missing=spelled.missing)
        case LabelCell():
            leaves = below(spelled.label)
            known = None if leaves is None else tuple(leaves)
            return Cell(kind="text", values=known, label=spelled.label, missing=spelled.missing)
        case SetCell():
            return Cell(kind="text", values=spelled.members, missing=spelled.missing)
        case _:
            raise TypeError("a kept cell is published as it is")


def missing_cell(kind: CellKind) -> Cell:
    """Return a cell behind which no value is."""
    return Cell(kind=kind, missing=True, present=False)


def range_cell(spelled: RangeCell, kind: CellKind, low: Fraction, high: Fraction) -> Cell:
    """Return what a range says whose ends spell these numbers; an end in a coded tail is open."""
    bottom, top = spelled.low.startswith(AT_MOST), spelled.high.startswith(AT_LEAST)
    return Cell(
        kind=kind,
        low=None if bottom else low,
        high=None if top else high,
        bottom=low if bottom else None,
        top=high if top else None,
        missing=spelled.missing,
    )


def bin_cells(labels: Sequence[str]) -> dict[str, Cell] | None:
    """Return what the labels of bins say; none where one of them is no bin, or no bin begins where another ends."""
    found = [BIN.fullmatch(label) for label in labels]
    ends = [end for each in found if each is not None for end in each.group(2, 3)]
    edges = [_number(end) for end in ends]
    if not labels or None in found or None in edges or edges[1:-1:2] != edges[2::2]:
        return None
    pairs = zip(labels, found, edges[::2], edges[1::2], strict=True)
    return {
        label: Cell(kind="number", low=low, high=high, above_low=each is not None and each[1] == "(")
        for label, each, low, high in pairs
    }


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def rule_cell(label: str, rule: Builder, *, missing: bool) -> Cell:
    """Return what a label says that a rule made of numbers or dates; everything is open below the root."""
    kind: CellKind = "number" if rule.kind == "width" else "date"
    if label == ROOT:
        return Cell(kind=kind, label=label, missing=missing)
    low, high = _interval(label) if rule.kind == "width" else _unit(label, "day" in rule.levels)
    return Cell(kind=kind, low=low, high=high, below_high=low != high, label=label, missing=missing)


def _interval(label: str) -> tuple[Fraction, Fraction]:
    ends = INTERVAL.fullmatch(label)
    low, high = (_number(end) for end in (ends.groups() if ends else (label, label)))
    if low is None or high is None:
        raise InputError(f"the label '{label}' is no interval of the hierarchy by width that the certificate names")
    return low, high


def _unit(label: str, of_days: bool = False) -> tuple[Fraction, Fraction]:
    """Return the first moment of a unit of dates, and the first after it; a leaf is one moment.

    With `of_days`, a day may also be the unit of moments.
    """
    unit = UNIT.fullmatch(label)
    if unit is None:
        kind, moments = exact_texts([label])
        if kind != "date":
            raise InputError(f"the label '{label}' is no unit of the hierarchy by date that the certificate names")
        return moments[0], moments[0] + (DAY if of_days and len(label) == len("2024-03-31") else 0)
    decade, year, quarter, month = unit.groups()
    if decade is not None:
        return _month(int(decade) * 10, 0), _month(int(decade) * 10, 120)
    begins, months = ((int(quarter) - 1) * 3, 3) if quarter else (int(month) - 1, 1) if month else (0, 12)
    return _month(int(year), begins), _month(int(year), begins + months)


def _month(year: int, months: int) -> Fraction:
    """Return the first moment of a month, counted from January of a year; the years 0 and 10000 are possible."""
    days = datetime.date(2000 + (year + months // 12) % 400, months % 12 + 1, 1) - EPOCH.date()
    return Fraction(((year + months // 12) // 400 * 146_097 + days.days - 2000 // 400 * 146_097) * DAY)


@dataclass(frozen=True)
class PrefixRule:
    """Tests which values lie below the labels of a hierarchy by prefix; all its labels are as long as `longest`."""

    lengths: tuple[int, ...]
    longest: int

    @classmethod
    def of(cls, rule: Builder, labels: Sequence[str]) -> PrefixRule:
        """Take a rule, and the labels that were published."""
        longest = max(map(len, labels), default=0)
        return cls(tuple(length for length in rule.levels if length < longest), longest)

    def covers(self, label: str, text: str) -> bool:
        """Tell whether a value, or another label, lies below a label or is it."""
        return label in (text, ROOT) or any(self._label(text, length) == label for length in self.lengths)

    def _label(self, text: str, length: int) -> str:
        return text[:length].ljust(self.longest, "*")
