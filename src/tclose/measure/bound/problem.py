"""What a lower bound is computed from: the losses of boxes, the attributes with their t, and who may share a class.

Losses are whole millionths, rounded down, so that everything which is derived from them holds for the real losses too.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.errors import InternalError, PolicyError
from tclose.partition.problem import Attribute
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis
from tclose.partition.split import problem_of
from tclose.policy import Policy
from tclose.privacy.feasibility import publishable
from tclose.table import CodedTable
from tclose.types import Ints

UNIT = 1_000_000  # prices and losses are whole millionths of the whole range of a quasi-identifier
MARGIN = Fraction(1, 1000)  # of a millionth: more than a place between 0 and 1 can be off as a float


@dataclass(frozen=True, eq=False)
class BoundProblem:
    """The quasi-identifiers with their losses, the attributes whose t binds every class, and the smallest class.

    Rows of different `groups` (kept values) never share a class. `k` is the least number of rows in a class.
    """

    axes: tuple[Axis, ...]
    axis_names: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    attribute_names: tuple[str, ...]
    groups: Ints
    k: int = 1

    def __post_init__(self) -> None:
        if len(self.axes) != len(self.axis_names) or len(self.attributes) != len(self.attribute_names):
            raise InternalError("every quasi-identifier and every attribute has one name")
        if any(attribute.t is None or attribute.n is not None for attribute in self.attributes):
            raise InternalError("a bound counts only attributes whose t binds every class")
        if any(isinstance(axis, NumberAxis) and axis.deviation is not None for axis in self.axes):
            raise InternalError("a bound does not hold for class means")

    @property
    def rows(self) -> int:
        """How many rows are published, which is all of them."""
        return len(self.groups)

    @cached_property
    def losses(self) -> tuple[AxisLosses, ...]:
        """The losses on each quasi-identifier, in whole millionths."""
        return tuple(AxisLosses.of(axis) for axis in self.axes)

    @cached_property
    def digest(self) -> str:
        """A hash of everything that the bound depends on: it names the table that a proof is about."""
        hashed = hashlib.sha256(repr((self.axis_names, self.attribute_names, self.k)).encode())
        for losses in self.losses:
            for array in (losses.codes, losses.low, losses.high, *losses.levels, np.array(losses.steps)):
                hashed.update(repr(array.shape).encode() + np.ascontiguousarray(array, dtype="<i8").tobytes())
        for attribute in self.attributes:
            hashed.update(repr((attribute.distance.name, attribute.t)).encode())
            for array in (attribute.codes, attribute.reference):
                hashed.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        hashed.update(np.ascontiguousarray(self.groups, dtype="<i8").tobytes())
        return hashed.hexdigest()


@dataclass(frozen=True, eq=False)
class AxisLosses:
    """The losses on one quasi-identifier as whole millionths, rounded down.

    A number whose codes reach from i to j loses max(0, high[j] − low[i]). A label loses the share of its lowest common
    node. A set of d values loses (d − 1)·UNIT // steps. A missing number or label (code −1) loses nothing.
    """

    codes: Ints
    low: Ints
    high: Ints
    levels: tuple[Ints, ...] = ()  # of a hierarchy: the node above each leaf, height by height, up to a single root
    steps: int = 0  # of a set: its values − 1

    @classmethod
    def of(cls, axis: Axis) -> AxisLosses:
        """Take the losses of an axis."""
        none = np.zeros(0, dtype=np.int64)
        if isinstance(axis, NumberAxis):
            return _of_numbers(axis)
        if isinstance(axis, LabelAxis):
            root = np.zeros_like(axis.levels[0])
            return cls(axis.codes, none, none, (*axis.levels, root) if axis.levels[-1].any() else axis.levels)
        return cls(axis.codes, none, none, steps=max(axis.domain_size - 1, 1))

    def shares(self, height: int) -> Ints:
        """Return the loss of each node of a hierarchy at this height; a leaf loses nothing."""
        leaves = np.bincount(self.levels[height])
        return leaves * UNIT // len(self.levels[0]) if height else np.zeros_like(leaves)

    @property
    def is_number(self) -> bool:
        """Whether this is a number or a date."""
        return len(self.low) > 0

    @property
    def is_label(self) -> bool:
        """Whether this quasi-identifier has a hierarchy."""
        return bool(self.levels)


def _of_numbers(axis: NumberAxis) -> AxisLosses:
    """Merge values that publish the same ends, and round the ends inward."""
    ends = np.stack([axis.low, axis.high], axis=1)
    changes = (ends[1:] != ends[:-1]).any(axis=1)
    first = np.flatnonzero(np.append(True, changes))[: len(ends)]
    merged = np.append(np.cumsum(np.append(0, changes)), -1)[axis.codes] if len(ends) else axis.codes
    low = [math.ceil(Fraction(end) * UNIT + MARGIN) for end in axis.low[first].tolist()]
    high = [math.floor(Fraction(end) * UNIT - MARGIN) for end in axis.high[first].tolist()]
    if not low:  # every cell is missing
        low = high = [0]
    return AxisLosses(merged.astype(np.int64), np.array(low, dtype=np.int64), np.array(high, dtype=np.int64))


def bound_problem(table: CodedTable, policy: Policy) -> BoundProblem:
    """Return what a bound is computed from; `PolicyError` says where no bound can hold.

    What attributes must satisfy together is left out: a bound for fewer requirements holds, too.
    """
    _refuse(table, policy)
    publishable(table, policy)  # raises `Infeasible`
    problem = problem_of(table, policy)
    binding = [
        (name, attribute)
        for name, attribute in zip(table.sensitive, problem.sensitive, strict=False)  # joint attributes come last
        if attribute.t is not None and attribute.n is None
    ]
    return BoundProblem(
        axes=problem.axes,
        axis_names=tuple(table.quasi),
        attributes=tuple(attribute for _, attribute in binding),
        attribute_names=tuple(name for name, _ in binding),
        groups=table.groups.labels_by_row(),
        k=policy.k,
    )


def _refuse(table: CodedTable, policy: Policy) -> None:
    """Refuse what no bound covers: rows that may be withheld, class means, another loss than GCP."""
    if table.withheld or policy.suppress:
        why = (
            "rows lack a sensitive value and are withheld" if table.withheld else "suppress allows rows to be withheld"
        )
        raise PolicyError(f"a lower bound holds only for releases of every row: {why}")
    if policy.presence is not None:
        raise PolicyError(
            "a lower bound is about ranges of the table's own rows, but presence publishes ranges of the population"
        )
    for name, spec in policy.quasi.items():
        if spec.publish == "mean":
            raise PolicyError(f"a lower bound cannot be given for class means: '{name}' publishes them")
    if policy.loss != "gcp":
        raise PolicyError(f'a lower bound is about detail lost (GCP), but the policy asks for loss = "{policy.loss}"')
