"""Composition attacks (Ganta, Kasiviswanathan & Smith 2008): two releases tell more than each of them.

Intersection of two releases of one table: a person in both has a value that both allow. The adversary knows a person's
quasi-identifiers and that both releases hold the person. Each release leaves the values of the classes that fit; both
together leave what is common to them.

Difference of an earlier and a later release: what is left are the rows of the people who came in between. The adversary
knows that a person is in the second release and not in the first, and knows the person's class. Where both releases
show a class with the same cells, its new rows are what the second has more of. Where they do not, the values of all
rows in such classes can still be subtracted: a value that no new row has is none of the person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.measure.attack.base import LINKED, NO_SECRET, Attack, Finding, Scene, Secret, not_applicable
from tclose.measure.linkage import BLOCK, Links
from tclose.messages import say
from tclose.types import Bools, Ints
from tclose.words import columns, counted, number, rows_of

# Intersection attack


Presence = NDArray[np.float32]
VALUES = 1024  # of an attribute, looked at together
NOBODY = "Nobody fits both releases, so nothing could be intersected. This attack needs two releases of the same table."


@dataclass(frozen=True, eq=False)
class ValuesLeft:
    """How many values remain possible for each different person: by the first release, the second, and both."""

    first: Ints
    second: Ints
    both: Ints


def run_intersection(scene: Scene) -> Finding:
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
    fewer_values = say(
        "{value} times fewer possible values than the better release alone", value=number(round(factor, 2))
    )
    revealed_rows = (
        say("make {columns} certain for {rows}", columns=columns(names), rows=rows_of(rows, everybody))
        if rows
        else say("make none certain")
    )
    return Finding(
        factor,
        rows,
        everybody,
        say(
            "Both releases together leave {fewer_values}, and {revealed_rows}.",
            fewer_values=fewer_values,
            revealed_rows=revealed_rows,
        ),
    )


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


INTERSECTION = Attack(
    "intersection",
    "intersection attack",
    "The adversary has two releases of the same table. Each leaves several values possible for a person; only one may "
    "be possible in both.",
    "how many times fewer values are possible than with the better release alone",
    "times",
    "lower",
    run_intersection,
    cure="publish only one of the releases",
)


# Difference attack


@dataclass(frozen=True, eq=False)
class AddedRows:
    """The values that new rows can have: one entry per class of the second release and value, sorted by class."""

    starts: Ints  # where the entries of each class begin
    cells: Ints  # the value of each entry
    counts: Ints  # rows of the class that show it and may be new
    most: Ints  # new rows of each class, at most

    @property
    def sizes(self) -> Ints:
        """How many rows a new row of each class can be any of."""
        return np.add.reduceat(self.counts, self.starts)

    @property
    def certain(self) -> Bools:
        """Which classes leave one value to a new row."""
        return np.asarray(np.diff(self.starts, append=len(self.cells)) == 1)


def run_difference(scene: Scene) -> Finding:
    """Find the smallest group of rows that a new row can be any of, the groups of one value, and the distances."""
    second, same = scene.second, scene.twins
    if second is None or same is None:
        return not_applicable(scene, "This attack needs a second release, with rows that the first does not have.")
    if scene.persons is not None:
        return not_applicable(scene, LINKED)
    added = int(second.sizes.sum() - scene.sizes.sum())
    if added <= 0:
        return not_applicable(scene, "The second release has no more rows than the first.")
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    smallest, exposed, names, distances = added, 0, [], {}
    for secret, again in zip(scene.secrets, second.secrets, strict=True):
        new = new_rows(scene, second, same, secret, again)
        failing = (new.sizes < scene.crowd) | new.certain
        smallest = min(smallest, int(new.sizes.min()))
        exposed = max(exposed, min(added, int(np.minimum(new.most, new.sizes)[failing].sum())))
        names += [secret.name] if new.certain.any() else []
        distances[secret.name] = round(largest_distance(new, again), 4)
    details = {"smallest_group": smallest, "new_rows": added, "distance": distances}
    sentence = _sentence(smallest, exposed, added, names, scene.crowd)
    return Finding(float(smallest), exposed, added, sentence, details=details)


def _sentence(smallest: int, exposed: int, added: int, names: list[str], crowd: int) -> str:
    group = say(
        "Of {rows}, the easiest to find can be one of {rows_2}",
        rows=counted(added, "new row"),
        rows_2=counted(smallest, "row"),
    )
    if not exposed:
        return say(
            "{group}; none is in a group of fewer than {crowd:,} rows or of one value.", group=group, crowd=crowd
        )
    certain = say(", which makes {columns} certain for some", columns=columns(names)) if names else ""
    return say(
        "{group}; {rows} can be in groups of fewer than {crowd:,} rows or of one value{certain}.",
        group=group,
        rows=rows_of(exposed, added),
        crowd=crowd,
        certain=certain,
    )


def new_rows(scene: Scene, second: Scene, same: Ints, secret: Secret, again: Secret) -> AddedRows:
    """Subtract one attribute's values: class by class where both show a class, else all at once."""
    different = int(max(secret.cells.max(), again.cells.max())) + 1
    keys, counts = np.unique(second.labels * different + again.cells, return_counts=True)
    labels, cells = np.divmod(keys, different)
    twin = np.full(len(scene.sizes), -1, dtype=np.int64)  # the class of the second release
    twin[same[same >= 0]] = np.flatnonzero(same >= 0)
    before, lacking = _before(twin[scene.labels] * different + secret.cells, keys)
    subtracted = same >= 0
    subtracted[lacking // different] = False  # where a row has gone, the class is another one
    subtracted[labels[before > counts]] = False
    rest = (~np.append(subtracted, False))[twin[scene.labels]]  # -1 has no twin, so it is never subtracted
    left = np.bincount(again.cells[~subtracted[second.labels]], minlength=different)
    left = np.maximum(left - np.bincount(secret.cells[rest], minlength=different), 0)
    possible = np.where(subtracted[labels], counts - before, np.minimum(counts, left[cells]))
    most = np.where(subtracted, np.bincount(labels, counts - before, len(same)), np.minimum(second.sizes, left.sum()))
    kept = possible > 0
    starts = np.flatnonzero(np.diff(labels[kept], prepend=-1))
    return AddedRows(starts, cells[kept], possible[kept], most[labels[kept][starts]].astype(np.int64))


def _before(keys: Ints, known: Ints) -> tuple[Ints, Ints]:
    """Return how often the first release shows each pair of class and value, and the pairs that only it shows."""
    shown, counts = np.unique(keys[keys >= 0], return_counts=True)
    places = np.minimum(np.searchsorted(known, shown), len(known) - 1)
    both = known[places] == shown
    before = np.zeros(len(known), dtype=np.int64)
    before[places[both]] = counts[both]
    return before, shown[~both]


def largest_distance(new: AddedRows, secret: Secret) -> float:
    """Return the largest distance of any group from the whole second release, as the policy compares values."""
    code_of = np.zeros(int(secret.cells.max()) + 1, dtype=np.int64)
    code_of[secret.cells] = secret.codes
    labels = np.repeat(np.arange(len(new.starts)), np.diff(new.starts, append=len(new.cells)))
    counts = Counts.from_entries(labels, code_of[new.cells], new.counts.astype(np.int64), secret.domain)
    return float(secret.distance.emd(counts, secret.reference).largest()[0])


DIFFERENCE = Attack(
    "differencing",
    "differencing attack",
    "The adversary has an earlier release and a later one with more rows, and knows who came in between. What the "
    "later release has more of are these people's rows.",
    "rows in the smallest group that a new row can be any of",
    "rows",
    "higher",
    run_difference,
    cure="add rows to a release with tclose apply",
    needs_rows=True,
)
