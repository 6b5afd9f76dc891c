"""The distribution that a reader reconstructs from a release, in the bars of the table's own distribution.

A reader who has only the release spreads each published text evenly over the values that it may stand for, as the
queries do (`regions.py`). On a line of numbers or dates, what lies between the values of two bars counts for the nearer
bar, so that nothing gets lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose.measure.queries import CodeSets, PublishedRanges
from tclose.types import Floats, Ints


def rows_on_line(ranges: PublishedRanges, rows: Ints, bar_of_code: Ints, bars: int) -> Floats:
    """Return the rows that a reader puts into each bar, given the rows that show each range; bars are neighbours."""
    edges = edges_of_bars(ranges.starts, ranges.stops, bar_of_code)
    tiled = replace(ranges, starts=np.append(-np.inf, edges), stops=np.append(edges, np.inf))
    return np.array([rows @ tiled.shares(bar, bar) for bar in range(bars)])


def edges_of_bars(starts: Floats, stops: Floats, bar_of_code: Ints) -> Floats:
    """Return where each bar but the first begins on a line: midway between its values and those of the bar before."""
    first = np.flatnonzero(np.diff(bar_of_code)) + 1
    return np.asarray((stops[first - 1] + starts[first]) / 2)


def rows_of_codes(sets: CodeSets, rows: Ints, bar_of_code: Ints, bars: int) -> Floats:
    """Return the rows that a reader puts into each bar, given the rows that show each set of codes."""
    owners, codes = np.divmod(sets.keys, sets.domain)
    rows_per_code = rows / np.maximum(sets.sizes, 1)
    return np.bincount(bar_of_code[codes], rows_per_code[owners], minlength=bars).astype(np.float64)


def total_variation(before: Floats, after: Floats) -> float:
    """Return the share of rows that would have to change bars to turn one distribution into the other."""
    return float(np.abs(before - after).sum() / 2)
