"""The quasi-identifiers of a table as methods see them: what a class loses on each, by the policy's loss and weights."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.table.random_ranges import RangeChances, chances_of


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


def loss_weights(policy: Policy) -> list[float]:
    """Return how much each quasi-identifier counts; 1 on average, so that the loss stays as large as it is."""
    given = [spec.weight for spec in policy.quasi.values()]
    return [float(weight * len(given) / sum(given)) for weight in given]


def _axis(column: QuasiColumn, weight: float, chances: RangeChances | None, *, squared: bool) -> Axis:
    if isinstance(column, NumberColumn):
        ends = column.ends()
        if squared or column.spec.publish == "mean":
            return NumberAxis(column.codes, ends.low, ends.high, float(column.points().std()) or 1.0, weight)
        return NumberAxis(column.codes, ends.low, ends.high, None, weight, chances)
    if isinstance(column, LabelColumn):
        return LabelAxis(column.codes, column.hierarchy.levels, weight, chances)
    missing = bool((column.codes < 0).any())
    domain = max(column.domain, len(column.values.texts) + missing)
    return SetAxis(column.codes + missing, domain, weight, chances, missing)
