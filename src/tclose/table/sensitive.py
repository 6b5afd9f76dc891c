"""Sensitive columns: the domain of each, learned once from a tally, and the code of every row; also several together.

The domain is observed, declared, ordered, binned or a hierarchy's. Its reference counts are those of the whole table:
any part of the table is judged against the whole.

Attributes that are taken together are one further column of tuples, which is judged and never published. The tuples are
those that the rows at hand show. So a reader of a release learns the same tuples from its published values, and rows
that are withheld leave no trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError, MissingExtra, PolicyError
from tclose.messages import say
from tclose.policy import DISTANCES, CostTable, Joint, Sensitive, implied_by_settings
from tclose.policy.column_settings import OF_NUMBERS, OF_OTHERS
from tclose.policy.settings import exact
from tclose.table import bins, hierarchies
from tclose.table.bins import edges_with_limit
from tclose.table.hierarchies import Hierarchy, read_rows
from tclose.table.values import Kind, Tally, ValueDomain, Values, exact_values, places_in
from tclose.types import Ints

# The matrix of costs between values: a CSV whose first row and first column name the values


LARGEST = 2**53  # so that a walk over many values still fits into 64 bits


@dataclass(frozen=True, eq=False)
class Costs:
    """`matrix[i, j]` is the cost between values i and j, in whole units: a metric."""

    values: tuple[str, ...]
    matrix: NDArray[np.int64]

    @classmethod
    def load(cls, path: Path) -> Costs:
        """Read and check a file of costs."""
        name = say("the costs {file}", file=path.name)
        (_, *columns), *rows = read_rows(path, "matrix")
        if not columns:
            raise InputError("{name}: the first row must name the values, after an empty cell", name=name)
        if sorted(columns) != sorted(row[0] for row in rows) or len(set(columns)) < len(columns):
            raise InputError(
                "{name}: the first row and the first column must name the same values, each once", name=name
            )
        if any(len(row) != len(columns) + 1 for row in rows):
            raise InputError("{name}: every row needs a name and {count} numbers", name=name, count=len(columns))
        row_of = {row[0]: row[1:] for row in rows}
        return cls._checked(tuple(columns), [_numbers(row_of[value], name) for value in columns], name)

    @classmethod
    def given(cls, table: CostTable) -> Costs:
        """Take costs that a policy holds in place."""
        name, size = "the matrix", len(table.values)
        if not size or len(table.costs) != size or any(len(row) != size for row in table.costs):
            raise PolicyError("expected {size} rows of {size} costs", size=size, place="matrix")
        return cls._checked(table.values, [list(row) for row in table.costs], name)

    @property
    def table(self) -> CostTable:
        """The costs as a policy holds them in place."""
        return CostTable(self.values, tuple(tuple(Fraction(int(cost)) for cost in row) for row in self.matrix))

    @classmethod
    def _checked(cls, values: tuple[str, ...], costs: list[list[Fraction]], name: str) -> Costs:
        matrix = _integers(costs, name)
        _check_metric(matrix, name)
        return cls(values, matrix)


def _numbers(cells: list[str], name: str) -> list[Fraction]:
    try:
        return [exact(cell.strip()) for cell in cells]
    except (ValueError, ArithmeticError):
        raise InputError("{name}: every cost must be a number", name=name) from None


def _integers(rows: list[list[Fraction]], name: str) -> NDArray[np.int64]:
    unit = math.lcm(*(cost.denominator for row in rows for cost in row))
    whole = [[int(cost * unit) for cost in row] for row in rows]
    shared = math.gcd(*(cost for row in whole for cost in row)) or 1
    if max(abs(cost) for row in whole for cost in row) // shared > LARGEST:
        raise InputError("{name}: the costs have too many digits", name=name)
    return np.array([[cost // shared for cost in row] for row in whole], dtype=np.int64)


def _check_metric(costs: NDArray[np.int64], name: str) -> None:
    if (np.diag(costs) != 0).any() or (costs + np.eye(len(costs), dtype=np.int64) <= 0).any():
        raise InputError("{name}: a value is at cost 0 from itself and above 0 from any other", name=name)
    if (costs != costs.T).any():
        raise InputError("{name}: the cost from a to b must be the cost from b to a", name=name)
    for through in range(len(costs)):
        if (costs > costs[:, [through]] + costs[[through], :]).any():
            raise InputError("{name}: a detour is shorter than the direct way, so it is no metric", name=name)


MISSING = "(missing)"
_NO_CODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveDomain:
    """The values that a sensitive attribute is judged by, how they are compared, and how often the table shows each.

    `made` holds the ground distance between the values, which is computed once (`privacy/judge.py`).
    """

    distance: str
    labels: tuple[str, ...]
    values: ValueDomain
    code_of_value: Ints  # the label of each value of the column
    missing_code: int = -1  # the label of a missing value
    positions: NDArray[Any] | None = None  # of numbers and dates: exact, from 0
    hierarchy: Hierarchy | None = None
    costs: Costs | None = None
    edges: tuple[Fraction, ...] | None = None  # of bins
    reference: Ints = field(init=False)  # how often the whole table shows each label
    made: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", self._count())

    @classmethod
    def of(cls, tally: Tally, spec: Sensitive, missing: Sequence[str]) -> SensitiveDomain:
        """Learn the domain of a column from the tally of the whole table; every row must have a value."""
        return cls.of_values(ValueDomain.of(tally, missing, spec.below), spec)

    @classmethod
    def of_values(cls, values: ValueDomain, spec: Sensitive) -> SensitiveDomain:
        """Make the domain of a column whose values are known, as its settings say."""
        if values.missing and spec.missing != "value":
            raise InputError(
                'sensitive column \'{name}\' has no value in {where}: say missing = "value" or "suppress" for '
                "it, or fill them",
                name=values.name,
                where=values.where(-1),
            )
        distance = _distance(values, spec)
        if spec.missing == "value" and not DISTANCES[distance].missing:
            raise PolicyError(
                'missing = "value" has no place in the distance "{distance}": use "suppress"', distance=distance
            )
        domain = _MAKERS[DISTANCES[distance].domain](values, spec, distance)
        return domain._with_missing() if values.missing else domain

    @property
    def name(self) -> str:
        """The column's name."""
        return self.values.name

    def codes(self, column: pl.Series) -> Ints:
        """Return the code of every row of a column, of the whole table or of a part of it."""
        return self.codes_of(self.values.codes(column))

    def codes_of(self, values: Ints) -> Ints:
        """Turn codes of values into codes of the domain."""
        return np.append(self.code_of_value, self.missing_code)[values]

    def shown_in_bins(self) -> tuple[Tally, Ints]:
        """Return the cells of a column that publishes its bins, and which of them each of its own cells becomes.

        A missing cell stays as it is.
        """
        tally, codes = self.values.tally, self.codes_of(self.values.code_of_cell)
        missing, label = pl.Series(codes == self.missing_code), pl.Series(self.labels, dtype=pl.String).gather(codes)
        cells = pl.select(pl.when(missing).then(tally.cells.cast(pl.String)).otherwise(label)).to_series()
        bins = Tally.of_counts(self.name, cells, tally.counts)
        return bins, bins.places(cells)

    def _count(self) -> Ints:
        """Count how often the whole table shows each value of the domain."""
        counts = np.bincount(self.code_of_value, self.values.counts, minlength=len(self.labels)).astype(np.int64)
        if self.missing_code >= 0:
            counts[self.missing_code] += self.values.missing
        return counts

    def _with_missing(self) -> SensitiveDomain:
        """Make "missing" the last value: a leaf under the root of a hierarchy, or beside the middle of a line."""
        taken = self.labels if self.hierarchy is None else [label for level in self.hierarchy.labels for label in level]
        label = _label_of_missing(taken)
        hierarchy = None if self.hierarchy is None else self.hierarchy.with_leaf(label)
        labels = (*self.labels, label) if hierarchy is None else hierarchy.leaves
        return replace(self, labels=labels, missing_code=len(self.labels), hierarchy=hierarchy)


