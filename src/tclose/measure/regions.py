"""What a reader makes of a published quasi-identifier: which values a cell may stand for.

The inverse of `recode/published.py`, from the published text alone. A number's range spreads over its values at the
column's own grain (years of age, days, cents: the greatest common step between its values), a coded tail up to the
table's end, a mean is a point; a label spreads over its leaves, a set over its members; "missing" is one value more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose.measure.queries import Members, Spread, Stretch
from tclose.policy.settings import exact
from tclose.recode.spelling import MISSING
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn

FINEST = 2**52  # steps between a column's ends; more of them, and a float could not tell them apart
AMONG = f" or {MISSING}"


def spread_of(column: QuasiColumn, texts: Sequence[str]) -> Spread:
    """Return what different published texts of a column may stand for, in the codes of the column."""
    if isinstance(column, SetColumn):
        return _sets(column, texts)
    bare = [text.removesuffix(AMONG) for text in texts]
    ends = _Leaves(column) if isinstance(column, LabelColumn) else _Numbers(column)
    present = np.array([text != MISSING for text in bare])
    low, high = np.array([ends.read(text) if text != MISSING else (0.0, 0.0) for text in bare]).T
    or_missing = np.array([text.endswith(AMONG) for text in texts])
    return Stretch(low, high, or_missing, present, ends.starts, ends.stops)


class _Leaves:
    """A hierarchy: leaf i fills i up to below i + 1."""

    def __init__(self, column: LabelColumn) -> None:
        hierarchy = column.hierarchy
        self.starts = np.arange(len(hierarchy.leaves), dtype=np.float64)
        self.stops = self.starts + 1
        self.known: dict[str, tuple[float, float]] = {}
        for labels, level in zip(reversed(hierarchy.labels), reversed(hierarchy.levels), strict=True):
            first, stop = np.searchsorted(level, np.arange(len(labels)) + np.array([[0], [1]]))
            self.known |= dict(zip(labels, zip(first.tolist(), stop.tolist(), strict=True), strict=True))

    def read(self, text: str) -> tuple[float, float]:
        return self.known[text]


class _Numbers:
    """Numbers or dates, counted in grains from the smallest."""

    def __init__(self, column: NumberColumn) -> None:
        units = column.values.units
        assert units is not None
        self.scale, self.first, self.mean = column.values.scale, int(units[0]), column.spec.publish == "mean"
        wide = units.astype(object) - self.first
        self.grain = max(math.gcd(*wide), -(-int(wide[-1]) // FINEST), 1)
        self.starts = np.array([unit / self.grain for unit in wide], dtype=np.float64)
        self.stops = self.starts + 1
        self.known = dict(zip(column.values.texts, self.starts.tolist(), strict=True))

    def read(self, text: str) -> tuple[float, float]:
        low, comma, high = text.removeprefix("[").removesuffix("]").partition(", ")
        if self.mean:
            return self._place(low), self._place(low)
        return self._low(low), self._high(high if comma else low)

    def _low(self, end: str) -> float:
        return min(0.0, self._place(end[1:])) if end.startswith("≤") else self._place(end.removeprefix("≥"))

    def _high(self, end: str) -> float:
        if end.startswith("≥"):
            return max(float(self.stops[-1]), self._place(end[1:]) + 1)
        return self._place(end.removeprefix("≤")) + 1

    def _place(self, text: str) -> float:
        if text in self.known:
            return float(self.known[text])
        return float((exact(text) * 10**self.scale - self.first) / Fraction(self.grain))


def _sets(column: SetColumn, texts: Sequence[str]) -> Members:
    known = {text: code for code, text in enumerate(column.values.texts)}
    members = [_codes(text, known) for text in texts]
    owners = np.repeat(np.arange(len(texts)), [len(codes) for codes in members])
    codes = np.array([code for each in members for code in each], dtype=np.int64)
    return Members.of(owners, codes, domain=max(len(known), 1), count=len(texts))


def _codes(text: str, known: dict[str, int]) -> list[int]:
    """Return the codes of a published set; -1 for a missing value among them."""
    if text in known:
        return [known[text]]
    if text == MISSING:
        return [-1]
    bare = text.removesuffix(AMONG)
    among = [-1] if bare != text else []
    return among + ([known[bare]] if bare in known else [known[value] for value in _split(bare[1:-1])])


def _split(text: str) -> list[str]:
    """Take a published list apart: a value that holds a comma, a brace or a quote stands in quotes, as JSON."""
    values, at = [], 0
    while at < len(text):
        if text[at] == '"':
            value, at = json.JSONDecoder().raw_decode(text, at)
        else:
            end = text.find(", ", at)
            value, at = (text[at:], len(text)) if end < 0 else (text[at:end], end)
        values.append(value)
        at += len(", ")
    return values
