"""Two releases of one table (Ganta, Kasiviswanathan & Smith 2008): who is in both has a value that both allow.

The adversary knows a person's quasi-identifiers and that both releases hold the person. Each release leaves the values
of the classes that fit; both together leave what is common to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, nothing
from tclose.measure.linkage import BLOCK, Links
from tclose.types import Ints
from tclose.words import columns, number, rows_of

Presence = NDArray[np.float32]
VALUES = 1024  # of an attribute, looked at together


@dataclass(frozen=True, eq=False)
class Left:
    """How many values each different person is left with: by the first release, the second, and both."""

    first: Ints
    second: Ints
    both: Ints


def run(scene: Scene) -> Finding:
    """Count the people whose value both releases leave certain, and neither alone."""
    if scene.own is None or scene.second is None or scene.second.own is None:
        return nothing(scene, "There is one release only, so nothing can be intersected.")
    if not scene.secrets:
        return nothing(scene, NO_SECRET)
    first, second, weights = scene.own, scene.second.own, scene.own.weights
    certain, narrowed, names = np.zeros(len(weights), dtype=bool), [], []
    for one, other in zip(scene.secrets, scene.second.secrets, strict=True):
        cells = max(int(one.cells.max()), int(other.cells.max())) + 1
        left = values_left(
            first, second, _presence(scene, one.cells, cells), _presence(scene.second, other.cells, cells)
        )
        alone = np.minimum(left.first, left.second)
        in_both = left.both > 0  # a withheld row may be in neither
        fewer = (weights * alone / np.maximum(left.both, 1))[in_both]
        narrowed.append(float(fewer.sum() / weights[in_both].sum()) if in_both.any() else 1.0)
        mine = in_both & (left.both == 1) & (alone > 1)
        names += [one.name] if mine.any() else []
        certain |= mine
    rows, everybody, factor = int(weights[certain].sum()), int(weights.sum()), max(narrowed)
    if not rows and factor == 1:
        return Finding(
            factor, 0, everybody, "Together the releases leave no fewer values than the better of them alone."
        )
    told = f"Together the releases leave {number(round(factor, 2))} times fewer values than the better of them alone"
    told += (
        f", and make {columns(names)} certain for {rows_of(rows, everybody)}."
        if rows
        else ", and nobody's for certain."
    )
    return Finding(factor, rows, everybody, told)


def values_left(first: Links, second: Links, one: Sequence[Presence], other: Sequence[Presence]) -> Left:
    """Count the values of the classes that fit each person; values come in stretches."""
    people = len(first.rows)
    left = Left(*(np.zeros(people, dtype=np.int64) for _ in range(3)))
    step = max(1, BLOCK // max(len(first.sizes), len(second.sizes), VALUES))
    for start in range(0, people, step):
        mine = slice(start, min(start + step, people))
        fits, fits_too = (links.fitting(mine).astype(np.float32) for links in (first, second))
        for some, same in zip(one, other, strict=True):
            here, there = fits @ some > 0, fits_too @ same > 0
            left.first[mine] += here.sum(axis=1)
            left.second[mine] += there.sum(axis=1)
            left.both[mine] += (here & there).sum(axis=1)
    return left


def _presence(scene: Scene, cells: Ints, different: int) -> list[Presence]:
    """Return classes × values: which class shows which, in stretches of values."""
    stretches = []
    for low in range(0, different, VALUES):
        inside = (cells >= low) & (cells < low + VALUES)
        shows = np.zeros((len(scene.sizes), min(VALUES, different - low)), dtype=np.float32)
        shows[scene.labels[inside], cells[inside] - low] = 1
        stretches.append(shows)
    return stretches


ATTACK = Attack(
    "intersection",
    "two releases of one table together",
    "Each release leaves a person several values; what both leave may be one.",
    "times fewer values than the better release alone leaves",
    "times",
    "lower",
    run,
)
