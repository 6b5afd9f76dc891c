"""What the adversary knows: everybody's quasi-identifiers and class, and which values each class shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.distance import Counts
from tclose.partition import Attribute, Problem
from tclose.partition.shared.axes import Axis
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class AttackedRows:
    """Some rows of a release in their classes 0, 1, 2, …; the values are what the adversary wants to know.

    Of large classes only some rows are attacked: `points`, `axes` and `members` hold all rows of the classes, `rows`
    says which of them are meant. `zone` says between which classes rows can be exchanged.
    """

    points: Floats  # all rows × quasi-identifiers
    axes: tuple[Axis, ...]  # what classes of these rows lose
    members: Ints  # the class of each of them
    rows: Ints  # those that are attacked
    codes: Ints  # attacked rows × attributes: the values, as the policy judges them
    attributes: tuple[Attribute, ...]  # what is required of a class
    names: tuple[str, ...]
    sizes: Ints  # rows of each class
    counts: tuple[Counts, ...]  # per attribute, of each class
    zone: Ints  # of each class
    k: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def labels(self) -> Ints:
        """The class of each attacked row."""
        return self.members[self.rows]

    @cached_property
    def tuples(self) -> Ints:
        """A number for the values of each attacked row, all attributes together."""
        return np.asarray(np.unique(self.codes, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)

    @cached_property
    def order(self) -> Ints:
        """The attacked rows, one class after the other."""
        return np.argsort(self.labels, kind="stable")


def whole_classes(problem: Problem, labels: Ints, names: tuple[str, ...]) -> AttackedRows:
    """Return all rows of a table whose classes are known, as one zone."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    counts = tuple(
        Counts.from_codes(labels[order], attribute.codes[order], len(attribute.reference))
        for attribute in problem.sensitive
    )
    return AttackedRows(
        points=problem.points,
        axes=problem.all_axes,
        members=labels,
        rows=np.arange(len(labels)),
        codes=np.stack([attribute.codes for attribute in problem.sensitive], axis=1),
        attributes=problem.sensitive,
        names=names,
        sizes=sizes,
        counts=counts,
        zone=np.zeros_like(sizes),
        k=problem.k,
    )
