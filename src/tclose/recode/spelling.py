"""The grammar of published cells: what a cell says, how that is written, and every way in which a text can be read.

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
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tclose.table.builders import spell
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, extremes_of
from tclose.types import Bools, Ints

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


def published(column: QuasiColumn, classes: Classes) -> list[str]:
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
