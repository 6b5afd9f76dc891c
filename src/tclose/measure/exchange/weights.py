"""How much each kind of exchange that was left undone tells: logistic regression on pairs of rows of one class.

The adversary learns this where the values are known. One way is to make tables: the same people with their values
dealt out at random, and classes made by the algorithm. To measure a release whose algorithm is not known, the weights
are learned on classes of the release other than those that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.field import BINS, EXCHANGES, Field
from tclose.measure.exchange.kernels import changes_of_swaps
from tclose.types import Floats, Ints

MOST_PAIRS = 40_000
PENALTY = 1.0  # on squared weights: with few pairs, weights stay small
STEPS = 30
SMALL_STEP = 1e-4
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows of one class with different values, and what a swap of the values would change (`Field`)."""

    first: Ints
    second: Ints
    changes: Floats  # pairs × bins

    @classmethod
    def of(cls, field: Field, value: Ints, random: np.random.Generator) -> Pairs:
        """Take all pairs, or a random sample of very many; `value` is the number of each row's value in its class."""
        first, second = pairs_of_rows(field.rows, random)
        differ = value[first] != value[second]
        first, second = first[differ], second[differ]
        changes = np.zeros((len(first), BINS + field.arrays.moves.shape[1]))
        changes_of_swaps(field.arrays, value, first, second, changes)
        return cls(first, second, changes)

    def leads(self, weights: Floats) -> Floats:
        """Return by how much the true values are ahead of the swapped ones; weights per pair, or for all."""
        return np.asarray((self.changes * weights).sum(axis=1))


def pairs_of_rows(rows: AttackedRows, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return all pairs of rows of one class, or a random sample."""
    size = np.bincount(rows.labels)
    start = np.cumsum(size) - size
    partners = size[rows.labels[rows.order]] - 1 - (np.arange(len(rows)) - start[rows.labels[rows.order]])
    if partners.sum() <= MOST_PAIRS:
        first = np.repeat(np.arange(len(rows)), partners)
        ahead = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners) + 1
    else:
        first = np.sort(random.choice(len(rows), MOST_PAIRS, p=partners / partners.sum()))
        ahead = 1 + (random.random(MOST_PAIRS) * partners[first]).astype(np.int64)
    return rows.order[first], rows.order[first + ahead]


def learned(changes: Floats, leads: Floats | float = 0.0) -> Floats:
    """Return the weights by which the true values of pairs are most likely (Newton's method, a ridge penalty).

    `leads` is by how much the true values are ahead already.
    """
    weights = np.zeros(changes.shape[1])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(np.clip(leads + changes @ weights, -30, 30)))  # of the swapped values
        slope = changes.T @ chance - PENALTY * weights
        curve = (changes * (chance * (1 - chance))[:, None]).T @ changes + PENALTY * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max(initial=0.0) < SMALL_STEP:
            break
    return weights


@dataclass(frozen=True, eq=False)
class Folds:
    """The classes in some parts; what is tried on one part is learned on the others."""

    of_class: Ints
    of_row: Ints

    @classmethod
    def of(cls, rows: AttackedRows, random: np.random.Generator) -> Folds:
        """Put the classes into parts at random."""
        of_class = random.permutation(len(rows.sizes)) % FOLDS
        return cls(of_class, of_class[rows.labels])

    def correlations(self, field: Field, random: np.random.Generator) -> Floats:
        """Return the weights for each class of an adversary who knows correlations and no exchanges."""
        by_fold = []
        for fold in range(FOLDS):
            changes = field.products.changes(np.flatnonzero(self.of_row != fold), random)
            by_fold.append(np.append(np.zeros(EXCHANGES), learned(changes)))
        return np.stack(by_fold)[self.of_class]

    def exchanges(self, pairs: Pairs, given: Floats) -> Floats:
        """Return the weights for each class, with those of exchanges learned; the others are given."""
        by_fold = given[np.searchsorted(self.of_class, np.arange(FOLDS), sorter=np.argsort(self.of_class))]
        for fold, weights in enumerate(by_fold):
            others = pairs.changes[self.of_row[pairs.first] != fold]
            weights[:EXCHANGES] = learned(others[:, :EXCHANGES], others @ weights)
        return np.asarray(by_fold[self.of_class])
