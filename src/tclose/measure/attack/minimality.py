"""Minimality attack (Wong, Fu, Wang & Pei 2007): a method that merges only when it must reveals why it merged.

The adversary must know the people in a class: a class fits exactly as many people of the table as it has rows. If a
published column could have split these people into two groups of at least k, then their sensitive values must have
kept them together. A k-anonymous table of the same method is the control: classes that look merged there, too, come
from the method and reveal nothing.
"""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import Attack, Finding, Scene
from tclose.measure.linkage import Links
from tclose.types import Bools, Ints
from tclose.words import counted, rows_of


def run(scene: Scene) -> Finding:
    """Count the classes that a method would have split if their sensitive values had allowed it."""
    if scene.own is None:
        return Finding(0, 0, scene.rows, "Nothing was merged: this is the table itself.")
    mask = merged_for_their_values(scene.own, scene.crowd)
    classes, rows = int(mask.sum()), int(scene.sizes[mask].sum())
    sentence = (
        f"No class whose people are known could be cut along one column into groups of at least {scene.crowd:,} "
        "people. Exchanges of rows are tested by the exchange attack."
    )
    if classes:
        sentence = (
            f"{rows_of(rows, scene.rows)} are in {counted(classes, 'class')} that could be split into groups of "
            f"at least {scene.crowd:,} people: their sensitive values probably prevented it."
        )
    return Finding(classes, rows, scene.rows, sentence)


def merged_for_their_values(own: Links, k: int) -> Bools:
    """Mark the classes whose people are known and could be split in two with at least k rows on each side."""
    known = (own.people == own.sizes) & (own.sizes >= 2 * k)
    rows, classes = own.pairs(known)
    could = np.zeros(len(own.sizes), dtype=bool)
    for column in range(own.rows.shape[1]):
        could |= _can_be_split(own.rows[rows, column], own.weights[rows], classes, own.sizes, k)
    return could


def _can_be_split(codes: Ints, weights: Ints, classes: Ints, sizes: Ints, k: int) -> Bools:
    """Find the classes in which some value of a column has at least k rows up to it, and k beyond it."""
    order = np.lexsort((codes, classes))
    codes, weights, classes = codes[order], weights[order], classes[order]
    total = np.cumsum(weights)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    before = np.repeat((total - weights)[starts], np.diff(starts, append=len(codes)))
    low = total - before
    boundary = np.diff(codes, append=-1) != 0
    splits = boundary & (low >= k) & (sizes[classes] - low >= k)
    could = np.zeros(len(sizes), dtype=bool)
    could[classes[splits]] = True
    return could


ATTACK = Attack(
    "minimality",
    "minimality attack",
    "A class that is larger than k requires was probably merged because of its sensitive values, which tells something "
    "about them. The k-anonymous table shows how many classes the method merges anyway.",
    "classes that look merged because of their values",
    "classes",
    "lower",
    run,
    cure="no setting prevents it; a larger k lessens it",
    counts_people=True,
)
