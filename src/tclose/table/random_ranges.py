"""Random ranges of codes, as the queries of decision 023 ask for them, and how likely such a range cuts a box.

A range is laid around a row drawn by chance and covers a share of the rows. Ranks between 0 and 1 describe it: a place
u is drawn evenly, and the range starts at a place drawn evenly among those from which it still reaches u. So the start
has the same distribution for every column, and the codes that a range covers follow from the column's counts.

A range cuts a box (the codes that a class publishes) if it covers a part of it only. The chance of that is the chance
to touch the box less the chance to cover it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.table.sensitive import SensitiveColumn
from tclose.types import Floats, Ints

SELECTIVITIES = (0.01, 0.05, 0.2)  # the share of rows that a query would find, were its columns independent
MOST_PREDICATES = 3  # ranges on quasi-identifiers, per query


def chances_of(quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn]) -> list[RangeChances]:
    """Return the chances of each quasi-identifier of a table."""
    counts = [_counts(column) for column in quasi]
    varying = sum(int(np.count_nonzero(count) > 1) for count in counts)
    any_sensitive = any(np.count_nonzero(np.bincount(column.codes)) > 1 for column in sensitive)
    kinds = RangeKinds.of(varying, sensitive=any_sensitive)
    return [RangeChances.of(count, kinds) for count in counts]


def _counts(column: QuasiColumn) -> Ints:
    """Return how often each code occurs, numbers in the whole table; a missing value lies in no range."""
    if isinstance(column, NumberColumn) and column.whole is not None:
        return column.whole.counts
    different = len(column.hierarchy.leaves) if isinstance(column, LabelColumn) else len(column.values.texts)
    return np.bincount(column.codes[column.codes >= 0], minlength=different).astype(np.int64)


@dataclass(frozen=True)
class RangeKinds:
    """The ranges of a workload: the share of rows that each kind covers, and how frequent it is among all ranges."""

    spans: tuple[float, ...]
    frequencies: tuple[float, ...]

    @classmethod
    def of(cls, quasi: int, *, sensitive: bool) -> RangeKinds:
        """Return the ranges of queries about so many quasi-identifiers that vary, with or without a sensitive range."""
        kinds = [
            (selectivity ** (1 / (predicates + sensitive)), predicates)
            for predicates in range(1, min(MOST_PREDICATES, quasi) + 1)
            for selectivity in SELECTIVITIES
        ]
        total = sum(predicates for _, predicates in kinds)
        return cls(tuple(span for span, _ in kinds), tuple(predicates / total for _, predicates in kinds))


@dataclass(frozen=True, eq=False)
class RangeChances:
    """For each code of a column, how random ranges lie around it.

    A range covers the codes from x to y with the chance Σ max(starts_before[x] − ends_before[y], 0) over all kinds of
    ranges. Where that would be all codes that occur, it covers the code of its row alone; `alone[x]` is the chance of
    such a range for a code below x.
    """

    starts_before: Floats  # codes × kinds: the chance that a range of this kind starts before the code ends
    ends_before: Floats  # codes × kinds: the chance that it ends before the code begins
    alone: Floats  # codes + 1
    ranks: Floats  # codes + 1: the share of rows with a smaller code
    first: int  # code that occurs
    last: int

    @classmethod
    def of(cls, counts: Ints, kinds: RangeKinds) -> RangeChances:
        """Take how often each code occurs; a column without two different codes is asked about by no range."""
        codes, present = len(counts), np.flatnonzero(counts)
        ranks = np.append(0, np.cumsum(counts)) / max(counts.sum(), 1)
        if len(present) < 2:
            no_chance = np.zeros((codes, len(kinds.spans)))
            return cls(no_chance, no_chance, np.zeros(codes + 1), ranks, 0, codes - 1)
        first, last, starts, ends, alone = int(present[0]), int(present[-1]), [], [], np.zeros(codes + 1)
        for span, frequency in zip(kinds.spans, kinds.frequencies, strict=True):
            starts.append(frequency * chance_to_start_before(ranks[1:], span))
            ends.append(frequency * chance_to_start_before(ranks[:-1] - span, span))
            alone += frequency * _chance_to_cover_all(float(ranks[first + 1]), float(ranks[last]) - span, ranks, span)
        return cls(np.stack(starts, axis=1), np.stack(ends, axis=1), alone, ranks, first, last)

    @property
    def varies(self) -> bool:
        """Whether the column has two different codes, so that ranges are asked for."""
        return bool(self.starts_before.any())

    def cut_box(self, low: Ints, high: Ints) -> Floats:
        """Return the chance that a range cuts the box of all codes from low to high, some of which occur."""
        touched = self.starts_before[high].sum(axis=-1) - self.ends_before[low].sum(axis=-1)
        touched += self.alone[high + 1] - self.alone[low]
        beyond = (low < self.first) | (high > self.last)  # a range of all codes that occur does not cover such a box
        covered = self.covered(low, high) + np.where(beyond, self.alone[-1], 0.0)
        return np.where(low == high, 0.0, np.maximum(touched - covered, 0.0))

    def covered(self, low: Ints, high: Ints) -> Floats:
        """Return the chance that a range covers two codes, before ranges of all codes are replaced."""
        return np.asarray(np.maximum(self.starts_before[low] - self.ends_before[high], 0.0).sum(axis=-1))

    def cut_set(self, codes: Sequence[int]) -> float:
        """Return the chance that a range covers some of these codes, which rise, but not all."""
        if len(codes) < 2:
            return 0.0
        members = np.asarray(codes)
        touched = (self.starts_before[members] - self.ends_before[members]).sum()
        touched += (self.alone[members + 1] - self.alone[members]).sum()
        both = self.covered(members[:-1], members[1:]).sum()  # else a range that covers two counts twice
        return float(max(touched - both - self.covered(members[0], members[-1]), 0.0))


def chance_to_start_before(places: Floats, span: float) -> Floats:
    """Return the chance that a range which covers this share of the rows starts before a place, between 0 and 1.

    The place u of the row is drawn evenly, and the start evenly among the length(u) = min(u, span, 1 − span, 1 − u) of
    places from which the range reaches u. So the density at s is the integral of 1/length from s to s + span.
    """
    start = np.clip(places, 0.0, 1.0 - span)
    whole = _twice_integrated(start + span, span) - _twice_integrated(np.full_like(start, span), span)
    return np.clip(whole - _twice_integrated(start, span) + _twice_integrated(np.zeros_like(start), span), 0.0, 1.0)


def _twice_integrated(u: Floats, span: float) -> Floats:
    """Return an antiderivative, twice, of 1/length: of 1/u at first, of 1/m in the middle and of 1/(1 − u) at last."""
    m = min(span, 1.0 - span)
    first = _times_log(u, m) - u
    middle = (u - m) ** 2 / (2 * m) - m
    rest = 1.0 - u
    slope = (1.0 - 2 * m) / m
    last = slope * (u - 1.0 + m) + _times_log(rest, m) - rest + slope**2 * m / 2
    return np.where(u < m, first, np.where(rest < m, last, middle))


def _times_log(u: Floats, m: float) -> Floats:
    """Return u·ln(u/m), which is 0 at 0."""
    positive = np.maximum(u, 1e-300)
    return np.asarray(np.maximum(u, 0.0) * np.log(positive / m))


def _chance_to_cover_all(before: float, after: float, ranks: Floats, span: float) -> Floats:
    """Return the chance that a range starts between two places and lies around a row with a rank below each of these.

    Such a range would cover all codes that occur: it starts `before` the first ends, and `after` a place from which it
    reaches the last.
    """
    if before <= max(after, 0.0):
        return np.zeros_like(ranks)
    return _start_below_for_rank_below(before, ranks, span) - _start_below_for_rank_below(max(after, 0.0), ranks, span)


def _start_below_for_rank_below(start: float, ranks: Floats, span: float) -> Floats:
    """Return the chance that a range starts below a place and the rank of its row is below each of these.

    For a row at u the range starts below the place with the chance (start − max(u − span, 0))/length(u), at most 1:
    its integral is a logarithm at both ends, and a straight line is enough in the middle.
    """
    m = min(span, 1.0 - span)
    end = min(start + span, 1.0)
    kinks = np.array([0.0, 1.0, m, 1.0 - m, span, start, end, end - m])
    edges = np.unique(np.concatenate([ranks, kinks[(kinks >= 0) & (kinks <= 1)]]))
    low, high = edges[:-1], edges[1:]
    at_edges = np.clip((start - np.maximum(edges - span, 0.0)) / m, 0.0, 1.0)
    middle = (high - low) * (at_edges[:-1] + at_edges[1:]) / 2
    first = np.where(high <= start, high - low, start * _log_ratio(high, low))
    last = np.where(low >= end, 0.0, (high - low) - (1.0 - end) * _log_ratio(1.0 - low, 1.0 - high))
    pieces = np.where(high <= m, first, np.where(low >= 1.0 - m, last, middle))
    return np.asarray(np.append(0.0, np.cumsum(pieces))[np.searchsorted(edges, ranks)])


def _log_ratio(above: Floats, below: Floats) -> Floats:
    """Return ln(above/below); places at 0 are ignored by those who ask."""
    return np.log(np.maximum(above, 1e-300) / np.maximum(below, 1e-300))
