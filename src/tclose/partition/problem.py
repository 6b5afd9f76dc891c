"""What every method is given and what it returns.

A problem is the rows as points, the sensitive codes, and what is required of every class; it may be a part of a whole
table. A method returns a `Split`: one class label per row. weave also considers starts, the classes of other methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Distance, Geometry
from tclose.errors import Infeasible, InternalError
from tclose.partition.shared.axes import Axis, NumberAxis, is_plain, part_of
from tclose.privacy import AverageTCloseness, NTCloseness, TCloseness
from tclose.privacy.base import Model, Rule, combined
from tclose.table.classes import rows_by_label
from tclose.types import Floats, Ints

MOST_SORTED = 2**16  # classes

OF_THE_TABLE = (AverageTCloseness.name,)  # no class breaks it alone; thresholds.py ensures it
ENSURED = (TCloseness.name, NTCloseness.name, *OF_THE_TABLE)  # by every method; the rest is ensured by merging


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute: a code per row, judged against the whole table's `reference` counts.

    `t` is None where another model than t-closeness guards the attribute. With `n`, (n,t)-closeness is asked for: a
    class of n rows is its own superset. `models` are the further models; they count rows, never persons.
    """

    codes: Ints
    reference: Ints
    distance: Distance
    t: Fraction | None
    n: int | None = None
    models: tuple[Model, ...] = ()
    leeway: Fraction = Fraction(1)  # how many times t a method allows where it measures by a stricter distance

    def __post_init__(self) -> None:
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(self.reference):
            raise InternalError("a sensitive code lies outside its domain")
        if self.t is not None and not 0 <= self.t <= 1:
            raise InternalError("t lies outside [0, 1]")

    @property
    def geometry(self) -> Geometry:
        """The shape of the attribute's distance: a line, a line with a leaf, a tree or any metric."""
        return self.distance.geometry(len(self.reference))

    @property
    def shares(self) -> list[Fraction]:
        """The share of each value in the whole table."""
        total = int(self.reference.sum())
        return [Fraction(count, total) for count in self.reference.tolist()]

    @property
    def rule(self) -> Rule | None:
        """What the further models demand of one class's counts; nothing where none of them can say."""
        shares = self.shares
        rules = [rule for model in self.models if (rule := model.rule(shares)) is not None]
        return combined(rules) if rules else None

    @property
    def row_counts(self) -> Ints:
        """How often each value occurs in the rows at hand, which may be a part of the table only."""
        return np.bincount(self.codes, minlength=len(self.reference)).astype(np.int64)

    @property
    def counts_of_all(self) -> Counts:
        """The rows at hand as one class."""
        return Counts.from_codes(np.zeros_like(self.codes), self.codes, len(self.reference))

    def admitted(self, labels: Ints) -> NDArray[np.bool_]:
        """Tell, per class 0, 1, 2, …, whether it is within t and every further model, exactly."""
        return self.admits(Counts.from_codes(labels, self.codes, len(self.reference)))

    def admits(self, counts: Counts) -> NDArray[np.bool_]:
        """Tell for every class, given its counts, whether it is within t and every further model."""
        admitted = np.ones(len(counts.sizes), dtype=bool)
        if self.t is not None:
            admitted &= self.distance.emd(counts, self.reference).at_most(self.t)
            admitted |= False if self.n is None else counts.sizes >= self.n
        for model in self.models:
            admitted &= model.judge(counts, self.reference).admitted
        return admitted

    def emd_of(self, codes: Ints, reference: Ints) -> Fraction:
        """Return the exact distance of one class with these codes from these reference counts."""
        counts = Counts.from_codes(np.zeros(len(codes), dtype=np.int64), codes, len(reference))
        return self.distance.emd(counts, reference)[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows as points (each quasi-identifier scaled to [0, 1]), what is sensitive, and the smallest class.

    `axes` tell what a class loses on each quasi-identifier; without them, the points are numbers. With `by_size`, what
    a class loses is its size (discernibility), and the axes break ties. With `persons`, the person of each row, k
    counts persons instead of rows.
    """

    points: Floats
    sensitive: tuple[Attribute, ...]
    k: int = 1
    axes: tuple[Axis, ...] = ()
    by_size: bool = False
    persons: Ints | None = None

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or any(len(attribute.codes) != self.rows for attribute in self.sensitive):
            raise InternalError("points must be rows × quasi-identifiers, with one sensitive code per row")
        if self.k < 1:
            raise InternalError("k must be at least 1")

    @property
    def rows(self) -> int:
        """How many rows there are to split."""
        return len(self.points)

    def part(self, rows: Ints) -> Problem:
        """Return the problem of some rows only, judged against the same references."""
        if len(rows) == self.rows:
            return self
        sensitive = tuple(replace(attribute, codes=attribute.codes[rows]) for attribute in self.sensitive)
        axes = tuple(part_of(axis, rows) for axis in self.axes)
        persons = None if self.persons is None else self.persons[rows]
        return Problem(self.points[rows], sensitive, self.k, axes, self.by_size, persons)

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """The quasi-identifiers with their losses."""
        return self.axes or tuple(NumberAxis.of_points(column) for column in self.points.T)

    @cached_property
    def axis_orders(self) -> Ints:
        """The rows in the order of each coordinate, of equals the first first; in their own order without any."""
        return axis_orders(self.points)

    @property
    def loses_gcp(self) -> bool:
        """Whether the loss is the mean NCP of all quasi-identifiers, which weigh the same."""
        return not self.by_size and all(is_plain(axis) for axis in self.axes)

    @property
    def repeated_persons(self) -> Ints | None:
        """The person of each row, numbered from 0; None where every row counts as a person of its own."""
        if self.persons is None:
            return None
        different, numbers = np.unique(self.persons, return_inverse=True)
        return numbers.astype(np.int64) if len(different) < self.rows else None

    def members(self, labels: Ints) -> Ints:
        """Return how many rows each class 0, 1, 2, … has; where persons are known, how many persons."""
        if (persons := self.repeated_persons) is None:
            return np.bincount(labels).astype(np.int64)
        return persons_per_class(labels, persons)

    def admitted(self, labels: Ints) -> NDArray[np.bool_]:
        """Tell, per class 0, 1, 2, …, whether it has k rows, or persons, and every attribute admits it, exactly."""
        admitted = self.members(labels) >= self.k
        rows = _sorted_rows(labels, len(admitted)) if self.sensitive else labels
        for attribute in self.sensitive:
            rows = rows[admitted[labels[rows]]]  # a class that one attribute refuses is not shown to the next
            if len(rows):
                judged = (np.cumsum(admitted) - 1)[labels[rows]]
                counts = Counts.from_codes(judged, attribute.codes[rows], len(attribute.reference))
                admitted[admitted] = attribute.admits(counts)
        return admitted

    def check_feasible(self) -> None:
        """Raise `Infeasible` unless one class of all rows is within k, every t and every further model."""
        most = int(self.members(np.zeros(self.rows, dtype=np.int64)).sum())
        if most < self.k:
            counted = "rows" if self.persons is None else "persons"
            raise Infeasible(
                "k = {k} cannot be reached: there are {most} {counted}; k can be {most}",
                k=self.k,
                most=most,
                counted=counted,
            )
        for number, attribute in enumerate(self.sensitive):
            if (
                attribute.t is not None
                and (reached := attribute.emd_of(attribute.codes, attribute.reference)) > attribute.t
            ):
                raise Infeasible(
                    "t = {t} of sensitive attribute {number} cannot be reached: all rows reach {reached}",
                    t=attribute.t,
                    number=number,
                    reached=reached,
                )
            for model in attribute.models:
                if not (judged := model.judge(attribute.counts_of_all, attribute.reference)).satisfied:
                    raise Infeasible(
                        "{name} = {required} of sensitive attribute {number} cannot be reached: all rows reach "
                        "{reached}",
                        name=model.name,
                        required=model.required,
                        number=number,
                        reached=judged.reached,
                    )


def _sorted_rows(labels: Ints, classes: int) -> Ints:
    """Return the rows class by class, so that values are counted several times faster; if very many, as they are."""
    return np.arange(len(labels)) if classes > MOST_SORTED else rows_by_label(labels, classes)


def axis_orders(points: Floats) -> Ints:
    """Return the rows in the order of each coordinate, of equals the first first; without coordinates as they are."""
    orders = [np.argsort(column, kind="stable") for column in points.T]
    return np.array(orders or [np.arange(len(points))])


def persons_per_class(labels: Ints, persons: Ints) -> Ints:
    """Return how many different persons the rows of each class 0, 1, 2, … are of."""
    people = int(persons.max()) + 1
    present = np.unique(labels * people + persons)
    return np.bincount(present // people).astype(np.int64)


# The table that a problem is a part of


@dataclass(frozen=True)
class WholeTable:
    """How many rows the whole table has, and the share of t that classes may use up, if one was chosen for it."""

    rows: int
    share: float | None = None


# Partitions: those that weave considers besides its own, and the one that a method returns


STARTED = 0.1  # progress of a method when all starts are known
Finish = Callable[[Ints], Ints | None]  # merges classes until every model admits them; None where that is impossible


@dataclass(frozen=True, eq=False)
class Start:
    """Classes within every t, with at least k rows each; other models may still ask for merging."""

    name: str
    labels: Ints
    fast: bool = False  # whether the effort `fast` considers it, too
    optimal: bool = False  # whether no partition within every t and k loses less


@dataclass(frozen=True, eq=False)
class Split:
    """A class label per row, and where the classes come from: the name of a start; nothing but for weave."""

    labels: Ints
    start: str | None = None
