"""The figures on the page of a release, computed from published values alone, as any reader could."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.policy import Policy
from tclose.privacy.allowance import Allowance, allowances
from tclose.privacy.groups import GroupMove, ValueGroups
from tclose.privacy.judge import JudgedColumn, counts_of, distance_of
from tclose.table import CodedTable
from tclose.types import Floats, Ints

MOST_BARS = 16
MOST_MOVES = 12
SPANS = 20  # bars of a histogram, about


@dataclass(frozen=True)
class Span:
    """One bar of a histogram."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, eq=False)
class ClassFigures:
    """One class's distribution, by group of values."""

    number: int  # counted from 1
    rows: int
    closeness: Fraction
    shares: Floats


@dataclass(frozen=True, eq=False)
class AttributeFigures:
    """One sensitive attribute: the table against its worst and a typical class, and all classes."""

    name: str
    distance: str
    groups: tuple[str, ...]  # names of groups of values; of single values where they are few
    values: int  # how many different values the release shows
    table: Floats
    worst: ClassFigures
    typical: ClassFigures
    moves: tuple[GroupMove, ...]  # the costliest between different groups, for the worst class
    other_cost: float  # of all other moves
    closeness: tuple[Span, ...]  # of all classes
    allows: Allowance | None  # what t means in shares, whatever the classes


@dataclass(frozen=True, eq=False)
class TableFigures:
    """One published table that is judged."""

    attributes: tuple[AttributeFigures, ...]
    sizes: tuple[Span, ...]  # how many classes there are of which size


def figures_of(table: CodedTable, policy: Policy) -> TableFigures:
    """Return the figures of a published table that was coded as its readers do."""
    limits = {name: None if spec.limit is None else float(spec.limit) for name, spec in policy.required.items()}
    allowed = allowances(table, policy)
    attributes = (_attribute(column, table, limits[name], allowed.get(name)) for name, column in table.judged.items())
    sizes = table.classes.sizes
    return TableFigures(tuple(attributes), size_spans(sizes, min(policy.k, int(sizes.min()))))


def _attribute(
    column: JudgedColumn, table: CodedTable, limit: float | None, allows: Allowance | None
) -> AttributeFigures:
    counts, distance = counts_of(column, table.classes), distance_of(column)
    ratios = distance.emd(counts, column.reference)
    largest, worst = ratios.largest()
    closeness = np.minimum(ratios.floats(), float(largest))  # floats of tuples are some percent off
    typical = int(np.argsort(closeness, kind="stable")[(len(closeness) - 1) // 2])
    groups = ValueGroups.of(column, MOST_BARS)
    names, group_of = groups.names, groups.group_of

    def of_class(index: int) -> ClassFigures:
        row = counts.dense(index)
        return ClassFigures(index + 1, int(row.sum()), ratios[index], _shares(row, group_of, len(names)))

    moves = groups.moves(distance.plan(counts.dense(worst), column.reference))
    shown = [move for move in moves if move.source != move.target][:MOST_MOVES]
    return AttributeFigures(
        name=column.name,
        distance=column.distance,
        groups=names,
        values=int(np.count_nonzero(column.reference)),
        table=_shares(column.reference, group_of, len(names)),
        worst=of_class(worst),
        typical=of_class(typical),
        moves=tuple(shown),
        other_cost=float(sum(move.cost for move in moves) - sum(move.cost for move in shown)),
        closeness=distance_spans(closeness, limit),
        allows=allows,
    )


def _shares(counts: Ints, group_of: Ints, groups: int) -> Floats:
    present = counts > 0
    totals = np.bincount(group_of[present], weights=counts[present], minlength=groups)
    return np.asarray(totals / counts.sum())


def distance_spans(values: Floats, line: float | None) -> tuple[Span, ...]:
    """Count distances in spans of equal width, each with its upper end: what lies on the line is not beyond it."""
    high = max(float(values.max()), 1e-9)
    if line is None or line <= 0:
        width = _round_width(high / SPANS)
    else:
        width = line / min(SPANS * math.ceil(line / high / 2), 10 * SPANS)
    place = np.maximum(np.ceil(values / width - 1e-6).astype(np.int64) - 1, 0)
    return _counted(place, 0.0, width)


def size_spans(sizes: Ints, smallest: int) -> tuple[Span, ...]:
    """Count sizes in spans that begin at the smallest that is allowed."""
    width = math.ceil(_round_width((int(sizes.max()) - smallest + 1) / SPANS))
    return _counted((sizes - smallest) // width, smallest, width)


def _counted(place: Ints, low: float, width: float) -> tuple[Span, ...]:
    return tuple(
        Span(round(low + i * width, 9), round(low + (i + 1) * width, 9), count)
        for i, count in enumerate(np.bincount(place).tolist())
    )


def _round_width(width: float) -> float:
    """Return the next larger of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))
