"""A judged attribute: its codes, its worst cases and its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.partition.fragmentation.spread import AttributeSpread, spread_of
from tclose.partition.problem import Attribute, Problem
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class SpreadAttribute:
    """A sensitive attribute with a t, as the search for a fragmentation sees it."""

    sensitive: Attribute
    spread: AttributeSpread
    t: Fraction

    @property
    def codes(self) -> Ints:
        """One code per row."""
        return self.sensitive.codes

    @property
    def unit(self) -> int:
        """The ground distance that counts as 1."""
        return self.spread.unit

    @cached_property
    def row_counts(self) -> Ints:
        """The counts of the rows at hand."""
        return self.sensitive.row_counts

    @cached_property
    def apart(self) -> Fraction:
        """How far all rows at hand are from the reference: 0 where they are the whole table."""
        return self.sensitive.emd_of(self.codes, self.sensitive.reference)

    @cached_property
    def ranks(self) -> Ints:
        """Each row's place in the order along which fragments are cut."""
        return self.spread.ranks()[self.codes]

    def worst(self, labels: Ints, rows: Ints) -> int:
        """Return the sum of the worst cases of the fragments of these rows, exactly."""
        return int(self.spread.worst(labels, self.codes[rows]).sum()) if len(rows) else 0


def judged(problem: Problem, bound: str) -> tuple[SpreadAttribute, ...]:
    """Return the attributes that constrain classes; one of a single value never does."""
    return tuple(
        SpreadAttribute(attribute, spread_of(attribute.geometry, bound), attribute.t)
        for attribute in problem.sensitive
        if attribute.t is not None and len(attribute.reference) > 1
    )


def orders(attributes: tuple[SpreadAttribute, ...]) -> tuple[Ints, ...]:
    """Return the rows in the order of each attribute; the others break ties."""
    ranks = [attribute.ranks for attribute in attributes]
    return tuple(np.lexsort((*ranks[:a], *ranks[a + 1 :], ranks[a])) for a in range(len(ranks)))
