"""Which value of y belongs to which row of its class: how far a coefficient can go, and what a linear law would give.

Coefficient j of a regression is Σ gᵢⱼ·yᵢ, where gⱼ is row j of (XᵀX)⁻¹Xᵀ. With X known, it is largest if y is sorted by
gⱼ within each class (the rearrangement inequality), and so it is exactly known how far it can go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tclose.analysis.designs import Design
from tclose.types import Bools, Floats, Ints

STEPS = 40  # of an ascent: on the tables of bench/regression.py, 160 widen the bounds by 2.4 % at most
SMALLEST_STEP = 1e-3
SINGULAR = 1e-7  # the least eigenvalue of XᵀX, columns of length 1, below which a coefficient may be anything
NOISE = (2.0, 1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.0)  # of pairs, in standard deviations of y
ROUNDS = 4  # until the law that pairs follow is the one that they show


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares for given x: (XᵀX)⁻¹, and (XᵀX)⁻¹Xᵀ with a row per coefficient."""

    x: Floats
    inverse: Floats
    by_row: Floats

    @classmethod
    def of(cls, x: Floats) -> Fit | None:
        """Return the fit; None where a column follows from the others."""
        lengths = np.sqrt((x * x).sum(axis=0))
        if len(x) <= x.shape[1] or not lengths.all():
            return None
        moments = (x / lengths).T @ (x / lengths)
        if np.linalg.eigvalsh(moments)[0] < SINGULAR:
            return None
        inverse = np.linalg.inv(moments) / lengths / lengths[:, None]
        return cls(x, inverse, inverse @ x.T)

    def variance(self, y: Floats) -> Floats:
        """Return the usual variance of the coefficients."""
        residuals = y - self.x @ (self.by_row @ y)
        return np.asarray(np.diag(self.inverse) * (residuals @ residuals) / (len(y) - self.x.shape[1]))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The values of y, of which it is known only to which class they belong; a bin leaves open where in it they lie."""

    labels: Ints
    rising: Floats  # in the order of the classes, and rising within each
    low: Floats  # the least and the largest that each of them may be
    high: Floats

    @classmethod
    def of(cls, y: Floats, low: Floats, high: Floats, labels: Ints) -> Pairs:
        """Return the values of y of some rows."""
        labels = np.unique(labels, return_inverse=True)[1]
        order = np.lexsort((y, labels))
        return cls(labels, y[order], low[order], high[order])

    def largest(self, weights: Floats) -> Floats:
        """Give each row a value of its class's so that the sum of weights · values is largest."""
        order, placed = np.lexsort((weights, self.labels)), np.empty(len(weights))
        placed[order] = np.where(weights[order] > 0, self.high, self.low)
        return placed

    def sorted_by(self, key: Floats) -> Floats:
        """Give each row a value of its class's, in the order of a key."""
        placed = np.empty(len(key))
        placed[np.lexsort((key, self.labels))] = self.rising
        return placed

    @property
    def means(self) -> Floats:
        """The mean of each row's class."""
        means = np.bincount(np.sort(self.labels), self.rising) / np.bincount(self.labels)
        return np.asarray(means[self.labels])

    def reordered(self, block: Floats, key: Floats, by: Floats) -> Floats:
        """Exchange rows of a block within classes, so that they rise by one key where another rises."""
        placed = np.empty_like(block)
        placed[np.lexsort((by, self.labels))] = block[np.lexsort((key, self.labels))]
        return placed


def extremes(fit: Fit, pairs: Pairs) -> tuple[Floats, Floats]:
    """Return the smallest and the largest coefficients that any pairs within classes give, with x as it is."""
    least = np.array([g @ pairs.largest(-g) for g in fit.by_row])
    return least, np.array([g @ pairs.largest(g) for g in fit.by_row])


def bounds(design: Design, known: Bools, fit: Fit, pairs: Pairs) -> tuple[Floats, Floats]:
    """Return how far each coefficient can go if x may lie anywhere in what is published, too."""
    ends = np.array(
        [[_ascent(design, known, fit, pairs, j, sign) for j in range(len(fit.inverse))] for sign in (-1, 1)]
    )
    return ends[0], ends[1]


def _ascent(design: Design, known: Bools, fit: Fit, pairs: Pairs, place: int, sign: int) -> float:
    """Move x towards the ends where the coefficient grows, and sort y anew, as long as that helps.

    Each step raises sign · coefficient. If x comes to lie where its columns follow from each other, there is no end.
    """
    y = pairs.largest(sign * fit.by_row[place])
    best, share = sign * fit.by_row[place] @ y, 1.0
    for _ in range(STEPS):
        found = fit.by_row @ y
        slopes = fit.inverse[place][1:] * (y - fit.x @ found)[:, None] - np.outer(fit.by_row[place], found[1:])
        target = design.farthest(np.hstack([np.zeros((len(y), 1)), sign * slopes]), known)
        while share > SMALLEST_STEP:
            other = Fit.of(fit.x + share * (target - fit.x))
            if other is None:
                return sign * np.inf
            moved = pairs.largest(sign * other.by_row[place])
            reached = sign * other.by_row[place] @ moved
            if reached > best + 1e-9 * abs(best):
                break
            share /= 2
        else:
            break
        fit, y, best, share = other, moved, reached, min(1.0, 2 * share)
    return float(sign * best)


def laws(fit: Fit, pairs: Pairs, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Return coefficients and variances if pairs follow one linear law, from unrelated pairs to pairs without noise.

    For each level of noise, y is sorted within classes by the fit plus noise, and the fit is that of these pairs.
    """
    found = fit.by_row @ pairs.means
    yield found, fit.variance(pairs.sorted_by(rng.random(len(pairs.labels))))
    noise = rng.normal(size=len(pairs.labels)) * pairs.rising.std()
    for level in NOISE:
        for _ in range(ROUNDS):
            y = pairs.sorted_by(fit.x @ found + level * noise)
            found = fit.by_row @ y
        yield found, fit.variance(y)


def orders(design: Design, x: Floats, pairs: Pairs) -> Iterator[Floats]:
    """Return x as drawn, and with each column in the order of the others' share of the fit within classes, or against.

    A release does not say either which values of two columns x belong together.
    """
    yield x
    fit = Fit.of(x)
    if fit is None or len(design.parts) < 2:
        return
    found = fit.by_row @ pairs.means
    for block in design.blocks:
        own = x[:, block] @ found[block]
        for sign in (1, -1):
            other = x.copy()
            other[:, block] = pairs.reordered(x[:, block], own, sign * (x @ found - own))
            yield other