def _label_of_missing(taken: Sequence[str]) -> str:
    """Return what people read for a missing value; a table may have a value of that spelling."""
    label, known = MISSING, set(taken)
    while label in known:
        label = f"({label})"
    return label


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveColumn:
    """A sensitive attribute: its domain and the code of every row."""

    domain: SensitiveDomain
    codes: Ints

    @property
    def name(self) -> str:
        """The column's name."""
        return self.domain.name

    @property
    def distance(self) -> str:
        """How values are compared, as a policy calls it."""
        return self.domain.distance

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of the domain, as people read them."""
        return self.domain.labels

    @property
    def labels_of_values(self) -> tuple[str, ...]:
        """The values of the domain without "missing", which is the last of them where it is one."""
        return self.labels if self.domain.missing_code < 0 else self.labels[:-1]

    @property
    def missing_beside_others(self) -> bool:
        """Whether a missing value is a value of its own, and not the only one."""
        return self.domain.missing_code > 0

    @property
    def positions(self) -> NDArray[Any] | None:
        """Where numbers and dates lie on their line."""
        return self.domain.positions

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy that compares the values."""
        return self.domain.hierarchy

    @property
    def costs(self) -> Costs | None:
        """The costs that compare the values."""
        return self.domain.costs

    @property
    def edges(self) -> tuple[Fraction, ...] | None:
        """The edges of the bins in which values are judged."""
        return self.domain.edges

    @property
    def reference(self) -> Ints:
        """How often the whole table shows each value of the domain."""
        return self.domain.reference


