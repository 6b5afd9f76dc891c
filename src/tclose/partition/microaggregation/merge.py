"""Merging (algorithm 1 of Soria-Comas et al. 2015): the class farthest beyond t joins its nearest, until none is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Line, Tree
from tclose.partition.problem import Attribute
from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints, Progress

SAFE = 2**62  # below this, integers of 64 bits cannot overflow
DOUBTFUL = 1 + 1e-9  # floats added up in another order do not differ by this factor


def joined(points: Floats, labels: Ints, sensitive: tuple[Attribute, ...], progress: Progress) -> Ints:
    """Return the classes with those beyond some t merged into others; one class of all rows must be within every t."""
    beyond, judges = (
        excess(labels, sensitive),
        [judge_of(attribute) for attribute in sensitive if attribute.t is not None],
    )
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    members = np.split(order, np.cumsum(sizes)[:-1])
    centres = np.stack([np.bincount(labels, weights=column) for column in points.T], axis=1) / sizes[:, None]
    failing = max(int((beyond > 0).sum()), 1)
    while beyond[worst := int(beyond.argmax())] > 0:
        progress(max(1 - int(np.count_nonzero(beyond > 0)) / failing, 0.0))
        other = nearest(centres, worst)
        rows = members[other] = np.concatenate((members[other], members[worst]))
        centres[other] = np.add.reduce(points.take(rows, axis=0), axis=0) / len(rows)
        centres[worst], members[worst], beyond[worst] = np.inf, members[worst][:0], -np.inf
        beyond[other] = max((judge.excess(rows) for judge in judges), default=-1.0)
    numbers = np.empty(len(labels), dtype=np.int64)
    for number, rows in enumerate(rows for rows in members if len(rows)):
        numbers[rows] = number
    return numbers


def excess(labels: Ints, sensitive: tuple[Attribute, ...]) -> Floats:
    """Return by how much each class is beyond the t that it breaks most; what is within, exactly, is not above 0."""
    worst = np.full(int(labels.max()) + 1, -1.0)
    for attribute in sensitive:
        if attribute.t is not None:
            emd = attribute.distance.emd(
                Counts.from_codes(labels, attribute.codes, len(attribute.reference)), attribute.reference
            )
            beyond = np.maximum(emd.floats() - float(attribute.t), np.finfo(float).tiny)
            worst = np.maximum(worst, np.where(emd.at_most(attribute.t), -1.0, beyond))
    return worst


def nearest(centres: Floats, chosen: int) -> int:
    """Return the class whose centre is nearest to that of another class, the first of equals."""
    near = _near(centres, chosen)
    if len(near) == 1:
        return int(near[0])
    return int(near[((centres[near] - centres[chosen]) ** 2).sum(axis=1).argmin()])


@kernel
def _near(centres: Floats, chosen: int) -> Ints:
    """Return the classes whose centres are nearest to that of another class; further ones where floats may err."""
    gaps, least = np.full(len(centres), np.inf), np.inf
    for i in range(len(centres)):
        if i == chosen:
            continue
        gap, limit = 0.0, least * DOUBTFUL
        for q in range(centres.shape[1]):
            gap += (centres[i, q] - centres[chosen, q]) ** 2
            if gap > limit:
                break
        gaps[i] = gap
        least = min(least, gap)
    return np.flatnonzero(gaps <= least * DOUBTFUL)


# --- one class at a time ----------------------------------------------------------------------------------------------


def judge_of(attribute: Attribute) -> FastJudge | SlowJudge:
    """Return what tells of one class at a time by how much it is beyond an attribute's t."""
    return FastJudge.of(attribute) or SlowJudge(attribute)


@dataclass(frozen=True, eq=False)
class SlowJudge:
    """Tells by how much one class is beyond an attribute's t, whatever the distance."""

    attribute: Attribute

    def excess(self, rows: Ints) -> float:
        """Return the excess of a class of these rows; -1 if it is within t."""
        some = Attribute(
            self.attribute.codes[rows], self.attribute.reference, self.attribute.distance, self.attribute.t
        )
        return float(excess(np.zeros(len(rows), dtype=np.int64), (some,))[0])


@dataclass(frozen=True, eq=False)
class FastJudge:
    """The same on a line or in a tree, where 64 bits hold the work of every class.

    On a line, `gaps` lie between the values, and `reference` counts the table's rows up to each value. In a tree,
    `nodes[h]` are the nodes above the values at height h, numbered apart, and `reference` counts the rows below each.
    """

    codes: Ints
    gaps: Ints
    nodes: Ints
    reference: Ints
    total: int
    unit: int
    t: Fraction

    @classmethod
    def of(cls, attribute: Attribute) -> FastJudge | None:
        """Lay an attribute's distance out for the loop; None where it is neither a line nor a tree, or too long."""
        geometry, reference, total, t = (
            attribute.geometry,
            attribute.reference,
            int(attribute.reference.sum()),
            attribute.t,
        )
        most_rows = max(total, len(attribute.codes))
        if t is None or not isinstance(geometry, Line | Tree):
            return None
        length = geometry.length if isinstance(geometry, Line) else max(geometry.height, 1)
        if 2 * length * total * most_rows >= SAFE:
            return None
        if isinstance(geometry, Line):
            gaps, nodes = np.diff(geometry.positions).astype(np.int64), np.zeros((0, 0), dtype=np.int64)
            return cls(attribute.codes, gaps, nodes, np.cumsum(reference), total, length * total, t)
        nodes = _numbered_apart(geometry)
        below = np.bincount(nodes.ravel(), weights=np.tile(reference, len(nodes))).astype(np.int64)
        return cls(attribute.codes, np.zeros(0, dtype=np.int64), nodes, below, total, length * total, t)

    def excess(self, rows: Ints) -> float:
        """Return the excess of a class of these rows; -1 if it is within t."""
        work = int(_work(self.codes, rows, self.gaps, self.nodes, self.reference, self.total))
        if work * self.t.denominator <= len(rows) * self.unit * self.t.numerator:
            return -1.0
        return max(work / (len(rows) * float(self.unit)) - float(self.t), sys.float_info.min)


def _numbered_apart(tree: Tree) -> Ints:
    """Return the nodes above each value at every height below the root; no number occurs at two heights."""
    levels = tree.below_root
    first = np.cumsum([0, *(int(level[-1]) + 1 for level in levels)])[: len(levels)]
    return np.asarray(np.reshape(levels, (len(levels), -1)) + first[:, None], dtype=np.int64)


@kernel
def _work(codes: Ints, rows: Ints, gaps: Ints, nodes: Ints, reference: Ints, total: int) -> int:
    """Return the work of one class, an integer: its distance times its size times the unit."""
    counts, size, work = np.zeros(len(reference), dtype=np.int64), len(rows), 0
    for row in rows:
        if len(nodes) == 0:
            counts[codes[row]] += 1
        for h in range(len(nodes)):
            counts[nodes[h, codes[row]]] += 1
    running = 0
    for i in range(len(gaps)):
        running += counts[i]
        work += gaps[i] * abs(total * running - size * reference[i])
    for i in range(len(reference) if len(nodes) else 0):
        work += max(total * counts[i] - size * reference[i], 0)
    return work
