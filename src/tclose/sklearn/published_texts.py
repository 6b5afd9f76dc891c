"""What the classes of a fitted table publish in one column, and how far a new value is from each text.

Everything here comes from published texts and from the policy, so that a fitted model that is passed on holds no value
of the table that its release does not show. A distance is 0 where the text covers the value, and at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.recode.covering import LARGEST, worth_of
from tclose.recode.meaning import KnownValues, form_of
from tclose.recode.spelling import (
    AT_LEAST,
    AT_MOST,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    ValueCell,
    readings,
)
from tclose.table import builders
from tclose.table.hierarchy import Hierarchy
from tclose.table.quasi import LabelColumn, QuasiColumn
from tclose.table.values import Kind, Values, exact_values
from tclose.types import Bools, Floats

PathsOf = Callable[[Values], list[set[str]]]  # the labels that cover each value of a column


@dataclass(frozen=True, eq=False)
class NumberTexts:
    """Ranges or means of numbers or dates: their ends, which are infinite where a coded tail leaves them open."""

    kind: Kind
    low: Floats  # NaN where nothing but "missing" is published
    high: Floats
    missing: Bools  # whether each text covers a missing value

    @classmethod
    def of(cls, texts: Sequence[str], form: Form, kind: Kind) -> NumberTexts:
        """Read the texts of a column."""
        known = KnownValues(kind, (), ())
        cells = [readings(text, form)[0] for text in texts]
        ends = np.array([_ends(cell, known) for cell in cells])
        return cls(kind, ends[:, 0], ends[:, 1], np.array([_covers_missing([cell]) for cell in cells]))

    @property
    def span(self) -> float:
        """How far the published ends lie apart; 1 where they do not."""
        ends = np.concatenate([self.low, self.high])
        ends = ends[np.isfinite(ends)]
        return float(np.ptp(ends)) or 1.0 if len(ends) else 1.0

    def distances(self, values: Values) -> Floats:
        """Return values × texts, with a missing value last."""
        if values.texts and values.kind != self.kind:
            raise InputError(f"column '{values.name}' is not all {self.kind}s, as that of the fitted table is")
        worth = worth_of(values.domain)
        given = np.zeros((0, 1)) if worth is None or not values.texts else worth[:, None]
        gaps = np.maximum(np.maximum(self.low - given, given - self.high), 0.0) / self.span
        return np.vstack([np.where(np.isnan(gaps), 1.0, gaps / (1.0 + gaps)), 1.0 - self.missing])

    def breadths(self) -> Floats:
        """Return how wide each text is."""
        return np.nan_to_num(np.minimum((self.high - self.low) / self.span, 1.0), nan=0.0)

    def midpoints(self) -> Floats:
        """Return the middle of the published ends; the only end of a coded tail, and days since 1970 for dates."""
        low = np.where(np.isinf(self.low), self.high, self.low)
        middle = (low + np.where(np.isinf(self.high), self.low, self.high)) / 2
        return middle / MICROSECONDS_PER_DAY if self.kind == "date" else middle


MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class NamedTexts:
    """Labels of a hierarchy, sets of values, or kept values: the names that each text can stand for."""

    names: tuple[frozenset[str], ...]  # of each text
    missing: Bools
    paths_of: PathsOf

    @classmethod
    def of(cls, texts: Sequence[str], form: Form, paths_of: PathsOf, missing: Sequence[str] = ()) -> NamedTexts:
        """Read the texts of a column in every way that the grammar allows; `missing` are cells that mean "missing"."""
        ways = [readings(text, form) for text in texts]
        covers = [_covers_missing(cells) or text in missing for cells, text in zip(ways, texts, strict=True)]
        return cls(tuple(map(_names, ways)), np.array(covers), paths_of)

    def distances(self, values: Values) -> Floats:
        """Return values × texts, with a missing value last."""
        covered = np.zeros((len(values.texts) + 1, len(self.names)), dtype=bool)
        for row, path in zip(covered, self.paths_of(values), strict=False):
            row[[number for name in path for number in self._texts_with.get(name, ())]] = True
        covered[-1] = self.missing
        return 1.0 - covered

    @cached_property
    def _texts_with(self) -> dict[str, list[int]]:
        """The numbers of the texts that can stand for each name."""
        found: dict[str, list[int]] = {}
        for number, names in enumerate(self.names):
            for name in names:
                found.setdefault(name, []).append(number)
        return found

    def breadths(self) -> Floats:
        """Return how many names each text has, as a share of the most."""
        sizes = np.array([len(names) for names in self.names], dtype=np.float64)
        return sizes / max(float(sizes.max(initial=1.0)), 1.0)

    def midpoints(self) -> None:
        """Return nothing: names have no middle."""


PublishedTexts = NumberTexts | NamedTexts


def texts_of(column: QuasiColumn, texts: Sequence[str]) -> PublishedTexts:
    """Take the texts that classes publish for a quasi-identifier; of the column, its kind and its rule are kept."""
    form = form_of(column)
    if isinstance(column, LabelColumn):
        by_rule = column.builder is not None and column.builder.kind != "rows"
        return NamedTexts.of(texts, form, _Paths(column.builder if by_rule else None, column.hierarchy, texts))
    if form in (RangeCell, MeanCell):
        return NumberTexts.of(texts, form, column.values.kind)
    return NamedTexts.of(texts, form, _alone)


def kept_texts(texts: Sequence[str], missing: Sequence[str]) -> PublishedTexts:
    """Take the texts of a kept column."""
    return NamedTexts.of(texts, ValueCell, _alone, missing)


def _alone(values: Values) -> list[set[str]]:
    return [{text} for text in values.texts]


class _Paths:
    """Finds the labels above new values: by the policy's rule, or in the hierarchy that the policy lists."""

    def __init__(self, rule: Builder | None, listed: Hierarchy, texts: Sequence[str]) -> None:
        self._rule, self._listed = rule, None if rule is not None else listed  # a rule's tree holds the table's values
        self._longest = max(map(len, texts))  # as long as a published prefix is

    def __call__(self, values: Values) -> list[set[str]]:
        if not values.texts:
            return []
        if self._rule is None:
            assert self._listed is not None
            return _above(self._listed, values)
        if self._rule.kind == "prefix":
            lengths = [length for length in self._rule.levels if length < self._longest]
            return [{text, builders.ROOT, *self._prefixes(text, lengths)} for text in values.texts]
        return _above(builders.build(self._rule, values.domain), values)

    def _prefixes(self, text: str, lengths: Sequence[int]) -> Iterator[str]:
        return (text[:length].ljust(self._longest, "*") for length in lengths)