def coded(values: Values, spec: Sensitive) -> SensitiveColumn:
    """Learn the domain of a whole column whose values have been read, and code its rows."""
    domain = SensitiveDomain.of_values(values.domain, spec)
    return SensitiveColumn(domain, domain.codes_of(values.codes))


def _distance(values: ValueDomain, spec: Sensitive) -> str:
    """Return the distance asked for, or the one that the settings and the values imply."""
    implied = implied_by_settings(spec)
    if not values.texts:
        return implied or OF_OTHERS
    distance = implied or (OF_NUMBERS if values.kind in ("number", "date") else OF_OTHERS)
    needs_numbers = spec.bins is not None or (DISTANCES[distance].domain == "numbers" and spec.order is None)
    undecided = implied is None and values.kind == "mixed"
    if (needs_numbers and values.kind in ("text", "mixed")) or undecided:
        raise _not_numbers(values, spec)
    if spec.bins is not None and values.kind != "number":
        raise InputError("column '{name}' has bins, but its values are not numbers", name=values.name)
    return distance


def _not_numbers(values: ValueDomain, spec: Sensitive) -> InputError:
    if values.kind == "text":
        return InputError(
            "sensitive column '{name}' has no order: its values are text; say order = [...], or distance = \"equal\""
            if spec.bins is None
            else "sensitive column '{name}' has no order: its values are text; bins need numbers",
            name=values.name,
        )
    kind, exact = "number", exact_values(values.texts, "number")
    if set(exact) == {None}:
        kind, exact = "date", exact_values(values.texts, "date")
    odd = [code for code, value in enumerate(exact) if value is None]
    return InputError(
        "sensitive column '{name}' is not all {kind}s: something else stands in {where}; correct it, list it in "
        'missing, or say distance = "equal"',
        name=values.name,
        kind=say(kind),
        where=values.where(odd, of_all=True),
        detail="it is " + ", ".join(f"'{values.texts[code]}'" for code in odd[:10]),
    )


def _on_a_line(values: ValueDomain, spec: Sensitive, distance: str) -> SensitiveDomain:
    if not values.texts:  # every row lacks a value, and that is the only value
        return SensitiveDomain(distance, (), values, _NO_CODES, positions=np.zeros(1, dtype=np.int64))
    if spec.bins is not None:
        return _in_bins(values, spec, distance)
    texts, units, places = _declared(values, spec)
    return SensitiveDomain(distance, texts, values, places, positions=None if units is None else _from_zero(units))


