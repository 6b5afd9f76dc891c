"""The loss that a policy chooses, measured on published classes: what weave lowers, and what a comparison ranks by.

Every quasi-identifier loses a share between 0 and 1, and the loss is their mean, weighted as the policy says. By `gcp`
that share is the NCP. By `sse` a number loses the squared distance to its class mean, as a share of that of one class;
labels and texts lose their NCP. By `queries` the share is the chance that a random range cuts the rows' box, so the
loss is the expected share of rows that a random range cuts. A number that is published as its class mean always loses
its squared error. `discernibility` looks at the sizes of classes alone.

The chances of ranges depend on cells that are not published, so that figure stays with the steward (decision 023).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.measure.utility import Measurable, MeasuredPartition, SummedPartition, discernibility
from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, extremes_of
from tclose.table.random_ranges import RangeChances, chances_of
from tclose.types import Floats


def chosen_loss(table: CodedTable, policy: Policy, classes: Classes, partition: MeasuredPartition) -> float:
    """Return the loss that the policy chooses; a withheld row loses everything."""
    if policy.loss == "discernibility":
        return discernibility(partition)
    losses = _losses(table, policy, classes, partition.losses)
    return _weighted([None if loss is None else float(classes.sizes @ loss) for loss in losses], policy, partition)


def summed_loss(policy: Policy, partition: SummedPartition) -> float:
    """Return the loss that the policy chooses, GCP or discernibility, of classes that were added up."""
    return (
        discernibility(partition) if policy.loss == "discernibility" else _weighted(partition.lost, policy, partition)
    )


def _weighted(lost: Sequence[float | None], policy: Policy, partition: Measurable) -> float:
    """Return the mean of what all rows lose on each quasi-identifier, weighted; None counts nowhere."""
    weights = [
        float(spec.weight) if loss is not None else 0.0 for spec, loss in zip(policy.quasi.values(), lost, strict=True)
    ]
    if not sum(weights):
        return partition.withheld / partition.rows
    per_row = [0.0 if loss is None else loss for loss in lost]
    return float((np.dot(weights, per_row) / sum(weights) + partition.withheld) / partition.rows)


def _losses(table: CodedTable, policy: Policy, classes: Classes, ncp: Sequence[Floats]) -> list[Floats | None]:
    """Return what each class loses on each quasi-identifier, given what it loses by NCP; None where none can lose."""
    columns, losses = list(table.quasi.values()), list[Floats | None](ncp)
    if policy.loss == "queries":
        chances = chances_of(columns, list(table.sensitive.values()))
        losses = [cut_chances(column, chance, classes) for column, chance in zip(columns, chances, strict=True)]
    for q, column in enumerate(columns):
        if isinstance(column, NumberColumn) and (policy.loss == "sse" or column.spec.publish == "mean"):
            losses[q] = _squared_error(column, classes)
    return losses


def _squared_error(column: NumberColumn, classes: Classes) -> Floats | None:
    """Return the mean squared distance to each class's mean, in squared deviations; None of a constant column."""
    points = column.points()
    if not (deviation := float(points.std())):
        return None
    places = (points - points.mean()) / deviation
    labels, sizes = classes.labels_by_row(), classes.sizes
    means = np.bincount(labels, weights=places) / sizes
    return np.asarray(np.bincount(labels, weights=(places - means[labels]) ** 2) / sizes)


def cut_chances(column: QuasiColumn, chances: RangeChances, classes: Classes) -> Floats | None:
    """Return, per class, the chance that a random range cuts what it publishes; None of a column without ranges.

    A missing cell lies in no range, so it is no part of what can be cut.
    """
    if not chances.varies:
        return None
    if isinstance(column, LabelColumn):
        return _cut_labels(column, chances, classes)
    if isinstance(column, NumberColumn):
        ends = extremes_of(column.codes, classes)
        known = ends.high >= 0
        low, high = np.where(known, ends.low, 0), np.where(known, ends.high, 0)
        return chances.cut_box(low, high)
    codes, starts = column.members(classes)
    members = np.split(codes, starts[1:])
    return np.array([chances.cut_set(values[values >= 0].tolist()) for values in members])


def _cut_labels(column: LabelColumn, chances: RangeChances, classes: Classes) -> Floats:
    """Return the chance that a random range cuts the leaves below each class's label."""
    height, node, _ = column.nodes(classes)
    low, high = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes), dtype=np.int64)
    for h, level in enumerate(column.hierarchy.levels):
        here = (height == h) & (node >= 0)
        low[here] = np.searchsorted(level, node[here], "left")
        high[here] = np.searchsorted(level, node[here], "right") - 1
    return chances.cut_box(low, high)
