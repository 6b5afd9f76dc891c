"""The problem of a lower bound: the losses of boxes, the attributes with their t, and who may share a class.

Losses are whole millionths, rounded down, so that everything which is derived from them holds for the real losses too.

The ground distance of an attribute has one shape for all kernels: a tree with lengths, or a matrix. A line is a path,
the missing value beside it a leaf at the middle of the path, and a hierarchy a tree. Every value is a node. Lengths are
integers over `unit`, rounded down where 64 bits are too few: a distance that is too short never makes a bound too high.

With few rows, the shares of a class are coarse, and so it cannot be near the table's shares. A class of s rows has
shares c/s with whole c. For each geometry the least distance of such shares from the reference is computed, or a figure
below it. The first size s ≥ k that no attribute rules out bounds the size of every class.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from tclose.distance import Geometry, Line, LineWithLeaf, Metric, Tree
from tclose.errors import InternalError, PolicyError
from tclose.partition.problem import Attribute
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis
from tclose.partition.split import problem_of
from tclose.policy import Policy
from tclose.privacy.feasibility import publishable
from tclose.table import CodedTable
from tclose.types import Floats, Ints

# Losses, attributes and feasible classes


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
        raise PolicyError("a lower bound holds only for releases of every row: {why}", why=why)
    if policy.presence is not None:
        raise PolicyError(
            "a lower bound is about ranges of the table's own rows, but presence publishes ranges of the population"
        )
    for name, spec in policy.quasi.items():
        if spec.publish == "mean":
            raise PolicyError("a lower bound cannot be given for class means: '{name}' publishes them", name=name)
    if policy.loss != "gcp":
        raise PolicyError(
            'a lower bound is about detail lost (GCP), but the policy asks for loss = "{loss}"', loss=policy.loss
        )


# Ground distances


FINEST = 2**30  # the largest unit


@dataclass(frozen=True, eq=False)
class GroundDistance:
    """Nodes in an order in which parents come first; node 0 is the root. A matrix has no edges, its nodes are values.

    `counts` are the reference counts of each node; inner nodes have none.
    """

    parents: Ints
    lengths: Ints  # of the edge above each node
    unit: int  # the length that counts as 1
    node_of_value: Ints
    counts: Ints
    costs: Ints  # of a matrix: values × values; otherwise 0 × 0
    is_star: bool  # whether any two values are equally far apart
    line: Floats | None  # where each value lies on a line from 0 to 1, −1 for a value beside it
    t: Fraction

    @classmethod
    def of(cls, attribute: Attribute) -> GroundDistance:
        """Return the shape of an attribute's distance, with its reference and its t."""
        assert attribute.t is not None
        geometry = attribute.geometry
        parents, lengths, unit, nodes, costs = _shape(geometry, len(attribute.reference))
        counts = np.zeros(len(parents), dtype=np.int64)
        counts[nodes] = attribute.reference
        star = isinstance(geometry, Tree) and geometry.is_star
        lengths_, unit_ = _fitted(lengths, unit), min(unit, FINEST)
        line = _places(geometry)
        return cls(np.array(parents), lengths_, unit_, nodes, counts, costs, star, line, attribute.t)

    @cached_property
    def shares(self) -> Floats:
        """The share of each node in the whole table."""
        return np.asarray(self.counts / self.counts.sum())

    @cached_property
    def edges(self) -> list[tuple[int, int, int]]:
        """Each node but the root with its parent and the length between them, as Python's integers."""
        return list(zip(range(len(self.parents)), self.parents.tolist(), self.lengths.tolist(), strict=True))[1:]

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """Each node that occurs in the reference with its count, as Python's integers."""
        return [(node, count) for node, count in enumerate(self.counts.tolist()) if count]

    @cached_property
    def float_lengths(self) -> Floats:
        """The length of the edge above each node, as a share of the farthest distance."""
        return self.lengths / self.unit

    @cached_property
    def float_costs(self) -> Floats:
        """The matrix as shares of the farthest distance."""
        return self.costs / self.unit


def _shape(geometry: Geometry, values: int) -> tuple[list[int], list[int], int, Ints, Ints]:
    """Return parents, lengths, unit, the node of each value, and a matrix of costs."""
    none, own = np.zeros((0, 0), dtype=np.int64), np.arange(values)
    match geometry:
        case Line():
            return [0, *range(values - 1)], _gaps(geometry.positions), geometry.length, own, none
        case LineWithLeaf():
            return (*_with_leaf(geometry), none)
        case Tree():
            return (*_tree(geometry), none)
        case Metric():
            unit = geometry.farthest
            costs = _fitted(geometry.costs.ravel().tolist(), unit).reshape(geometry.costs.shape)
            return [0] * values, [0] * values, unit, own, costs


