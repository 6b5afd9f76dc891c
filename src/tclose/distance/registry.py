"""The distances, one entry each: how it is made, what its shape is, and what counts as near in plain words.

A new distance is a class, an entry here, and an entry of the same name in `policy/column_settings.py`,
which says what a policy has to give for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from tclose.distance.base import Distance, Line, LineWithLeaf
from tclose.distance.counts import Integers
from tclose.distance.ground import Equal, Hierarchical, Ordered, Value, WithMissing
from tclose.distance.transport import Matrix
from tclose.errors import InternalError
from tclose.types import Ints

Shape = Literal["line", "tree", "metric"]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class DomainFacts:
    """What is known about the values of a sensitive attribute; a distance is made from what it needs."""

    size: int  # how many values there are
    positions: Integers | None = None  # of numbers and dates: integers that rise from 0
    levels: tuple[Ints, ...] | None = None  # of a hierarchy: the node above each leaf, height by height, the root last
    costs: Ints | None = None  # of a matrix: values × values
    missing: bool = False  # whether the last value is the missing value

    def make(self, distance: str) -> Distance:
        """Return the distance of this name over these values; of equal facts it is made once, while it is in use.

        So a table and its release, which are read apart, share what is large in it.
        """
        facts = self._digest(distance)
        made = _IN_USE.get(facts)
        if made is None:
            made = _IN_USE[facts] = self._made(distance)
        return made

    def _digest(self, distance: str) -> bytes:
        """Tell the facts of a distance from all others."""
        digest = hashlib.sha256(repr((distance, self.size, self.missing, len(self.levels or ()))).encode())
        for part in (self.positions, *(self.levels or ()), self.costs):
            if part is None:
                digest.update(b"none")
                continue
            digest.update(f"{part.dtype} {part.shape}".encode())
            digest.update(repr(part.tolist()).encode() if part.dtype.hasobject else np.ascontiguousarray(part).data)
        return digest.digest()

    def _made(self, distance: str) -> Distance:
        """Make a distance; beside a line, the missing value is a leaf, and a tree has a leaf for it already."""
        if not (self.missing and DISTANCES[distance].shape == "line"):
            return DISTANCES[distance].make(self)
        numbers = self.size - 1
        line = replace(self, size=numbers, missing=False).make(distance).geometry(numbers)
        assert isinstance(line, Line)
        return WithMissing(distance, LineWithLeaf(line))


@dataclass(frozen=True)
class DistanceEntry:
    """What everybody has to know about a distance: its shape, its words for people, and how it is made."""

    name: str  # in a policy
    shape: Shape
    near: str  # what counts as near, as the end of a sentence
    make: Callable[[DomainFacts], Distance]


def _needed(fact: T | None, name: str) -> T:
    if fact is None:
        raise InternalError("the values have no {name}", name=name)
    return fact


_ENTRIES = (
    DistanceEntry(
        "ordered",
        "line",
        "values count as near when few others lie between them",
        lambda facts: Ordered(facts.size),
    ),
    DistanceEntry(
        "value",
        "line",
        "values count as near when their numbers are near",
        lambda facts: Value(_needed(facts.positions, "positions")),
    ),
    DistanceEntry(
        "equal",
        "tree",
        "all different values count as equally far apart",
        lambda facts: Equal(),
    ),
    DistanceEntry(
        "hierarchical",
        "tree",
        "values count as near when they meet low in the hierarchy",
        lambda facts: Hierarchical(_needed(facts.levels, "hierarchy")),
    ),
    DistanceEntry(
        "matrix",
        "metric",
        "the policy's own matrix says how far values are apart",
        lambda facts: Matrix(_needed(facts.costs, "costs")),
    ),
)
DISTANCES = {entry.name: entry for entry in _ENTRIES}


_IN_USE: WeakValueDictionary[bytes, Distance] = WeakValueDictionary()


def of_shapes(*shapes: Shape) -> tuple[str, ...]:
    """Return the names of the distances that have one of these shapes."""
    return tuple(name for name, entry in DISTANCES.items() if entry.shape in shapes)
