"""Minimality (Wong, Fu, Wang & Pei 2007): what the method's thrift gives away.

A method that never merges more than it must tells, by merging, that the parts would not have passed. The adversary
needs to know who is in a class: the table's own people as a register, and a class that fits exactly as many of them as
it has rows. If these could have been cut in two by a published column, each part with enough people, then it was their
sensitive values that kept them together. A merely k-anonymous table of the same method is the control: what it shows
as well comes from the method, and tells nothing.
"""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import Attack, Finding, Scene
from tclose.measure.linkage import Links
from tclose.types import Bools, Ints
from tclose.words import counted, rows_of


def run(scene: Scene) -> Finding:
    """Count classes that a thrifty method would have cut, had their sensitive values allowed it."""
    if scene.own is None:
        return Finding(0, 0, len(scene.labels), "Nothing was merged: the table is as it is.")
    mask = merged_for_their_values(scene.own, scene.crowd)
    classes, rows = int(mask.sum()), int(scene.sizes[mask].sum())
    told = "Of no class can it be told that its rows were kept together because of their sensitive values."
    if classes:
        told = (
            f"{rows_of(rows, len(scene.labels))} stand in {counted(classes, 'class')} whose people are known and could "
            f"be cut into groups of {scene.crowd:,} and more: it looks as if their values forbade it."
        )
    return Finding(classes, rows, len(scene.labels), told)


def merged_for_their_values(own: Links, k: int) -> Bools:
    """Mark the classes whose people are known and could be cut in two with k rows on each side."""
    known = (own.people == own.sizes) & (own.sizes >= 2 * k)
    rows, classes = own.pairs(known)
    could = np.zeros(len(own.sizes), dtype=bool)
    for column in range(own.rows.shape[1]):
        could |= _can_be_cut(own.rows[rows, column], own.weights[rows], classes, own.sizes, k)
    return could


def _can_be_cut(codes: Ints, weights: Ints, classes: Ints, sizes: Ints, k: int) -> Bools:
    """Find the classes in which some value of a column has k rows up to it, and k beyond."""
    order = np.lexsort((codes, classes))
    codes, weights, classes = codes[order], weights[order], classes[order]
    total = np.cumsum(weights)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    before = np.repeat((total - weights)[starts], np.diff(starts, append=len(codes)))
    low = total - before
    boundary = np.diff(codes, append=-1) != 0
    found = boundary & (low >= k) & (sizes[classes] - low >= k)
    could = np.zeros(len(sizes), dtype=bool)
    could[classes[found]] = True
    return could


ATTACK = Attack(
    "minimality",
    "what the method's thrift tells",
    "If a group was merged although k alone did not ask for it, its sensitive values must have: compare with the "
    "k-anonymous table, which shows what the method merges anyhow.",
    "classes that look merged for their values",
    "classes",
    "lower",
    run,
    counts_people=True,
)
