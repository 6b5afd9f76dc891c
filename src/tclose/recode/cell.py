"""A published cell: how it is written, every way in which its text can be read, and what it says of original cells.

Writing and reading stand side by side, and one law binds them: `readings(text, form)` are exactly the cells of that
form whose writing is this text. Several cells can share one text, because a single value is written plain: the text
`x or missing` is a value of that spelling, or the value x beside missing ones.

| the class has | its cell is written |
|---|---|
| numbers or dates between two ends | `[low, high]`, both included; `low` alone where the ends are spelled alike |
| an end in a coded tail | `≤18` or `≥90` in the place of that end |
| values below a node of a hierarchy | the label of that node |
| several values without an order | `{a, b}`; a value with a comma, a brace or a quote is quoted as in JSON |
| numbers whose mean is published | the mean |
| a single value | that value, plain |
| missing cells besides | ` or missing` after any of these; `missing` where nothing else is there |

A `Cell` is everything that the original cells behind a published cell may have been, whatever its text. What a cell
leaves open is none here: an end that nobody knows, and the values below a label whose hierarchy the reader does not
have. Dates count microseconds since 1970.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.recode.typed_values import DAY, EPOCH, exact_texts
from tclose.table.classes import Classes
from tclose.table.hierarchies import ROOT, spell
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, extremes_of
from tclose.types import Bools, Ints

# How a cell is written, and read


MISSING = "missing"
OR_MISSING = f" or {MISSING}"
AT_MOST, AT_LEAST = "≤", "≥"
NUMBER = r"[+-]?[0-9][0-9eETZ:./+ -]*"  # also dates, moments, and fractions such as 1/3
ONE_END = re.compile(f"[{AT_MOST}{AT_LEAST}]?{NUMBER}")
TWO_ENDS = re.compile(rf"\[({AT_MOST}?{NUMBER}), ({AT_LEAST}?{NUMBER})\]")
MEAN = re.compile(NUMBER)
MEMBER = re.compile(r'"(?:[^"\\]|\\.)*"|[^",{}]*')
NEEDS_QUOTES = re.compile('[,{}"]')


@dataclass(frozen=True, slots=True)
class MissingCell:
    """Every value of the class is missing."""

    def bare(self) -> str:
        """Write the cell."""
        return MISSING


@dataclass(frozen=True, slots=True)
class RangeCell:
    """Numbers or dates from `low` to `high`; `≤18` and `≥90` are ends of coded tails."""

    low: str
    high: str
    missing: bool = False

    def bare(self) -> str:
        """Write the cell without its missing values."""
        return self.low if self.low == self.high else f"[{self.low}, {self.high}]"

    @classmethod
    def parse(cls, text: str, missing: bool) -> Iterator[RangeCell]:
        """Yield the cells that are written like this."""
        if ONE_END.fullmatch(text):
            yield cls(text, text, missing)
        elif (ends := TWO_ENDS.fullmatch(text)) and ends[1] != ends[2]:
            yield cls(ends[1], ends[2], missing)


@dataclass(frozen=True, slots=True)
class MeanCell:
    """The mean of a class's numbers."""

    mean: str
    missing: bool = False

    def bare(self) -> str:
        """Write the cell without its missing values."""
        return self.mean

    @classmethod
    def parse(cls, text: str, missing: bool) -> Iterator[MeanCell]:
        """Yield the cells that are written like this."""
        if MEAN.fullmatch(text):
            yield cls(text, missing)


@dataclass(frozen=True, slots=True)
class LabelCell:
    """A node of a hierarchy, whose label may be any text."""

    label: str
    missing: bool = False

    def bare(self) -> str:
        """Write the cell without its missing values."""
        return self.label

    @classmethod
    def parse(cls, text: str, missing: bool) -> Iterator[LabelCell]:
        """Yield the cells that are written like this."""
        yield cls(text, missing)


@dataclass(frozen=True, slots=True)
class SetCell:
    """The different values of a class, at least one, in the order of their column."""

    members: tuple[str, ...]
    missing: bool = False

    def bare(self) -> str:
        """Write the cell without its missing values."""
        return self.members[0] if len(self.members) == 1 else "{" + ", ".join(map(_quoted, self.members)) + "}"

    @classmethod
    def parse(cls, text: str, missing: bool) -> Iterator[SetCell]:
        """Yield the cells that are written like this."""
        yield cls((text,), missing)
        if text.startswith("{") and text.endswith("}") and (members := _split(text[1:-1])):
            several = cls(members, missing)
            if several.bare() == text:
                yield several


@dataclass(frozen=True, slots=True)
class ValueCell:
    """A cell of a kept column: published as it stands, missing values too."""

    text: str

    def bare(self) -> str:
        """Write the cell."""
        return self.text

    @classmethod
    def parse(cls, text: str, missing: bool) -> Iterator[ValueCell]:
        """Yield the cell that is written like this; nothing is added to it where values are missing."""
        if not missing:
            yield cls(text)


Spelling = MissingCell | RangeCell | MeanCell | LabelCell | SetCell | ValueCell
Form = type[RangeCell] | type[MeanCell] | type[LabelCell] | type[SetCell] | type[ValueCell]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if NEEDS_QUOTES.search(text) else text


