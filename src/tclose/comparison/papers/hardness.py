"""Liang & Yuan 2013, lemma 1 and theorems 3 to 7: hard problems written as tables, and their solutions read back.

Each function makes the table of one reduction. `exact` solves it, and the function beside it reads the solution of the
hard problem from the classes. A vertex, and an element of a matching, is a number from 0 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Distance, Equal, Matrix
from tclose.errors import PolicyError
from tclose.partition import Attribute, Problem
from tclose.partition.shared.axes import SetAxis
from tclose.types import Ints

Edge = tuple[int, int]
Triple = tuple[int, int, int]  # an element of X, one of Y and one of Z, each from 0 to n − 1
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
STAR = Matrix(np.array([[0, 2, 2, 1], [2, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]]))  # of theorem 7: 1, and 1/2 to value 4


@dataclass(frozen=True, eq=False)
class Closeness:
    """A table to be made t-close: rows × columns, a sensitive value per row, and how far a class may be."""

    columns: Ints
    values: Ints
    distance: Distance
    t: Fraction

    @property
    def problem(self) -> Problem:
        """The same as a problem for a method, which counts stars."""
        values = Attribute(self.values, np.bincount(self.values).astype(np.int64), self.distance, self.t)
        return _problem(self.columns, (values,), 1)


def anonymity_problem(columns: Ints, k: int) -> Problem:
    """Return k-anonymity as a problem for a method, which counts stars."""
    return _problem(columns, (), k)


def _problem(columns: Ints, sensitive: tuple[Attribute, ...], k: int) -> Problem:
    coded = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in columns.T]
    axes = tuple(SetAxis(codes, int(codes.max()) + 1) for codes in coded)
    return Problem(columns.astype(np.float64), sensitive, k, axes)


def closeness_of_anonymity(columns: Ints, k: int) -> Closeness:
    """Lemma 1: with all values different, a class of r of n rows is 1 − r/n away, so t = 1 − k/n asks for k rows."""
    rows = len(columns)
    return Closeness(columns, np.arange(rows), Equal(), 1 - Fraction(k, rows))


def anonymity_of_bisection(vertices: int, edges: Sequence[Edge]) -> Ints:
    """Theorem 3: a row per vertex, a column per edge, in which only the two ends differ from 0.

    The fewest stars of n/2-anonymity are n·(edges + the least cut)/2.
    """
    columns = np.zeros((vertices, len(edges)), dtype=np.int64)
    for number, edge in enumerate(edges):
        columns[list(edge), number] = np.array(edge) + 1
    return columns


def cut_of(labels: Ints, edges: Sequence[Edge]) -> int:
    """Return how many edges join two classes."""
    return int(sum(labels[a] != labels[b] for a, b in edges))


def anonymity_of_half(columns: Ints, c: Fraction) -> Ints:
    """Theorem 4, for c ≤ 1/3: n/2-anonymity as cn-anonymity of n/2c rows, with as many stars in the optimum.

    New rows are equal; in nm new columns, old rows differ from new ones, so no class takes both.
    """
    if not 0 < c <= THIRD:
        raise PolicyError("theorem 4 is about c above 0 and up to 1/3")
    (rows, wide), whole = columns.shape, _whole(len(columns) / (2 * c))
    first, second = int(columns.max(initial=0)) + 1, int(columns.max(initial=0)) + 2
    table = np.full((whole, wide + rows * wide), second, dtype=np.int64)
    table[:rows, :wide], table[:rows, wide:] = columns, first
    return table


def anonymity_of_half_clique(vertices: int, edges: Sequence[Edge], c: Fraction) -> Ints:
    """Theorem 5, for 1/3 < c < 1/2: the table of theorem 3 with new rows that agree with no row, n/2c in all.

    There is a clique of half the vertices if and only if cn-anonymity needs no more stars than `clique_stars`.
    """
    if not THIRD < c < HALF:
        raise PolicyError("theorem 5 is about c between 1/3 and 1/2")
    whole = _whole(vertices / (2 * c))
    new = np.arange(vertices + 1, whole + 1)[:, None] * np.ones(len(edges), dtype=np.int64)
    return np.vstack((anonymity_of_bisection(vertices, edges), new))


def clique_stars(vertices: int, edges: Sequence[Edge], rows: int) -> int:
    """Return how many stars the table of theorem 5 needs at most, if there is a clique of half the vertices."""
    half = vertices // 2
    return rows * len(edges) - half * (half * (half - 1) // 2)


def half_clique_of(labels: Ints, vertices: int) -> set[int]:
    """Return the vertices that are with a new row: the clique, where the classes cost no more than it allows."""
    return {vertex for vertex in range(vertices) if labels[vertex] in set(labels[vertices:].tolist())}


def closeness_of_matching(n: int, triples: Sequence[Triple], t: Fraction) -> Closeness:
    """Theorem 6, for t < 1/3: a row per element, a column per triple, in which only its three elements are equal.

    n triples cover every element if and only if a t-close table needs no more stars than `matching_stars`.
    """
    if not 0 <= t < THIRD:
        raise PolicyError("theorem 6 is about t from 0 to below 1/3")
    return Closeness(_incidences(n, triples, 3 * n), np.repeat([0, 1, 2], n), Equal(), t)


def closeness_of_matching_with_a_centre(n: int, triples: Sequence[Triple], t: Fraction) -> Closeness:
    """Theorem 7, for 1/3 ≤ t < 1/2: further rows with a fourth value, half as far from the other three as they are.

    There are 3n/(1 − 2t) rows in all; the number of stars that tells is that of theorem 6.
    """
    if not THIRD <= t < HALF:
        raise PolicyError("theorem 7 is about t from 1/3 to below 1/2")
    whole = _whole(3 * n / (1 - 2 * t))
    values = np.concatenate((np.repeat([0, 1, 2], n), np.full(whole - 3 * n, 3)))
    return Closeness(_incidences(n, triples, whole), values, STAR, t)


def matching_stars(n: int, triples: Sequence[Triple]) -> int:
    """Return how many stars a t-close table needs at most, if n triples cover every element."""
    return 3 * n * (len(triples) - 1)


def matching_of(labels: Ints, n: int, triples: Sequence[Triple]) -> list[Triple]:
    """Return the triples whose three elements are a class of their own."""
    sizes = np.bincount(labels)
    together = ((triple, labels[_elements(n, triple)]) for triple in triples)
    return [triple for triple, classes in together if len(set(classes.tolist())) == 1 and sizes[classes[0]] == 3]


def _incidences(n: int, triples: Sequence[Triple], rows: int) -> Ints:
    columns = np.repeat(np.arange(1, rows + 1)[:, None], len(triples), axis=1)
    for number, triple in enumerate(triples):
        columns[_elements(n, triple), number] = 0
    return columns


def _elements(n: int, triple: Triple) -> list[int]:
    """Return the rows of a triple: those of X come first, then those of Y and of Z."""
    return [place * n + element for place, element in enumerate(triple)]


def _whole(rows: Fraction) -> int:
    if rows.denominator != 1:
        raise PolicyError(f"the reduction needs a whole number of rows, not {rows}")
    return int(rows)