def _in_bins(values: ValueDomain, spec: Sensitive, distance: str) -> SensitiveDomain:
    assert spec.bins is not None
    assert values.units is not None
    learned = spec.bins.kind in ("count", "quantiles")
    edges = edges_with_limit(
        bins.edges_of(spec.bins, values.units, values.scale, values.counts), spec.bins, values.limit
    )
    bin_of = bins.bin_of(edges, values.units, values.scale, learned=learned)
    outside = np.flatnonzero((bin_of < 0) | (bin_of >= len(edges) - 1))
    if len(outside):
        raise InputError(
            "column '{name}' lies outside its bins {span_of} in {where}: add an edge below or above",
            name=values.name,
            span_of=bins.span_of(edges),
            where=values.where(outside),
        )
    labels = bins.labels_of(edges, learned=learned)
    if learned:
        edges[0] -= 1  # written down, the edges hold the smallest value, too
    return SensitiveDomain(distance, labels, values, bin_of, edges=tuple(edges))


def _of_any_values(values: ValueDomain, spec: Sensitive, distance: str) -> SensitiveDomain:
    if spec.bins is not None and values.texts:
        return _in_bins(values, spec, distance)
    texts, _, places = _declared(values, spec)
    return SensitiveDomain(distance, texts, values, places)


def _in_a_hierarchy(values: ValueDomain, spec: Sensitive, distance: str) -> SensitiveDomain:
    assert spec.hierarchy is not None
    path = spec.hierarchy
    hierarchy = Hierarchy.load(path) if isinstance(path, Path) else hierarchies.build(path, values)
    places = places_in(hierarchy.leaves, values, misses=say("its hierarchy misses"))
    return SensitiveDomain(distance, hierarchy.leaves, values, places, hierarchy=hierarchy)


def _by_costs(values: ValueDomain, spec: Sensitive, distance: str) -> SensitiveDomain:
    assert spec.matrix is not None
    costs = Costs.load(spec.matrix) if isinstance(spec.matrix, Path) else Costs.given(spec.matrix)
    places = places_in(costs.values, values, misses=say("its matrix misses"))
    return SensitiveDomain(distance, costs.values, values, places, costs=costs)


_MAKERS: dict[str, Callable[[ValueDomain, Sensitive, str], SensitiveDomain]] = {
    "numbers": _on_a_line,
    "values": _of_any_values,
    "hierarchy": _in_a_hierarchy,
    "matrix": _by_costs,
}


def _declared(values: ValueDomain, spec: Sensitive) -> tuple[tuple[str, ...], NDArray[Any] | None, Ints]:
    """Return the domain that the policy declares, else the observed one, and the place of each value in it.

    Numbers and dates keep their own order.
    """
    if spec.order is None and spec.domain is None:
        return values.texts, values.units, np.arange(len(values.texts))
    setting = "domain" if spec.order is None else "order"
    texts = tuple(_spelled(value) for value in spec.order or spec.domain or ())
    exact = exact_values(texts, values.kind)
    known = [value for value in exact if value is not None]
    if len(set(known)) < len(known):
        raise PolicyError("a value stands in the list twice: name it once", place=setting)
    units = None
    if spec.order is None and values.units is not None:
        texts, units = _in_order(texts, exact, values.kind)
    return texts, units, places_in(texts, values, misses=say("its declared {setting} misses", setting=setting))


