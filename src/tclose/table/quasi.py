"""Quasi-identifiers: a domain, learned once, that knows what a class loses on it (NCP), and the code of every row.

A number or a date loses its range, a label the share of leaves below the published node, text the share of the
domain in the published set. A missing cell is an ordinary value: code -1 here, "or missing" in print.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import PolicyError
from tclose.messages import say
from tclose.policy import Builder, Quasi
from tclose.policy.settings import join
from tclose.table import hierarchies
from tclose.table.bins import published_under
from tclose.table.classes import Classes
from tclose.table.hierarchies import Hierarchy, spell
from tclose.table.values import ValueDomain, ValueList, Values, places_in, values_of
from tclose.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Extremes:
    """The smallest and the largest code of each class (-1 where all are missing), and where some are missing."""

    low: Ints
    high: Ints
    missing: Bools


def extremes_of(codes: Ints, classes: Classes) -> Extremes:
    """Find the ends of every class."""
    grouped = codes[classes.rows]
    present = np.where(grouped < 0, np.iinfo(np.int64).max, grouped)
    high = np.maximum.reduceat(grouped, classes.starts)
    low = np.where(high < 0, -1, np.minimum.reduceat(present, classes.starts))
    return Extremes(low, high, np.minimum.reduceat(grouped, classes.starts) < 0)


@dataclass(frozen=True, eq=False)
class Ends:
    """How each value reads as a low and as a high end, and where that lies between the table's ends, 0 and 1."""

    low_texts: Sequence[str]
    high_texts: Sequence[str]
    low: Floats
    high: Floats


@dataclass(frozen=True)
class CodedEnds:
    """How one value reads as a low and as a high end, and as which numbers."""

    low_text: str
    high_text: str
    low: Fraction
    high: Fraction


