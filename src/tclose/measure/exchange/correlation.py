"""How values go together with quasi-identifiers: products of the two, whose weights are learned like all others."""

from __future__ import annotations

import numpy as np

from tclose.distance import Line
from tclose.measure.exchange.attacked import AttackedRows
from tclose.partition import Attribute
from tclose.types import Floats, Ints

SMALLEST = 1e-12
MOST_MARKED = 15  # values of an attribute; more are taken by their rank


def products(rows: AttackedRows, people: Ints, shown: Ints) -> Floats:
    """Return a row of products for each pair of a person and a row whose values the person is given."""
    places, columns = _places(rows.points[rows.rows])[people], []
    for number, attribute in enumerate(rows.attributes):
        scores = _scores(attribute)[rows.codes[shown, number]]
        columns.append((places[:, :, None] * scores[:, None, :]).reshape(len(people), -1))
    found = np.hstack(columns)
    return np.asarray(found / np.maximum(found.std(axis=0), SMALLEST))


def _places(points: Floats) -> Floats:
    """Return rows × places: each quasi-identifier by its size, by its rank, and by the square of its rank."""
    ranks = (np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0) + 0.5) / len(points) - 0.5
    ranks = np.stack([_ties(column, rank) for column, rank in zip(points.T, ranks.T, strict=True)], axis=1)
    return np.hstack([points - points.mean(axis=0), ranks, ranks**2])


def _ties(column: Floats, rank: Floats) -> Floats:
    """Give equal numbers the same rank, the mean of theirs."""
    which = np.unique(column, return_inverse=True)[1]
    return np.asarray((np.bincount(which, weights=rank) / np.bincount(which))[which])


def _scores(attribute: Attribute) -> Floats:
    """Return codes × scores: the rank and its square, or which of a few values it is."""
    domain, reference = len(attribute.reference), attribute.reference
    if domain <= MOST_MARKED and not isinstance(attribute.geometry, Line):
        return np.eye(domain)[:, 1:]
    rank = (np.cumsum(reference) - reference / 2) / reference.sum()
    return np.stack([rank, rank**2], axis=1)