def _in_order(texts: tuple[str, ...], exact: list[Fraction | None], kind: Kind) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Sort declared values as numbers, dates and booleans are, and give them whole units."""
    known = sorted((value, text) for value, text in zip(exact, texts, strict=True) if value is not None)
    if len(known) < len(texts):
        raise PolicyError("its values are {kind}s, so the whole domain must be {kind}s", kind=say(kind), place="domain")
    common = math.lcm(*(value.denominator for value, _ in known))
    return tuple(text for _, text in known), np.array([int(value * common) for value, _ in known], dtype=object)


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_zero(units: NDArray[Any]) -> NDArray[Any]:
    """Return units as distances from the first, without a common factor."""
    span = int(units[-1]) - int(units[0])
    positions = (units if span < 2**62 else units.astype(object)) - int(units[0])
    shared = math.gcd(*(int(p) for p in positions[1:])) if positions.dtype == object else int(np.gcd.reduce(positions))
    positions = positions // (shared or 1)
    return np.asarray(positions, dtype=np.int64 if int(positions[-1]) < 2**62 else object)


# Sensitive attributes taken together


MOST_TUPLES = 2000  # of a product: each class is a transportation problem over the tuples
BETWEEN = " · "  # between the values of a tuple, as people read it


@dataclass(frozen=True, eq=False, repr=False)
class JointColumn:
    """Several sensitive attributes as one: the tuples that occur, in lexicographic order, and the tuple of every row.

    `made` holds the ground distance between the tuples, which is computed once (`privacy/judge.py`).
    """

    joint: Joint
    parts: tuple[SensitiveColumn, ...]
    tuples: Ints  # tuples × attributes: the codes of the values
    codes: Ints  # the tuple of each row
    reference: Ints  # how often the whole table shows each tuple
    made: dict[str, Any]

    @classmethod
    def of(cls, joint: Joint, sensitive: Mapping[str, SensitiveColumn], rows: Ints | None = None) -> JointColumn:
        """Find the tuples of coded attributes; a distance that cannot compare them is refused.

        `rows` says how many rows each code stands for, where it is not one.
        """
        parts = tuple(sensitive[name] for name in joint.attributes)
        if joint.distance == "lexicographic":
            _check_orders(parts)
        codes = np.zeros(len(parts[0].codes), dtype=np.int64)
        for part in parts:  # ranks keep the order, and their number stays below that of the rows
            codes = np.unique(codes * len(part.labels) + part.codes, return_inverse=True)[1].astype(np.int64)
        _, first, counts = np.unique(codes, return_index=True, return_counts=True)
        if joint.distance == "product":
            _check_product(len(first))
        tuples = np.stack([part.codes[first] for part in parts], axis=1)
        if rows is not None:
            counts = np.bincount(codes, rows)
        return cls(joint, parts, tuples, codes, counts.astype(np.int64), {})

    @property
    def name(self) -> str:
        """What the tuples are called."""
        return self.joint.name

    @property
    def distance(self) -> str:
        """How tuples are compared, as a policy calls it."""
        return self.joint.distance

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The tuples, as people read them."""
        texts = ([part.labels[code] for code in codes] for part, codes in zip(self.parts, self.tuples.T, strict=True))
        return tuple(map(BETWEEN.join, zip(*texts, strict=True)))


def joint_columns(joint: tuple[Joint, ...], sensitive: Mapping[str, SensitiveColumn]) -> dict[str, JointColumn]:
    """Return the columns of tuples that a policy asks about; a mistake says which of its tables asks."""
    columns = {}
    for number, each in enumerate(joint, start=1):
        with asked_by(number):
            columns[each.name] = JointColumn.of(each, sensitive)
    return columns


@contextmanager
def asked_by(number: int) -> Iterator[None]:
    """Let a mistake say which table of the policy asks for what cannot be judged."""
    try:
        yield
    except PolicyError as error:
        raise error.within(f"joint.{number}") from None


def _check_orders(parts: tuple[SensitiveColumn, ...]) -> None:
    """Refuse attributes whose values have no order, or whose missing values have no place in it."""
    for part in parts:
        if DISTANCES[part.distance].domain != "numbers":
            raise PolicyError(
                "the values of '{name}' have no order (distance {distance}): say order = [...] for it, or "
                'distance = "product" here',
                name=part.name,
                distance=part.distance,
                place="distance",
            )
        if part.missing_beside_others:
            raise PolicyError(
                "the missing values of '{name}' have no place in an order: say missing = \"suppress\" for it, "
                'or distance = "product" here',
                name=part.name,
                place="distance",
            )


def _check_product(tuples: int) -> None:
    if tuples > MOST_TUPLES:
        raise PolicyError(
            "the attributes have {tuples:,} different tuples, and a product can compare {most_tuples:,}: put "
            'values into bins, or say distance = "lexicographic"',
            tuples=tuples,
            most_tuples=MOST_TUPLES,
            place="attributes",
        )
    if find_spec("scipy") is None:
        raise MissingExtra("scipy", "solve", 'distance = "product"')