def _split(text: str) -> tuple[str, ...] | None:
    """Return the members of a set from what stands between its braces; none where they are not members."""
    members, at = [], 0
    while member := MEMBER.match(text, at):
        try:
            members.append(str(json.loads(member[0])) if member[0].startswith('"') else member[0])
        except ValueError:  # an escape that JSON does not have
            return None
        at = member.end()
        if at == len(text):
            return tuple(members)
        if not text.startswith(", ", at):
            return None
        at += len(", ")
    return None


def write(cell: Spelling) -> str:
    """Write what a cell says.

    >>> write(RangeCell("20", "35")), write(SetCell(("a", "b, c"), missing=True)), write(LabelCell("021**"))
    ('[20, 35]', '{a, "b, c"} or missing', '021**')
    """
    if isinstance(cell, MissingCell | ValueCell) or not cell.missing:
        return cell.bare()
    return cell.bare() + OR_MISSING


def readings(text: str, form: Form) -> tuple[Spelling, ...]:
    """Return every cell of a form that is written like this; none where the form has no such text.

    >>> readings("[20, ≥90]", RangeCell)
    (RangeCell(low='20', high='≥90', missing=False),)
    >>> readings("x or missing", LabelCell)
    (LabelCell(label='x or missing', missing=False), LabelCell(label='x', missing=True))
    """
    cells: list[Spelling] = [*form.parse(text, missing=False)]
    if text.endswith(OR_MISSING):
        cells += form.parse(text.removesuffix(OR_MISSING), missing=True)
    if text == MISSING and form is not ValueCell:
        cells.append(MissingCell())
    return tuple(cells)


def class_texts(column: QuasiColumn, classes: Classes) -> list[str]:
    """Return the text that each class publishes."""
    texts, numbers = numbered_texts(column, classes)
    return [texts[number] for number in numbers.tolist()]


def numbered_texts(column: QuasiColumn, classes: Classes) -> tuple[list[str], Ints]:
    """Return texts, and the number of each class's text: what many classes show is written once."""
    cells, numbers = different_cells(column, classes)
    return [write(cell) for cell in cells], numbers


def different_cells(column: QuasiColumn, classes: Classes) -> tuple[list[Spelling], Ints]:
    """Return what cells say, and the number of each class's cell; ranges and labels are listed once."""
    if isinstance(column, SetColumn) or (isinstance(column, NumberColumn) and column.spec.publish == "mean"):
        cells = _sets(column, classes) if isinstance(column, SetColumn) else _means(column, classes)
        return list(cells), np.arange(len(classes))
    if isinstance(column, LabelColumn):
        (first, second, missing), spelled = column.nodes(classes), partial(_labels, column)
    else:
        extremes, spelled = extremes_of(column.codes, classes), partial(_ranges, column)
        first, second, missing = extremes.low, extremes.high, extremes.missing
    width = int(second.max()) + 2  # -1 stands for nothing but missing values
    different, numbers = np.unique(((first + 1) * width + second + 1) * 2 + missing, return_inverse=True)
    pairs, some_missing = np.divmod(different, 2)
    return list(spelled(pairs // width - 1, pairs % width - 1, some_missing > 0)), numbers


def _ranges(column: NumberColumn, lows: Ints, highs: Ints, some_missing: Bools) -> Iterator[Spelling]:
    ends = column.ends()
    for low, high, missing in zip(lows.tolist(), highs.tolist(), some_missing.tolist(), strict=True):
        yield MissingCell() if high < 0 else RangeCell(ends.low_texts[low], ends.high_texts[high], missing)


def _labels(column: LabelColumn, heights: Ints, nodes: Ints, some_missing: Bools) -> Iterator[Spelling]:
    labels = column.hierarchy.labels
    for height, node, missing in zip(heights.tolist(), nodes.tolist(), some_missing.tolist(), strict=True):
        yield MissingCell() if node < 0 else LabelCell(labels[height][node], missing)


def _sets(column: SetColumn, classes: Classes) -> Iterator[Spelling]:
    codes, starts = column.members(classes)
    for members in np.split(codes, starts[1:]):
        texts = tuple(column.values.texts[code] for code in members.tolist() if code >= 0)
        yield SetCell(texts, bool(members[0] < 0)) if texts else MissingCell()


def _means(column: NumberColumn, classes: Classes) -> Iterator[Spelling]:
    """Yield the mean of each class, with one digit more than the values have."""
    values = column.values
    assert values.units is not None
    digits = values.scale + 1
    for codes in np.split(column.codes[classes.rows], classes.starts[1:]):
        present = codes[codes >= 0]
        if not len(present):
            yield MissingCell()
            continue
        mean = Fraction(sum(int(unit) for unit in values.units[present]), len(present) * 10**values.scale)
        yield MeanCell(spell(Fraction(round(mean * 10**digits), 10**digits)), len(present) < len(codes))


# What a cell says


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
        raise InputError(
            "column '{name}' has ends that are neither decimal numbers nor dates: use --format text",
            name=name,
        )
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
        raise InputError(
            "the label '{label}' is no interval of the hierarchy by width that the certificate names", label=label
        )
    return low, high


def _unit(label: str, of_days: bool = False) -> tuple[Fraction, Fraction]:
    """Return the first moment of a unit of dates, and the first after it; a leaf is one moment.

    With `of_days`, a day may also be the unit of moments.
    """
    unit = UNIT.fullmatch(label)
    if unit is None:
        kind, moments = exact_texts([label])
        if kind != "date":
            raise InputError(
                "the label '{label}' is no unit of the hierarchy by date that the certificate names", label=label
            )
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
