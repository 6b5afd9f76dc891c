"""CODIP: complete disjoint projections, several tables that share out the sensitive attributes.

Fang, Y., Ashrafi, M.Z., Ng, S.K.: Privacy beyond single sensitive attribute. DEXA 2011, 187-201; reviewed by Weber
(thesis, section 2.4.3). With every further sensitive attribute classes get larger (closeness diminishes), and
anyone who knows one sensitive value of a person finds the others beside it (the background join attack). So each table
holds every row and some of the attributes, with classes of its own: related attributes stay together, unrelated ones
go to different tables.

How strongly two attributes are related is Cramér's V with Bergsma's correction for chance (J. Korean Stat. Soc. 42,
2013), numbers taken in tenths. Starting from one attribute each, the two tables whose attributes are related most, on
average, become one, until a given number of tables is left or none are related enough. The paper leaves
open how a table is split; any method can be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tclose.distance import Line, LineWithLeaf
from tclose.errors import PolicyError, Unsuited
from tclose.partition import DEFAULT_METHOD, classes_of_base, method_called
from tclose.partition.problem import Attribute, Problem
from tclose.types import Floats, Ints, Progress, silent

Groups = tuple[tuple[int, ...], ...]
TENTHS = 10
RELATED = 0.15  # of 1; numbers with a correlation of a half reach about this
OPTIONS = {"tables": int | None, "related": float, "groups": Sequence[Sequence[str]] | None}  # for the release


def partition(
    problem: Problem,
    *,
    seed: int = 0,
    progress: Progress = silent,
    base: str = DEFAULT_METHOD,
    **options: Any,
) -> Ints:
    """Return the classes of one projection, found by the base method."""
    if method_called(base).tables != "one":
        raise Unsuited("'{base}' publishes several tables itself, so it cannot split a projection", base=base)
    return classes_of_base(base, problem, seed, options, progress)


def projections(sensitive: Sequence[Attribute], *, tables: int | None = None, related: float = RELATED) -> Groups:
    """Share out the attributes: those of each table, by their numbers, every attribute in exactly one table."""
    if not sensitive:
        raise Unsuited("projections share out sensitive attributes, and the policy names none")
    if tables is not None and not _whole(tables, 1, len(sensitive)):
        raise PolicyError(
            "tables is a whole number from 1 to {count}, the number of sensitive attributes", count=len(sensitive)
        )
    if not 0 <= related <= 1:
        raise PolicyError("related is a number from 0 to 1")
    strength = associations(sensitive)
    groups: list[tuple[int, ...]] = [(i,) for i in range(len(sensitive))]
    while len(groups) > (tables or 1):
        i, j = max(combinations(range(len(groups)), 2), key=lambda pair: _between(strength, groups, *pair))
        if tables is None and _between(strength, groups, i, j) < related:
            break
        groups[i] = tuple(sorted(groups[i] + groups.pop(j)))
    return tuple(groups)


def _whole(number: object, low: int, high: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and low <= number <= high


def _between(strength: Floats, groups: Sequence[tuple[int, ...]], i: int, j: int) -> float:
    return float(strength[np.ix_(groups[i], groups[j])].mean())


def associations(sensitive: Sequence[Attribute]) -> Floats:
    """Return how strongly each two attributes are related: 0 not at all, 1 as much as can be."""
    codes = [_coarse(attribute) for attribute in sensitive]
    strength = np.eye(len(codes))
    for i, j in combinations(range(len(codes)), 2):
        strength[i, j] = strength[j, i] = cramer(codes[i], codes[j])
    return strength


def _coarse(attribute: Attribute) -> Ints:
    """Take numbers in tenths: with many values everything would seem related. A missing value stays apart."""
    if not isinstance(attribute.geometry, Line | LineWithLeaf):
        return attribute.codes
    counts = attribute.row_counts
    if isinstance(attribute.geometry, LineWithLeaf):
        counts = counts[:-1]
    middles = (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)
    return np.append(np.asarray(middles * TENTHS, dtype=np.int64), TENTHS)[attribute.codes]


def cramer(first: Ints, second: Ints) -> float:
    """Return Cramér's V of two columns, less what chance alone would show."""
    first, second = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    rows, columns, total = int(first.max()) + 1, int(second.max()) + 1, len(first)
    if min(rows, columns) < 2 or total < 2:
        return 0.0
    cells, counts = np.unique(first * columns + second, return_counts=True)
    expected = np.bincount(first)[cells // columns] * (np.bincount(second)[cells % columns] / total)
    square = float((counts**2 / expected).sum()) / total - 1  # χ²/n; empty cells add what these leave to 1
    chance = (rows - 1) * (columns - 1) / (total - 1)
    sides = (side - (side - 1) ** 2 / (total - 1) for side in (rows, columns))
    most = min(sides) - 1
    return min((max(square - chance, 0.0) / most) ** 0.5, 1.0) if most > 0 else 0.0