@dataclass(frozen=True, eq=False, repr=False)
class NumberColumn:
    """Numbers or dates: published as a range, or as the class mean."""

    values: ValueList  # in rising order
    spec: Quasi
    codes: Ints  # the rank of each row's value; -1 where missing
    whole: ValueDomain | None = None  # that of the whole table, where the rows are a part of it

    @property
    def name(self) -> str:
        """The column's name."""
        return self.values.name

    def deviation(self) -> float:
        """Return the standard deviation of the places of all rows of the table."""
        if self.whole is None:
            return float(self.points().std())
        counts, places = np.append(self.whole.counts, self.whole.missing), self.all_places()
        away = places - float(counts @ places) / counts.sum()
        return math.sqrt(float(counts @ away**2) / counts.sum())

    @property
    def _units(self) -> NDArray[Any]:
        assert self.values.units is not None
        return self.values.units

    def places(self) -> Floats:
        """Return where each value, as it is published, lies between the table's published ends, 0 and 1."""
        if self._coded:
            return self.ends().low
        units = self._units
        span = int(units[-1]) - int(units[0]) if len(units) else 0
        if not span:
            return np.zeros(len(units))
        wide = units if span < 2**62 else units.astype(object)  # 1e400 is a number, too, and no float
        return np.asarray((wide - wide[0]) / span, dtype=np.float64)

    @property
    def _coded(self) -> bool:
        return not (self.spec.step is self.spec.top is self.spec.bottom is None)

    def ends(self) -> Ends:
        """Return what each value publishes as the low and as the high end of a range.

        Nothing here depends on values beyond the published ends: the certificate's figures are made of it.
        """
        return self._ends

    @cached_property
    def _ends(self) -> Ends:
        texts = self.values.texts
        if not self._coded or not texts:
            places = self.places() if texts else np.zeros(0)
            return Ends(texts, texts, places, places)
        starts = self._starts_of_equal_ends()
        coded = [self._coded_ends(Fraction(int(unit), 10**self.values.scale)) for unit in self._units[starts]]
        group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(texts)]))
        low_texts, high_texts = [coded[i].low_text for i in group], [coded[i].high_text for i in group]
        first, last = coded[0].low, coded[-1].high
        if first == last or len(texts) == 1:  # a constant loses nothing; different values in one tail lose everything
            return Ends(low_texts, high_texts, np.zeros(len(texts)), np.full(len(texts), float(len(texts) > 1)))
        low = np.array([_place(end.low, first, last) for end in coded])
        high = np.array([_place(end.high, first, last) for end in coded])
        return Ends(low_texts, high_texts, low[group], high[group])

    def _starts_of_equal_ends(self) -> Ints:
        """Return where, among the rising values, the published ends change: with a step, many values share them."""
        if self.spec.step is None:
            return np.arange(len(self._units))
        width = self.spec.step * 10**self.values.scale
        largest = max(abs(int(self._units[0])), abs(int(self._units[-1]))) * width.denominator + width.numerator
        scaled = (self._units if largest < 2**62 else self._units.astype(object)) * width.denominator
        marks = [scaled // width.numerator, -(-scaled // width.numerator)]
        for tail in (self.spec.top, self.spec.bottom):
            if tail is not None:
                place = tail * 10**self.values.scale
                marks += [self._units > math.floor(place), self._units >= math.ceil(place)]
        changes = np.logical_or.reduce([mark[1:] != mark[:-1] for mark in marks])
        return np.flatnonzero(np.append(True, changes))

    def _coded_ends(self, number: Fraction) -> CodedEnds:
        """Snap one number outward to `step` and put the tails beyond `bottom` and `top` under one name each."""
        step, top, bottom = self.spec.step, self.spec.top, self.spec.bottom
        if top is not None and number >= top:
            return CodedEnds(f"≥{spell(top)}", f"≥{spell(top)}", top, top)
        if bottom is not None and number <= bottom:
            return CodedEnds(f"≤{spell(bottom)}", f"≤{spell(bottom)}", bottom, bottom)
        low = number if step is None else number // step * step
        high = number if step is None else -(-number // step) * step
        return CodedEnds(spell(low), spell(high), low, high)

    def covered(self) -> tuple[Ints, Ints]:
        """Return the first and the last code that a range covers which begins, or ends, with each value."""
        codes = np.arange(len(self.values.texts))
        if not self._coded or not len(codes):
            return codes, codes
        starts = self._starts_of_equal_ends()
        numbers = [Fraction(int(unit), 10**self.values.scale) for unit in self._units.tolist()]
        coded = [self._coded_ends(numbers[start]) for start in starts.tolist()]
        first = [0 if end.low_text[0] == "≤" else bisect_left(numbers, end.low) for end in coded]
        last = [len(numbers) - 1 if end.high_text[0] == "≥" else bisect_right(numbers, end.high) - 1 for end in coded]
        group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(codes)]))
        return np.array(first)[group], np.array(last)[group]

    def loss(self, classes: Classes) -> Floats:
        """Return each class's published range as a share of the table's."""
        if not self.values.texts:
            return np.zeros(len(classes))
        extremes, ends = extremes_of(self.codes, classes), self.ends()
        width = ends.high[extremes.high] - ends.low[extremes.low]
        return np.where(extremes.high < 0, 0.0, width)

    def all_places(self) -> Floats:
        """Return the places of the values on the line from 0 to 1, and that of a missing one, in the middle, last."""
        return np.append(self.places(), 0.5)

    def points(self) -> Floats:
        """Return each row's place on the line from 0 to 1."""
        return self.all_places()[self.codes]

    def only(self, rows: Ints) -> NumberColumn:
        """Return some rows, measured against each other alone."""
        kept, codes = _shown(self.codes[rows], len(self.values.texts))
        return NumberColumn(self.values.only(kept), self.spec, codes)


