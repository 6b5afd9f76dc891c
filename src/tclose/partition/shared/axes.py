"""Quasi-identifiers as a method sees them: codes per row, and what a class loses that shows some of them (NCP).

They mirror `table/quasi.py` without its texts, so that the loss which a method lowers is the one a release pays. The
policy may choose another loss than NCP, and weights: every axis says what it loses by (`shared/loss.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.quasi import Ends, LabelColumn, NumberColumn, QuasiColumn, SetColumn
from tclose.table.random_ranges import RangeChances, chances_of
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class NumberAxis:
    """A number: its rank (-1 where missing), and where each rank begins and ends a range, between 0 and 1.

    With a `deviation`, what counts is the squared distance to the class mean, on z-scores; a missing value lies in the
    middle. With `chances`, what counts is how likely a random range cuts the published range. `shown` are numbers of
    the texts that each rank shows as the low and as the high end of a range; without it, means are published where
    there is a deviation, and otherwise every rank shows a text of its own.
    """

    codes: Ints
    low: Floats
    high: Floats
    deviation: float | None = None
    weight: float = 1.0
    chances: RangeChances | None = None
    shown: tuple[Ints, Ints] | None = None

    @classmethod
    def of_points(cls, points: Floats) -> NumberAxis:
        """Take the places themselves, each of which begins and ends at itself."""
        places, codes = np.unique(points, return_inverse=True)
        return cls(codes.astype(np.int64), places, places)


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """A value with a hierarchy: its leaf (-1 where missing); `levels[h][i]` is the node above leaf i at height h."""

    codes: Ints
    levels: tuple[Ints, ...]
    weight: float = 1.0
    chances: RangeChances | None = None


@dataclass(frozen=True, eq=False)
class SetAxis:
    """Text: one of `domain_size` values, a missing one among them, as the first."""

    codes: Ints
    domain_size: int
    weight: float = 1.0
    chances: RangeChances | None = None
    missing: bool = False  # whether code 0 is the missing value, which no range covers


Axis: TypeAlias = NumberAxis | LabelAxis | SetAxis


def part_of(axis: Axis, rows: Ints) -> Axis:
    """Return the same axis for some rows only."""
    return replace(axis, codes=axis.codes[rows])


def is_plain(axis: Axis) -> bool:
    """Tell whether an axis loses its NCP, unweighted."""
    squared = isinstance(axis, NumberAxis) and axis.deviation is not None
    return not squared and axis.weight == 1.0 and axis.chances is None


def range_loss(axis: NumberAxis | LabelAxis, low: Ints, high: Ints) -> Floats:
    """Return the NCP of classes whose codes reach from low to high; 0 where high is -1, as no value is known."""
    if isinstance(axis, NumberAxis):
        width = np.append(axis.high, 0.0)[high] - np.append(axis.low, 0.0)[low]
    else:
        width = _covering_share(axis.levels, low, high)
    return np.where(high < 0, 0.0, width)


def _covering_share(levels: tuple[Ints, ...], low: Ints, high: Ints) -> Floats:
    """Return the share of all leaves below the lowest node that covers two leaves; 0 where both are the same leaf."""
    share = np.ones(len(low))
    for level in reversed(levels):
        below = np.bincount(level)[level] / len(level)
        share = np.where(level[low] == level[high], below[low], share)
    return np.where(low == high, 0.0, share)


def set_loss(axis: SetAxis, different: Ints) -> Floats:
    """Return the NCP of classes that show so many different values."""
    return np.asarray(np.maximum(different - 1, 0) / max(axis.domain_size - 1, 1))


# The axes of a table, by the policy's loss and weights


def axes_of(table: CodedTable, policy: Policy) -> tuple[Axis, ...]:
    """Return what a class loses on each quasi-identifier, without its texts."""
    columns, weights = list(table.quasi.values()), loss_weights(policy)
    chances: Sequence[RangeChances | None] = [None] * len(columns)
    if policy.loss == "queries":
        chances = chances_of(columns, list(table.sensitive.values()))
    squared = policy.loss == "sse"
    return tuple(
        _axis(column, weight, chance, squared=squared)
        for column, weight, chance in zip(columns, weights, chances, strict=True)
    )


def axis_codes(table: CodedTable) -> Ints:
    """Return the codes that the rows have on each quasi-identifier, as `axes_of` has them: rows × quasi-identifiers."""
    codes = [
        column.codes + 1 if isinstance(column, SetColumn) and column.has_missing else column.codes
        for column in table.quasi.values()
    ]
    return np.stack(codes, axis=1)


def loss_weights(policy: Policy) -> list[float]:
    """Return how much each quasi-identifier counts; 1 on average, so that the loss stays as large as it is."""
    given = [spec.weight for spec in policy.quasi.values()]
    return [float(weight * len(given) / sum(given)) for weight in given]


def _axis(column: QuasiColumn, weight: float, chances: RangeChances | None, *, squared: bool) -> Axis:
    if isinstance(column, NumberColumn):
        ends, mean = column.ends(), column.spec.publish == "mean"
        deviation = column.deviation() or 1.0 if squared or mean else None
        shown = None if mean else _shown(ends)
        return NumberAxis(column.codes, ends.low, ends.high, deviation, weight, None if deviation else chances, shown)
    if isinstance(column, LabelColumn):
        return LabelAxis(column.codes, column.hierarchy.levels, weight, chances)
    missing = column.has_missing
    return SetAxis(column.codes + 1 if missing else column.codes, column.domain, weight, chances, missing)


def _shown(ends: Ends) -> tuple[Ints, Ints]:
    """Return numbers for the texts of the ends; with a step or a tail, several values share one."""
    if ends.low_texts is ends.high_texts:
        return np.arange(len(ends.low)), np.arange(len(ends.low))
    number = {text: place for place, text in enumerate(dict.fromkeys((*ends.low_texts, *ends.high_texts)))}
    low, high = ([number[text] for text in texts] for texts in (ends.low_texts, ends.high_texts))
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
