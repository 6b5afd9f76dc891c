"""Classes that look alike: rows that publish the same values by themselves, and classes that publish the same text.

A reader cannot tell two classes with the same text apart, so they are one class to every measure and every model.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.table.classes import ranked, rows_by_label
from tclose.types import Ints

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of SplitMix64 (Steele et al. 2014)


def equality_classes(axes: tuple[Axis, ...], rows: int) -> Ints:
    """Return the classes of rows that publish the same values by themselves; no partition has a smaller GCP."""
    return _numbered([_value(axis) for axis in axes], rows)


def merged_alike(axes: tuple[Axis, ...], labels: Ints) -> Ints:
    """Merge classes that publish the same text on every quasi-identifier.

    Classes that publish means stay apart unless their rows are equal: their texts are rounded.
    """
    sizes = np.bincount(labels)
    order = rows_by_label(labels, len(sizes))
    starts = np.cumsum(sizes) - sizes
    shown = [key for axis in axes for key in _shown(axis, axis.codes[order], starts)]
    return _numbered(shown, len(sizes))[labels]


def _numbered(keys: list[Ints], count: int) -> Ints:
    """Return a number from 0 for each tuple of keys, the same for equal ones."""
    number = np.zeros(count, dtype=np.int64)
    for key in keys:
        dense, different = ranked(key)
        number, _ = ranked(number * different + dense)
    return number


def _value(axis: Axis) -> Ints:
    """Return a number for what each row publishes by itself."""
    if not isinstance(axis, NumberAxis) or axis.shown is None or not len(axis.low):
        return axis.codes
    low, high = axis.shown
    return np.append(low * (high.max() + 1) + high, -1)[axis.codes]


def _shown(axis: Axis, codes: Ints, starts: Ints) -> list[Ints]:
    """Return numbers for each class, of codes that stand class by class, that are equal where its text is."""
    if isinstance(axis, SetAxis):
        return [_set(codes, starts)]
    high = np.maximum.reduceat(codes, starts)
    low = np.where(high < 0, -1, np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int64).max, codes), starts))
    missing = (np.minimum.reduceat(codes, starts) < 0).astype(np.int64)
    if isinstance(axis, LabelAxis):
        return [missing, *_node(axis, low, high)]
    if axis.shown is None and axis.deviation is not None:
        return [missing, np.where(low == high, low, np.arange(len(starts)) + len(axis.low))]
    if axis.shown is None:
        return [missing, low, high]
    return [missing, np.append(axis.shown[0], -1)[low], np.append(axis.shown[1], -1)[high]]


def _node(axis: LabelAxis, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the height and the number of the lowest node that covers each class."""
    height = np.zeros(len(low), dtype=np.int64)
    for level in axis.levels[:-1]:
        height += level[low] != level[high]
    return height, np.where(high < 0, -1, np.stack(axis.levels)[height, low])


def _set(codes: Ints, starts: Ints) -> Ints:
    """Return a number for the set of codes in each class: the sum of a hash of each member."""
    class_of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    members = np.unique(class_of * (codes.max(initial=0) + 1) + codes)
    class_of, values = np.divmod(members, codes.max(initial=0) + 1)
    mixed = (values.astype(np.uint64) + np.uint64(1)) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    mixed ^= mixed >> np.uint64(31)
    return np.add.reduceat(mixed, np.searchsorted(class_of, np.arange(len(starts)))).view(np.int64)
