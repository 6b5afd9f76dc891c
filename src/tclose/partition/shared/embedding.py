"""Sensitive values as points whose Euclidean distances are their ground distances, as near as that can be.

Numbers lie on a line already. Other values are placed by principal coordinates (Gower, Biometrika 53, 1966), weighted
by how often they occur; of a large domain the commonest values are placed, and the rest is fitted in between them
(landmark scaling, de Silva & Tenenbaum 2004). A row's distance over several attributes is then the root of their
squared distances' sum, which is the distance that Wang et al. (2018) define.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance import Line, LineWithLeaf, Metric, Tree
from tclose.partition.problem import Attribute, Problem
from tclose.types import Floats, Ints

LANDMARKS = 256
DIMENSIONS = 16  # per attribute
NOUGHT = 1e-9  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Embedding:
    """The different combinations of sensitive values: their places, how many rows show each, and which a row shows."""

    points: Floats
    counts: Ints
    of_row: Ints

    @classmethod
    def of(cls, problem: Problem) -> Embedding:
        """Place all rows of a problem."""
        example, of_row = np.zeros(min(problem.rows, 1), dtype=np.int64), np.zeros(problem.rows, dtype=np.int64)
        for attribute in problem.sensitive:
            _, example, of_row = np.unique(
                of_row * len(attribute.reference) + attribute.codes, return_index=True, return_inverse=True
            )
        places = [placed(attribute)[attribute.codes[example]] for attribute in problem.sensitive]
        points = np.concatenate([*places, np.zeros((len(example), 1))], axis=1)
        return cls(points, np.bincount(of_row).astype(np.int64), of_row)

    def order(self) -> Ints:
        """Return the combinations along their first principal component, from one end to the other."""
        centred = self.points - np.average(self.points, axis=0, weights=self.counts)
        _, axes = np.linalg.eigh(centred.T * self.counts @ centred)
        first = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])  # of two directions always the same
        return np.argsort(np.round(centred @ first, 12), kind="stable")


def placed(attribute: Attribute) -> Floats:
    """Return the places of all values of an attribute: values × dimensions."""
    geometry = attribute.geometry
    if isinstance(geometry, Line):
        positions = geometry.rounded.positions.astype(np.float64)
        return np.asarray(positions / max(float(positions[-1]), 1.0))[:, None]
    landmarks = np.sort(np.argsort(-attribute.reference, kind="stable")[:LANDMARKS])
    weights = attribute.reference[landmarks] / max(int(attribute.reference[landmarks].sum()), 1)
    return _principal_coordinates(_distances(geometry, len(attribute.reference), landmarks) ** 2, landmarks, weights)


def _distances(geometry: LineWithLeaf | Tree | Metric, values: int, landmarks: Ints) -> Floats:
    """Return the ground distance of every value from each landmark."""
    if isinstance(geometry, Metric):
        return np.asarray(geometry.costs[:, landmarks] / geometry.farthest)
    if isinstance(geometry, LineWithLeaf):
        return _from_landmarks(geometry, landmarks)
    apart = [level[:, None] != level[landmarks] for level in geometry.below_root]
    return np.asarray(np.sum(apart, axis=0) / max(geometry.height, 1) + np.zeros((values, len(landmarks))))


def _from_landmarks(geometry: LineWithLeaf, landmarks: Ints) -> Floats:
    places = np.append(geometry.positions, geometry.middle).astype(np.float64)
    distances = np.abs(places[:, None] - places[landmarks])
    is_leaf = np.arange(len(places)) == geometry.leaf
    distances[is_leaf[:, None] != is_leaf[landmarks]] += geometry.middle
    return np.asarray(distances / geometry.unit)


def _principal_coordinates(squares: Floats, landmarks: Ints, weights: Floats) -> Floats:
    """Return places whose squared distances from the landmarks are as given; squares that fit nowhere are dropped."""
    mean = squares[landmarks] @ weights
    products = (squares @ weights)[:, None] + mean - squares - weights @ mean  # twice the scalar products
    root = np.sqrt(weights)
    eigenvalues, axes = np.linalg.eigh(root[:, None] * products[landmarks] / 2 * root)
    kept = np.flatnonzero(eigenvalues > max(eigenvalues.max(initial=0.0), 0.0) * NOUGHT)[::-1][:DIMENSIONS]
    return np.asarray(products / 2 @ (root[:, None] * axes[:, kept]) / np.sqrt(eigenvalues[kept]))
