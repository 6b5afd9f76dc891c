"""Two releases of one table (Ganta, Kasiviswanathan & Smith 2008): a person in both has a value that both allow.

The adversary knows a person's quasi-identifiers and that both releases hold the person. Each release leaves the values
of the classes that fit; both together leave what is common to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.measure.attack.base import LINKED, NO_SECRET, Attack, Finding, Scene, Secret, not_applicable
from tclose.measure.linkage import BLOCK, Links
from tclose.types import Ints
from tclose.words import columns, number, rows_of

Presence = NDArray[np.float32]
VALUES = 1024  # of an attribute, looked at together
NOBODY = "Nobody fits both releases, so nothing could be intersected. This attack needs two releases of the same table."


@dataclass(frozen=True, eq=False)
class ValuesLeft:
    """How many values remain possible for each different person: by the first release, the second, and both."""

    first: Ints
    second: Ints
    both: Ints


def run(scene: Scene) -> Finding:
    """Count the people whose value is certain from both releases together, and from neither alone."""
    if scene.own is None or scene.second is None or scene.second.own is None:
        return not_applicable(scene, "This attack needs a second release of the same table.")
    if scene.persons is not None:
        return not_applicable(scene, LINKED)
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    first, second, weights = scene.own, scene.second.own, scene.own.weights
    certain, narrowed, names = np.zeros(len(weights), dtype=bool), [], []
    for secret, again in zip(scene.secrets, scene.second.secrets, strict=True):
        cells = max(int(secret.cells.max()), int(again.cells.max())) + 1
        left = values_left(first, second, _presence(scene, secret, cells), _presence(scene.second, again, cells))
        alone = np.minimum(left.first, left.second)
        in_both = left.both > 0  # a withheld row may be in neither
        fewer = (weights * alone / np.maximum(left.both, 1))[in_both]
        narrowed += [float(fewer.sum() / weights[in_both].sum())] if in_both.any() else []
        revealed = in_both & (left.both == 1) & (alone > 1)
        names += [secret.name] if revealed.any() else []
        certain |= revealed
    if not narrowed:
        return not_applicable(scene, NOBODY)
    rows, everybody, factor = int(weights[certain].sum()), int(weights.sum()), max(narrowed)
    if not rows and factor == 1:
        return Finding(
            factor, 0, everybody, "Both releases together leave as many possible values as the better release alone."
        )
    fewer_values = f"{number(round(factor, 2))} times fewer possible values than the better release alone"
    revealed_rows = f"make {columns(names)} certain for {rows_of(rows, everybody)}" if rows else "make none certain"
    return Finding(factor, rows, everybody, f"Both releases together leave {fewer_values}, and {revealed_rows}.")


def values_left(
    first: Links, second: Links, shown_first: Sequence[Presence], shown_second: Sequence[Presence]
) -> ValuesLeft:
    """Count the values of the classes that fit each person; values come in stretches."""
    people = len(first.rows)
    left = ValuesLeft(*(np.zeros(people, dtype=np.int64) for _ in range(3)))
    step = max(1, BLOCK // max(len(first.sizes), len(second.sizes), VALUES))
    for start in range(0, people, step):
        block = slice(start, min(start + step, people))
        fits_first, fits_second = (links.fitting(block).astype(np.float32) for links in (first, second))
        for values_first, values_second in zip(shown_first, shown_second, strict=True):
            possible_first, possible_second = fits_first @ values_first > 0, fits_second @ values_second > 0
            left.first[block] += possible_first.sum(axis=1)
            left.second[block] += possible_second.sum(axis=1)
            left.both[block] += (possible_first & possible_second).sum(axis=1)
    return left


def _presence(scene: Scene, secret: Secret, different: int) -> list[Presence]:
    """Return classes × values: which class shows which, in stretches of values."""
    stretches, cells, labels = [], secret.cells, scene.labels_of(secret)
    for low in range(0, different, VALUES):
        inside = (cells >= low) & (cells < low + VALUES)
        shows = np.zeros((len(scene.sizes), min(VALUES, different - low)), dtype=np.float32)
        shows[labels[inside], cells[inside] - low] = 1
        stretches.append(shows)
    return stretches


ATTACK = Attack(
    "intersection",
    "intersection attack",
    "The adversary has two releases of the same table. Each leaves several values possible for a person; only one may "
    "be possible in both.",
    "how many times fewer values are possible than with the better release alone",
    "times",
    "lower",
    run,
    cure="publish only one of the releases",
)