def _places(geometry: Geometry) -> Floats | None:
    match geometry:
        case Line():
            return np.array([int(place) / geometry.length for place in geometry.positions])
        case LineWithLeaf():
            return np.append([int(place) / geometry.unit for place in geometry.positions], -1.0)
    return None


def _gaps(positions: Ints) -> list[int]:
    return [0, *(int(b) - int(a) for a, b in pairwise(positions))]


def _with_leaf(geometry: LineWithLeaf) -> tuple[list[int], list[int], int, Ints]:
    """Return the path of the line's values and the middle, then the leaf, whose parent is the middle."""
    order, values = geometry.order, geometry.leaf + 1
    place = np.argsort(order)  # on the path; the middle stands where the leaf hangs
    nodes = place.copy()
    nodes[geometry.leaf] = values
    parents = [0, *range(values - 1), int(place[geometry.leaf])]
    return parents, [*_gaps(geometry.places), geometry.middle], geometry.unit, nodes


def _tree(geometry: Tree) -> tuple[list[int], list[int], int, Ints]:
    """Return the levels from the root down; every edge is half of 1/height, so that leaves meet after whole steps."""
    parents, lengths, above = [0], [0], np.zeros(len(geometry.levels[0]), dtype=np.int64)
    for level in reversed(geometry.below_root):
        _, first = np.unique(level, return_index=True)
        start = len(parents)
        parents += above[first].tolist()
        lengths += [1] * len(first)
        above = start + np.unique(level, return_inverse=True)[1]
    return parents, lengths, max(2 * geometry.height, 1), above


def _fitted(lengths: list[int], unit: int) -> Ints:
    """Return lengths over a unit that kernels can multiply, rounded down."""
    return np.array([length * FINEST // unit if unit > FINEST else length for length in lengths], dtype=np.int64)


# The smallest class


TRIED = 5_000  # sizes; the bound only gets weaker if the search ends earlier


def least_rows(problem: BoundProblem) -> int:
    """Return a number of rows that no class can have fewer of."""
    for size in range(problem.k, problem.k + TRIED):
        if all(possible(attribute, size) for attribute in problem.attributes):
            return size
    return problem.k + TRIED


def possible(attribute: Attribute, size: int) -> bool:
    """Tell whether some class of so many rows may be within t; never false for a size that a class within t has."""
    assert attribute.t is not None
    return least_distance(attribute.geometry, attribute.reference, size) <= attribute.t


def least_distance(geometry: Geometry, reference: Ints, size: int) -> Fraction:
    """Return a figure that no class of this size comes nearer to the reference than; exact on a line and a star."""
    total = int(reference.sum())
    match geometry:
        case Line():
            return _on_line(np.diff(geometry.positions), reference, size) / (geometry.length * size * total)
        case LineWithLeaf():
            line = _on_line(np.diff(geometry.places), reference[geometry.order], size)
            leaf = geometry.middle * _to_whole(size * int(reference[-1]), total)
            return Fraction(line + leaf, geometry.unit * size * total)
        case Tree():
            levels = [
                _star(np.bincount(level, weights=reference).astype(np.int64), size) for level in geometry.below_root
            ]
            return Fraction(sum(levels), max(geometry.height, 1) * size * total)
        case Metric():
            apart = geometry.costs[~np.eye(len(reference), dtype=bool)]
            nearest = int(apart.min()) if apart.size else 0
            return Fraction(nearest * _star(reference, size), geometry.farthest * size * total)


def _to_whole(part: int, total: int) -> int:
    """Return how far part/total is from the nearest whole number, times total."""
    return min(part % total, -part % total)


def _on_line(gaps: Ints, reference: Ints, size: int) -> Fraction:
    """Round the running sums to whole rows: rounded sums still rise, so a class has them."""
    total, below = int(reference.sum()), np.cumsum(reference).tolist()
    return Fraction(sum(int(gap) * _to_whole(size * part, total) for gap, part in zip(gaps, below, strict=False)))


def _star(reference: Ints, size: int) -> int:
    """Return the least Σ max(N·c − s·n, 0): round all counts down, then up those with the largest remainders."""
    total = int(reference.sum())
    rest = np.sort(size * reference % total)[::-1]
    lacking = int(rest.sum()) // total
    return int((total - rest[:lacking]).sum())
