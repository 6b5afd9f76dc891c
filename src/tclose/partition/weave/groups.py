"""Group classes near each other, so that they exchange rows among themselves: another grouping in every pass."""

from __future__ import annotations

import numpy as np

from tclose.partition.weave.loss import Axes
from tclose.types import Floats, Ints


def groups_of(labels: Ints, axes: Axes, most: int, random: np.random.Generator) -> list[Ints]:
    """Return the rows of each group of classes: about `most`, or one class where that has more."""
    sizes = np.bincount(labels)
    groups = _bisect(_centres(labels, sizes, axes), sizes, most, random)
    group_of = np.empty(len(sizes), dtype=np.int64)
    for number, classes in enumerate(groups):
        group_of[classes] = number
    order = np.argsort(group_of[labels], kind="stable")
    ends = np.cumsum(np.bincount(group_of[labels], minlength=len(groups)))
    return np.split(order, ends[:-1])


def _centres(labels: Ints, sizes: Ints, axes: Axes) -> Floats:
    columns = [column / max(int(column.max()), 1) for column in axes.codes.T] or [np.zeros(len(labels))]
    return np.stack([np.bincount(labels, weights=column) / sizes for column in columns], axis=1)


def _bisect(centres: Floats, sizes: Ints, most: int, random: np.random.Generator) -> list[Ints]:
    """Bisect the classes along axes on which they spread, none of them always first, until groups are small."""
    stack, groups = [np.arange(len(sizes))], []
    while stack:
        mine = stack.pop()
        rows = int(sizes[mine].sum())
        if rows <= most or len(mine) < 2:
            groups.append(mine)
            continue
        spread = centres[mine].std(axis=0) * random.uniform(0.3, 1, size=centres.shape[1])
        ordered = mine[np.argsort(centres[mine, int(spread.argmax())], kind="stable")]
        cut = int(np.searchsorted(np.cumsum(sizes[ordered]), rows * random.uniform(0.35, 0.65)))
        cut = min(max(cut, 1), len(mine) - 1)
        stack += [ordered[cut:], ordered[:cut]]
    return groups