def _place(number: Fraction, first: Fraction, last: Fraction) -> float:
    return float((number - first) / (last - first))


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """Values with a hierarchy: published as the lowest label that covers a class."""

    name: str
    hierarchy: Hierarchy
    codes: Ints  # leaves in the order of the tree; -1 where missing
    builder: Builder | None = None  # the rule that made the hierarchy; None for a file

    def nodes(self, classes: Classes) -> tuple[Ints, Ints, Bools]:
        """Return the height and the number of the lowest node that covers each class, and where some are missing."""
        extremes = extremes_of(self.codes, classes)
        height = np.zeros(len(classes), dtype=np.int64)
        for level in self.hierarchy.levels[:-1]:
            height += level[extremes.low] != level[extremes.high]
        stacked = np.stack(self.hierarchy.levels)
        return height, np.where(extremes.high < 0, -1, stacked[height, extremes.low]), extremes.missing

    def loss(self, classes: Classes) -> Floats:
        """Return the share of all leaves that lie below each class's label; 0 for a leaf."""
        height, node, _ = self.nodes(classes)
        below = np.stack([np.bincount(level)[level] for level in self.hierarchy.levels])
        first = extremes_of(self.codes, classes).low
        share = below[height, first] / len(self.hierarchy.leaves)
        return np.where((height == 0) | (node < 0), 0.0, share)

    def points(self) -> Floats:
        """Return each row's place in the order of the leaves, from 0 to 1."""
        return np.append(np.linspace(0, 1, len(self.hierarchy.leaves)), 0.5)[self.codes]

    def only(self, rows: Ints) -> LabelColumn:
        """Return some rows, still measured against the whole hierarchy."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True, eq=False)
class SetColumn:
    """Text without a hierarchy: published as the set of its values."""

    values: ValueList  # sorted
    domain: int  # different values of the whole table, "missing" among them
    codes: Ints  # -1 where missing

    @property
    def name(self) -> str:
        """The column's name."""
        return self.values.name

    @property
    def has_missing(self) -> bool:
        """Whether some row of the whole table has no value."""
        return self.domain > len(self.values.texts)

    def members(self, classes: Classes) -> tuple[Ints, Ints]:
        """Return the different codes of every class, one class after the other, and where each class begins."""
        different = len(self.values.texts) + 1
        key = np.unique(classes.labels * different + self.codes[classes.rows] + 1)
        starts = np.searchsorted(key, np.arange(len(classes)) * different)
        return key % different - 1, starts

    def loss(self, classes: Classes) -> Floats:
        """Return (different values − 1) / (values of the domain − 1)."""
        codes, starts = self.members(classes)
        different = np.diff(starts, append=len(codes))
        return np.asarray((different - 1) / max(self.domain - 1, 1))

    def points(self) -> Floats:
        """Return each row's place among the sorted values, from 0 to 1."""
        return np.append(np.linspace(0, 1, len(self.values.texts)), 0.5)[self.codes]

    def only(self, rows: Ints) -> SetColumn:
        """Return some rows, measured against each other alone."""
        kept, codes = _shown(self.codes[rows], len(self.values.texts))
        return SetColumn(self.values.only(kept), len(kept) + bool((codes < 0).any()), codes)


def _shown(codes: Ints, different: int) -> tuple[Ints, Ints]:
    """Return the values that rows show, and the rows' codes among them: figures may tell of no others."""
    kept = np.unique(codes[codes >= 0])
    number = np.full(different + 1, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    return kept, number[codes]


QuasiColumn = NumberColumn | LabelColumn | SetColumn


@dataclass(frozen=True, eq=False, repr=False)
class QuasiDomain:
    """The values of a quasi-identifier, learned from the whole table, and how its policy publishes them."""

    values: ValueDomain
    spec: Quasi
    hierarchy: Hierarchy | None = None
    leaf_of_value: Ints | None = None  # in the hierarchy

    @classmethod
    def of(cls, values: ValueDomain, spec: Quasi, hierarchy: Hierarchy | None = None) -> QuasiDomain:
        """Learn how a column is published; a hierarchy that was loaded before need not be loaded again."""
        if spec.hierarchy is not None:
            tree = hierarchy or _hierarchy(values, spec.hierarchy)
            return cls(values, spec, tree, places_in(tree.leaves, values, misses=say("its hierarchy misses")))
        spec = published_under(spec, values.name, values.limit)
        if values.texts and not _plain(spec) and values.kind != "number":
            kind, place = "dates" if values.kind == "date" else "text", join("quasi", values.name)
            raise PolicyError(
                "step, top, bottom, below and means are for numbers, not for {kind}", kind=say(kind), place=place
            )
        return cls(values, spec)

    def column(self, codes: Ints) -> QuasiColumn:
        """Return the quasi-identifier of rows whose values have these codes, of the whole table or of a part of it."""
        values = self.values
        if self.hierarchy is not None and self.leaf_of_value is not None:
            builder = self.spec.hierarchy if isinstance(self.spec.hierarchy, Builder) else None
            return LabelColumn(values.name, self.hierarchy, np.append(self.leaf_of_value, -1)[codes], builder)
        if values.kind == "number" or (values.kind == "date" and _plain(self.spec)):
            return NumberColumn(values, self.spec, codes)
        return SetColumn(values, len(values.texts) + bool(values.missing), codes)


def _hierarchy(values: ValueDomain, given: Path | Builder) -> Hierarchy:
    return Hierarchy.load(given) if isinstance(given, Path) else hierarchies.build(given, values)


def _plain(spec: Quasi) -> bool:
    return all(setting is None for setting in (spec.step, spec.top, spec.bottom, spec.publish, spec.below))


def read_quasi(column: pl.Series, spec: Quasi, missing: Sequence[str]) -> QuasiColumn:
    """Learn a quasi-identifier from a whole column and code its rows."""
    return coded(values_of(column, missing, below=spec.below), spec)


def coded(values: Values, spec: Quasi, hierarchy: Hierarchy | None = None) -> QuasiColumn:
    """Return the quasi-identifier of a whole column whose values have been read."""
    return QuasiDomain.of(values.domain, spec, hierarchy).column(values.codes)
