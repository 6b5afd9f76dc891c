"""The hard problems that Liang & Yuan reduce from, solved by trying everything, which small instances allow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tclose.comparison.papers.hardness import Edge, Triple


def least_cut(vertices: int, edges: Sequence[Edge]) -> int:
    """Return how few edges join two halves of a graph.

    >>> least_cut(4, [(0, 1), (2, 3), (1, 2)])
    1
    """
    halves = (set(half) for half in combinations(range(vertices), vertices // 2))
    return min(sum((a in half) != (b in half) for a, b in edges) for half in halves)


def has_half_clique(vertices: int, edges: Sequence[Edge]) -> bool:
    """Tell whether half of the vertices are all joined with each other.

    >>> has_half_clique(6, [(0, 1), (0, 2), (1, 2)]), has_half_clique(6, [(0, 1), (0, 2), (1, 3)])
    (True, False)
    """
    joined = {frozenset(edge) for edge in edges}
    return any(is_clique(set(some), joined) for some in combinations(range(vertices), vertices // 2))


def is_clique(vertices: set[int], joined: set[frozenset[int]]) -> bool:
    """Tell whether every two of these vertices are joined."""
    return all(frozenset(pair) in joined for pair in combinations(vertices, 2))


def has_matching(n: int, triples: Sequence[Triple]) -> bool:
    """Tell whether n triples cover every element of X, Y and Z exactly once.

    >>> has_matching(2, [(0, 0, 0), (1, 1, 1)]), has_matching(2, [(0, 0, 0), (1, 1, 0)])
    (True, False)
    """
    return any(is_matching(n, some) for some in combinations(triples, n))


def is_matching(n: int, triples: Sequence[Triple]) -> bool:
    """Tell whether these triples cover every element exactly once."""
    return len(triples) == n and all(len({triple[place] for triple in triples}) == n for place in range(3))
