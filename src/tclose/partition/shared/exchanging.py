"""Exchange rows between groups of fixed sizes until the groups are admitted.

Every round pairs each group that is not admitted with another, tries a few exchanges of one row against one in every
pair, and keeps the best of each pair where it lowers how far the two are from being admitted. Quasi-identifiers
play no part, so this is only for releases that publish them exactly.
"""

from __future__ import annotations

import numpy as np

from tclose.distance import Counts
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints

Chance = np.random.Generator
TRIES = 6  # exchanges per pair and round
PATIENCE = 12  # rounds without a gain of 1 % of what is left
WORK = 150  # rows looked at, per row of the table
ROUNDED = 1e-9  # what floats may leave of nothing; the exact judgement comes later
LEAST_T = 1e-3  # t = 0 is as good as reached below


def strains(problem: Problem, rows: Ints, labels: Ints) -> Floats:
    """Return how far each group of these rows is from being admitted: by how much it exceeds t, and models it fails."""
    strain = np.zeros(int(labels[-1]) + 1)
    for attribute in problem.sensitive:
        strain += _strain(attribute, Counts.from_codes(labels, attribute.codes[rows], len(attribute.reference)))
    return np.where(strain < ROUNDED, 0.0, strain)


def _strain(attribute: Attribute, counts: Counts) -> Floats:
    strain = np.zeros(len(counts))
    if attribute.t is not None:
        strain = np.maximum(
            attribute.distance.emd(counts, attribute.reference).floats() / max(float(attribute.t), LEAST_T) - 1, 0
        )
        strain = strain if attribute.n is None else np.where(counts.sizes >= attribute.n, 0, strain)
    for model in attribute.models:
        strain = strain + ~model.judge(counts, attribute.reference).admitted
    return strain


class Exchange:
    """Groups as stretches of one array of rows: an exchange swaps two places, so that no size changes."""

    def __init__(self, problem: Problem, labels: Ints, chance: Chance) -> None:
        self.problem, self.chance = problem, chance
        self.order = np.argsort(labels, kind="stable")
        self.sizes = np.bincount(labels)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.strain = strains(problem, self.order, labels[self.order])

    @property
    def labels(self) -> Ints:
        """The group of every row."""
        labels = np.empty(len(self.order), dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return labels

    def run(self, pulse: Pulse = QUIET) -> None:
        """Exchange rows while it helps."""
        left, waited, seen = float(self.strain.sum()), 0, 0
        while left and waited < PATIENCE and seen < WORK * len(self.order) and len(self.sizes) > 1:
            pulse.beat()
            seen += self._round()
            now = float(self.strain.sum())
            waited, left = (0, now) if now < 0.99 * left else (waited + 1, left)
            left = left if now else 0.0

    def _round(self) -> int:
        """Try exchanges in pairs of groups; return how many rows were looked at."""
        ones, others = self._pairs()
        places, other_places = (self._some_places(groups) for groups in (ones, others))
        both = np.concatenate([np.repeat(ones, TRIES), np.repeat(others, TRIES)])
        sizes = self.sizes[both]
        begins = np.cumsum(sizes) - sizes
        labels = np.repeat(np.arange(len(both)), sizes)
        rows = self.order[np.arange(len(labels)) + np.repeat(self.starts[both] - begins, sizes)]
        out, into = np.concatenate([places, other_places]), np.concatenate([other_places, places])
        rows[begins + out - self.starts[both]] = self.order[into]
        after = strains(self.problem, rows, labels).reshape(2, len(ones), TRIES)
        best = after.sum(axis=0).argmin(axis=1)
        pair = np.arange(len(ones))
        new = after[:, pair, best]
        better = new.sum(axis=0) < self.strain[ones] + self.strain[others] - ROUNDED
        chosen = (pair * TRIES + best)[better]
        first, second = places[chosen], other_places[chosen]
        self.order[first], self.order[second] = self.order[second], self.order[first]
        self.strain[ones[better]], self.strain[others[better]] = new[:, better]
        return len(rows)

    def _pairs(self) -> tuple[Ints, Ints]:
        """Pair every group that fails with another, no group twice."""
        groups = self.chance.permutation(len(self.sizes))
        groups = groups[np.argsort(self.strain[groups] == 0, kind="stable")]
        pairs = min(np.count_nonzero(self.strain), len(groups) // 2)
        return groups[:pairs], groups[::-1][:pairs]

    def _some_places(self, groups: Ints) -> Ints:
        groups = np.repeat(groups, TRIES)
        return self.starts[groups] + (self.chance.random(len(groups)) * self.sizes[groups]).astype(np.int64)
