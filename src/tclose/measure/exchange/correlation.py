"""How values go together with quasi-identifiers in the whole table, learned on pairs of any two rows.

An adversary may know this without knowing the algorithm, for instance that taxes grow with incomes. It is learned from
products of places and values, so that what exchanges add can be told apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance import Line
from tclose.measure.exchange.attacked import AttackedRows
from tclose.partition import Attribute
from tclose.types import Floats, Ints

SMALLEST = 1e-12
MOST_MARKED = 6  # values of an attribute without an order: the commonest
PAIRS_PER_ROW, MOST_PAIRS = 4, 6000
MOST_COLUMNS = 100


@dataclass(frozen=True, eq=False)
class Products:
    """Places of rows and scores of values, whose products are the columns by which correlations are learned."""

    places: Floats  # rows × places
    scores: tuple[Floats, ...]  # per attribute: rows × scores of their values

    @classmethod
    def of(cls, rows: AttackedRows) -> Products:
        """Take the rows' own places and values."""
        scores = [_scores(each)[codes] for each, codes in zip(rows.attributes, rows.codes.T, strict=True)]
        points, wanted = rows.points[rows.rows], sum(each.shape[1] for each in scores)
        places = _places(points, plain=3 * points.shape[1] * wanted > MOST_COLUMNS)
        return cls(places, tuple(map(_standardised, scores)))

    def given(self, people: Ints, shown: Ints) -> Floats:
        """Return the products for each pair of a person and a row whose values the person is given."""
        places = self.places[people]
        each = ((places[:, :, None] * scores[shown][:, None, :]).reshape(len(people), -1) for scores in self.scores)
        return np.hstack(list(each))

    def changes(self, rows: Ints, random: np.random.Generator) -> Floats:
        """Return how the products of random pairs of some rows change if they swap their values."""
        one, other = random.choice(rows, (2, min(PAIRS_PER_ROW * len(rows), MOST_PAIRS)))
        true = self.given(one, one) + self.given(other, other)
        return self.given(one, other) + self.given(other, one) - true


def _places(points: Floats, *, plain: bool) -> Floats:
    """Return rows × places: each quasi-identifier by its rank; unless plain, also by its size and its squared rank."""
    ranks = np.stack([_ranks(column) for column in points.T], axis=1)
    if plain:
        return _standardised(ranks)
    return _standardised(np.hstack([points, ranks, ranks**2]))


def _ranks(column: Floats) -> Floats:
    """Return the ranks of numbers, from -1 to 1; equal numbers have the same."""
    _, which, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(((np.cumsum(counts) - counts / 2) / len(column) * 2 - 1)[which])


def _scores(attribute: Attribute) -> Floats:
    """Return codes × scores: the rank and its square on a line, or else which of the commonest values it is."""
    domain, reference = len(attribute.reference), attribute.reference
    if not isinstance(attribute.geometry, Line):
        return np.eye(domain)[:, np.argsort(-reference, kind="stable")[: min(domain - 1, MOST_MARKED)]]
    rank = (np.cumsum(reference) - reference / 2) / reference.sum()
    return np.stack([rank, rank**2], axis=1)


def _standardised(columns: Floats) -> Floats:
    return np.asarray((columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), SMALLEST))
