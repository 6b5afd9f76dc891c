"""All subsets of a few rows at once: subset number Σ 2^row, and for each of them what it shows, loses and holds.

Half of all subsets lack the last row and half have it, so a figure that a row more changes in one step is known for
all subsets after as many doublings as there are rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import Axis, SetAxis, range_loss, set_loss
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Bools, Floats, Ints

BLOCK = 1 << 13  # subsets judged at once


def folded(values: Ints, join: np.ufunc, start: int) -> Ints:
    """Return for every subset its rows' values, joined one after the other.

    >>> folded(np.array([5, 3]), np.add, 0).tolist()
    [0, 5, 3, 8]
    """
    subsets = np.array([start], dtype=np.int64)
    for value in values:
        subsets = np.concatenate((subsets, join(subsets, value)))
    return subsets


def sizes(rows: int) -> Ints:
    """Return how many rows every subset has."""
    return folded(np.ones(rows, dtype=np.int64), np.add, 0)


def admitted(problem: Problem, pulse: Pulse = QUIET) -> Bools:
    """Tell for every subset whether it has k rows and every attribute admits it, exactly; the empty one is none."""
    admitted = sizes(problem.rows) >= problem.k
    admitted[0] = False
    for attribute in problem.sensitive:
        admitted &= _admitted_by(attribute, pulse)
    return admitted


def _admitted_by(attribute: Attribute, pulse: Pulse) -> Bools:
    """Judge one subset for all that show the same values equally often."""
    counts = attribute.row_counts
    place = np.concatenate(([1], np.cumprod(counts + 1)[:-1]))  # digits of a number that no two count vectors share
    _, first, which = np.unique(folded(place[attribute.codes], np.add, 0)[1:], return_index=True, return_inverse=True)
    verdicts = []
    for low in range(0, len(first), BLOCK):
        pulse.beat()
        verdicts.append(_judged(attribute, first[low : low + BLOCK] + 1))
    return np.concatenate(([False], np.concatenate(verdicts)[which]))


def _judged(attribute: Attribute, subsets: Ints) -> Bools:
    labels, rows = np.nonzero(subsets[:, None] >> np.arange(len(attribute.codes)) & 1)
    return replace(attribute, codes=attribute.codes[rows]).admitted(labels)


def stars(problem: Problem) -> Floats:
    """Return how many cells every subset suppresses as a class (Liang & Yuan 2013, section 2)."""
    suppressed = sum((_ends(axis.codes)[2] for axis in problem.all_axes), np.zeros(1 << problem.rows, dtype=np.int64))
    return np.asarray(suppressed * sizes(problem.rows), dtype=np.float64)


def gcp(problem: Problem) -> Floats:
    """Return what every subset loses as a class: its rows times its NCP, summed over the quasi-identifiers.

    A number that is published as a mean loses its range, as GCP has it.
    """
    loss = sum((_loss(axis) for axis in problem.all_axes), np.zeros(1 << problem.rows))
    return np.asarray(loss * sizes(problem.rows))


def _ends(codes: Ints) -> tuple[Ints, Ints, Bools]:
    """Return every subset's smallest and largest code, and whether they differ."""
    low = folded(codes, np.minimum, np.iinfo(np.int64).max)
    high = folded(codes, np.maximum, -1)
    return low, high, low < high


def _loss(axis: Axis) -> Floats:
    """Return what every subset loses on one quasi-identifier, a missing value nothing."""
    if isinstance(axis, SetAxis):
        shows = [folded((axis.codes == value).astype(np.int64), np.maximum, 0) for value in np.unique(axis.codes)]
        return set_loss(axis, np.sum(shows, axis=0))
    if not (axis.codes >= 0).any():
        return np.zeros(1 << len(axis.codes))
    known = np.where(axis.codes < 0, np.iinfo(np.int64).max, axis.codes)
    high = folded(axis.codes, np.maximum, -1)
    return range_loss(axis, np.where(high < 0, 0, folded(known, np.minimum, np.iinfo(np.int64).max)), high)