def _above(tree: Hierarchy, values: Values) -> list[set[str]]:
    """Return the labels above each value, found by text or by size (39.0 is 39); the root is above all."""
    root, paths = tree.labels[-1][0], {path[0]: set(path) for path in tree.rows()}
    by_size: dict[Fraction | None, set[str]] = {}
    sizes: Sequence[Fraction | None] = [None] * len(values.texts)
    if values.units is not None:
        numbers = exact_values(tree.leaves, values.kind)
        by_size = {number: paths[leaf] for leaf, number in zip(tree.leaves, numbers, strict=True) if number is not None}
        sizes = exact_values(values.texts, values.kind)
    return [
        {text, *(paths.get(text) or by_size.get(size) or {root})}
        for text, size in zip(values.texts, sizes, strict=True)
    ]


def _ends(cell: Spelling, known: KnownValues) -> tuple[float, float]:
    """Return the two ends of a range, or a mean twice."""
    match cell:
        case MeanCell(mean):
            return (_float(known, mean),) * 2
        case RangeCell(low, high):
            return (
                -np.inf if low.startswith(AT_MOST) else _float(known, low),
                np.inf if high.startswith(AT_LEAST) else _float(known, high),
            )
    return np.nan, np.nan


def _float(known: KnownValues, text: str) -> float:
    number = known.number(text.lstrip(AT_MOST + AT_LEAST))
    assert number is not None, "a published end is a number"
    return float(number) if abs(number) < LARGEST else math.copysign(LARGEST, number)


def _names(cells: Sequence[Spelling]) -> frozenset[str]:
    names: set[str] = set()
    for cell in cells:
        match cell:
            case LabelCell(label):
                names.add(label)
            case SetCell(members):
                names.update(members)
            case ValueCell(text):
                names.add(text)
    return frozenset(names)


def _covers_missing(cells: Sequence[Spelling]) -> bool:
    return any(isinstance(cell, MissingCell) or getattr(cell, "missing", False) for cell in cells)
