"""How the queries read a published quasi-identifier: each text spread evenly over the values that it may stand for.

The texts are read by `recode/meaning.py`. A number's range spreads over its values at the column's own grain (years of
age, days, cents: the greatest common step between its values), a coded tail up to the table's end, a mean is a point; a
label spreads over its leaves, a set over its members; "missing" is one value more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose.measure.queries import CodeSets, PublishedRanges, ValueShares
from tclose.recode.meaning import Meaning, meanings, reader_of
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.table.values import ValueList
from tclose.types import Floats, Ints

FINEST = 2**52  # steps between a column's ends; more of them, and a float could not tell them apart


def value_shares(column: QuasiColumn, texts: Sequence[str]) -> ValueShares:
    """Return what different published texts of a column may stand for, in the codes of the column."""
    ways = meanings(reader_of(column), texts, name=column.name)
    if isinstance(column, LabelColumn):
        return _code_sets(ways, len(column.hierarchy.leaves))
    if isinstance(column, NumberColumn):
        return _ranges(GrainLine(column.values), ways)
    return _code_sets(ways, len(column.values.texts))


def _code_sets(texts: Sequence[Sequence[Meaning]], domain: int) -> CodeSets:
    """ValueShares every text over the codes that it covers in any of the ways to read it."""
    members = [np.unique(np.concatenate([_codes(meaning, domain) for meaning in ways])) for ways in texts]
    owners = np.repeat(np.arange(len(texts)), [len(codes) for codes in members])
    return CodeSets.of(owners, np.concatenate(members), domain=max(domain, 1), count=len(texts))


def _codes(meaning: Meaning, domain: int) -> Ints:
    """Return the codes that a text covers; -1 for a missing value among them."""
    codes = np.arange(domain)[meaning.codes]
    return np.append(codes, -1) if meaning.missing else codes


class GrainLine:
    """The values of a column, numbers or dates, counted in grains from the smallest."""

    def __init__(self, values: ValueList) -> None:
        units = values.units
        assert units is not None
        self.scale, self.first = values.scale, int(units[0])
        span = int(units[-1]) - self.first
        wide = (units if span < FINEST else units.astype(object)) - self.first
        self.grain = max(int(np.gcd.reduce(wide)), -(-span // FINEST), 1)
        self.starts: Floats = np.asarray(wide / self.grain, dtype=np.float64)
        self.stops = self.starts + 1

    def place(self, number: Fraction) -> float:
        """Return where a number lies."""
        return float((number * 10**self.scale - self.first) / Fraction(self.grain))

    def clipped(self, low: float, high: float, covered: slice) -> tuple[float, float]:
        """Keep a range off the values that it does not cover: a snapped end can lie within a grain of one."""
        first, after = covered.start, covered.stop
        if first > 0:
            low = max(low, float(min(self.stops[first - 1], self.starts[first])))
        if after < len(self.starts):
            high = min(high, float(max(self.stops[after - 1], self.starts[after])))
        return low, high


def _ranges(line: GrainLine, texts: Sequence[Sequence[Meaning]]) -> PublishedRanges:
    """Lay every text on the line; numbers and dates can be read in one way only."""
    readings = [ways[0] for ways in texts]
    low, high = np.array([_ends(line, meaning) for meaning in readings]).T
    present = np.array([meaning.cell.present for meaning in readings])
    or_missing = np.array([meaning.missing for meaning in readings]) & present
    return PublishedRanges(low, high, or_missing, present, line.starts, line.stops)


def _ends(line: GrainLine, meaning: Meaning) -> tuple[float, float]:
    """Return where a text begins and where it stops: a range stops one grain after its last number, a mean at once."""
    cell = meaning.cell
    if not cell.present:
        return 0.0, 0.0
    if cell.mean is not None:
        return line.place(cell.mean), line.place(cell.mean)
    low = 0.0 if cell.low is None else line.place(cell.low)
    high = float(line.stops[-1]) if cell.high is None else line.place(cell.high) + 1
    assert isinstance(meaning.codes, slice)
    return line.clipped(low, high, meaning.codes)
