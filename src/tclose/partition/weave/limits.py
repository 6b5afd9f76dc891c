"""All limits on classes as kernels read them: trees, the counts of the table, and the work that is allowed.

The work of a class on a tree is Σ weight·|N·C − s·R|, an integer. t allows so much work per row of the class; what 64
bits cannot hold is scaled down (`scaling.py`). A rule allows no work: its work is the number of rows by which a class
breaks it. A threshold for a group of persons allows work as t does; a class without rows of the group has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.partition.problem import Attribute
from tclose.partition.shared.structs import array, kernel_struct
from tclose.partition.weave.scaling import SAFE, ScaledTree, scaled_tree
from tclose.partition.weave.trees import LimitTree, limit_trees
from tclose.privacy.rule import Rule
from tclose.types import Ints, SmallInts

__all__ = ["SAFE", "Limits", "limits_of"]

Records = NDArray[np.void]

ATTRIBUTE = np.dtype(
    [
        ("kind", "i8"),  # DISTANCE, RULE or GUARDED
        ("edge", "i8"),  # the first of its edges
        ("path_end", "i8"),  # the edges before this one are a path along the values
        ("edge_end", "i8"),
        ("value", "i8"),  # the first of its values
        ("values", "i8"),  # how many
        ("above", "i8"),  # where the edges above its first value begin in `above`
        ("depth", "i8"),  # the edges above each value
        ("total", "i8"),  # rows of the table, or those that stand for them
        ("allowed", "i8"),  # work allowed per row of a class: allowed / allowed_per
        ("allowed_per", "i8"),
        ("scale", "f8"),  # the work per row of a distance of 1
        ("free_size", "i8"),  # rows from which on a class is admitted whatever its work
        ("guard", "i8"),  # of a threshold for a group: the edge beyond which its rows are
        ("distinct", "i8"),  # of a rule: least number of different values
        ("entropy", "f8"),  # of a rule: least entropy in nats, 0 for none
        ("kl", "f8"),  # of a rule: largest divergence from the table in nats, infinite for none
        ("c", "i8"),  # of a rule: recursive (c/c_per, l)-diversity, l = 0 for none
        ("c_per", "i8"),
        ("l", "i8"),
    ],
    align=True,
)
EDGE = np.dtype([("reference", "i8"), ("weight", "i8")], align=True)
SHARE = np.dtype(
    [("most", "i8"), ("most_per", "i8"), ("least", "i8"), ("least_per", "i8"), ("surprisal", "f8")], align=True
)


@kernel_struct
class Limits:
    """The limits of all attributes; `attributes` says where each attribute's part of the other arrays begins."""

    attributes: Records = array(ATTRIBUTE)
    codes: SmallInts = array(np.int32, 2)  # rows × attributes
    edges: Records = array(EDGE)
    shares: Records = array(SHARE)  # per edge: what a rule allows as the share of a class, and −ln of the table's
    above: SmallInts = array(np.int32)  # the edges above each value, those of a path left out
    persons: SmallInts = array(np.int32)  # the person of each row; empty where no person has several rows
    least_persons: Ints = array(np.int64)  # one number: of a class, where persons are counted

    def part(self, rows: NDArray[np.signedinteger]) -> Limits:
        """Return the limits with the codes of some rows, in this order."""
        persons = self.persons[rows] if len(self.persons) else self.persons
        return replace(self, codes=self.codes.take(rows, axis=0), persons=persons)


def limits_of(sensitive: tuple[Attribute, ...], rows: int, persons: Ints | None = None, k: int = 1) -> Limits:
    """Lay the limits of all attributes out in arrays; with the persons of the rows, a class must have k of them."""
    trees = limit_trees(sensitive)
    scaled = [scaled_tree(tree, rows) for tree in trees]
    attributes, above = np.zeros(len(trees), ATTRIBUTE), [np.zeros(0, np.int32)]
    codes = np.empty((rows, len(trees)), dtype=np.int32)
    edge = value = 0
    for a, tree in enumerate(trees):
        codes[:, a] = tree.codes
        attributes[a] = _attribute(tree, scaled[a], edge, value, sum(map(len, above)), rows)
        above.append((tree.above + edge).astype(np.int32).ravel())
        edge += len(tree.weight)
        value += len(tree.above)
    edges = [pair for each in scaled for pair in zip(each.reference, each.weights, strict=True)]
    shares = [bounds for tree in trees for bounds in _share_bounds(tree, rows)]
    return Limits(
        attributes,
        codes,
        np.array(edges, EDGE),
        np.array(shares, SHARE),
        np.concatenate(above),
        np.zeros(0, np.int32) if persons is None else persons.astype(np.int32),
        np.array([k]),
    )


def _attribute(tree: LimitTree, scaled: ScaledTree, edge: int, value: int, above: int, rows: int) -> tuple[float, ...]:
    """Return the ATTRIBUTE of a limit whose edges, values and edges above values begin at these places."""
    rule = tree.rule or Rule()
    c, l = rule.recursive or (Fraction(1), 0)  # noqa: E741 - the paper's letter
    c = _fitted_c(c, rows)
    return (
        *(tree.kind, edge, edge + tree.path, edge + len(tree.weight)),
        *(value, len(tree.above), above, tree.above.shape[1]),
        *(scaled.total, scaled.level.numerator, scaled.level.denominator, scaled.scale, tree.free_size),
        *(edge + tree.guard, rule.distinct, rule.entropy, rule.divergence, c.numerator, c.denominator, l),
    )


def _fitted_c(c: Fraction, rows: int) -> Fraction:
    """Return the c of recursive (c,l)-diversity as 64 bits can hold it; every class is admitted as by c itself.

    largest < c·tail is a comparison with largest/tail, whose numerator is at most `rows`. If it reaches c, then its
    denominator is at most rows/c, and never above rows. So the smallest such fraction that reaches c can stand for c.
    """
    if max(c.numerator, c.denominator) * rows < SAFE:
        return c
    most = min(rows, max(1, math.floor(rows / c)))
    nearest = c.limit_denominator(most)
    if nearest < c:  # take its successor among the fractions with such denominators
        a, b = nearest.numerator, nearest.denominator
        first = -pow(a, -1, b) % b
        last = first + (most - first) // b * b
        nearest = Fraction(1 + last * a, b * last)
    return min(nearest, Fraction(rows + 1))


def _share_bounds(tree: LimitTree, rows: int) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield the largest and the smallest share of a class per value, 1 and 0 where no rule limits it; and −ln q."""
    rule, count = tree.rule or Rule(), len(tree.weight)
    most, least = rule.most or [Fraction(1)] * count, rule.least or [Fraction(0)] * count
    for high, low, surprisal in zip(most, least, rule.surprisal or [0.0] * count, strict=True):
        upper, lower = _fitted(min(high, Fraction(1)), rows, math.floor), _fitted(low, rows, math.ceil)
        yield upper.numerator, upper.denominator, lower.numerator, lower.denominator, surprisal


def _fitted(share: Fraction, rows: int, rounded: Callable[[Fraction], int]) -> Fraction:
    """Return a share that 64 bits can hold when multiplied by rows, rounded to the strict side."""
    if share.numerator * rows < SAFE and share.denominator < SAFE:
        return share
    finest = max(1, SAFE // (2 * rows))
    return Fraction(rounded(share * finest), finest)
