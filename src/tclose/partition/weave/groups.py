"""Groups of neighbouring classes, which exchange rows among themselves; every pass has other groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.loss import LossTable
from tclose.table.classes import rows_by_label
from tclose.types import Floats, Ints, SmallInts

Rows = NDArray[np.signedinteger[Any]]


def groups_of(labels: Ints, table: LossTable, most: int, random: np.random.Generator) -> list[Ints]:
    """Return the rows of each group of classes: up to `most`, or a single larger class."""
    sizes = np.bincount(labels)
    groups = _bisect(_centres(labels, sizes, table), sizes, most, random)
    group_of = np.empty(len(sizes), dtype=np.int64)
    for number, classes in enumerate(groups):
        group_of[classes] = number
    of_row = group_of[labels]
    ends = np.cumsum(np.bincount(of_row, minlength=len(groups)))
    return np.split(rows_by_label(of_row, len(groups)), ends[:-1])


def orders_within(orders: SmallInts, groups: Sequence[Ints]) -> list[SmallInts]:
    """Return, per group, the places of its rows in the order of each quasi-identifier; other rows are left out."""
    sizes = [len(rows) for rows in groups]
    place = np.zeros(orders.shape[1], dtype=np.int32)
    place[np.concatenate(groups)] = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    within = place[arranged(orders, group_of_rows(groups, orders.shape[1]), len(groups) + 1)]
    parts = np.split(within, np.cumsum(sizes), axis=1)
    return [np.ascontiguousarray(part) for part in parts[: len(groups)]]


def group_of_rows(groups: Sequence[Rows], rows: int) -> SmallInts:
    """Return the number of each row's group; a row that is in none of them has the next number."""
    numbers = np.full(rows, len(groups), dtype=np.int32)
    numbers[np.concatenate(groups)] = np.repeat(np.arange(len(groups), dtype=np.int32), [len(each) for each in groups])
    return numbers


def arranged(orders: SmallInts, group_of: SmallInts, groups: int) -> SmallInts:
    """Return the rows group by group, in the order of each quasi-identifier."""
    return np.stack([order[rows_by_label(group_of[order], groups)] for order in orders])


def _centres(labels: Ints, sizes: Ints, table: LossTable) -> Floats:
    columns = (column / max(int(column.max()), 1) for column in table.codes.T)
    centres = [np.bincount(labels, weights=column) / sizes for column in columns]
    return np.stack(centres or [np.zeros(len(sizes))], axis=1)


def _bisect(centres: Floats, sizes: Ints, most: int, random: np.random.Generator) -> list[Ints]:
    """Bisect the classes, each time along one of the coordinates on which they are spread most, into small groups."""
    stack, groups = [np.arange(len(sizes))], []
    while stack:
        classes = stack.pop()
        rows = int(sizes[classes].sum())
        if rows <= most or len(classes) < 2:
            groups.append(classes)
            continue
        spread = centres[classes].std(axis=0) * random.uniform(0.3, 1, size=centres.shape[1])
        ordered = classes[np.argsort(centres[classes, int(spread.argmax())], kind="stable")]
        cut = int(np.searchsorted(np.cumsum(sizes[ordered]), rows * random.uniform(0.35, 0.65)))
        cut = min(max(cut, 1), len(classes) - 1)
        stack += [ordered[cut:], ordered[:cut]]
    return groups
