"""The quasi-identifiers of a table as methods see them: what a class loses, by the policy's loss and weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.quasi import Ends, LabelColumn, NumberColumn, QuasiColumn, SetColumn
from tclose.table.random_ranges import RangeChances, chances_of
from tclose.types import Ints


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
        deviation = float(column.points().std()) or 1.0 if squared or mean else None
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
