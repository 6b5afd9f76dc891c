"""The figures on the page of a release, computed from published values alone, as any reader could."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Line, LineWithLeaf
from tclose.policy import Policy
from tclose.privacy.judge import counts_of, distance_of
from tclose.table import CodedTable, SensitiveColumn
from tclose.types import Floats, Ints

MOST_BARS = 16
MOST_MOVES = 12
SPANS = 20  # bars of a histogram, about
OTHERS = "other values"


@dataclass(frozen=True)
class Span:
    """One bar of a histogram."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class GroupMove:
    """A move between two groups of values: the share of the class's rows, and its cost."""

    source: int
    target: int
    mass: float
    cost: float


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


@dataclass(frozen=True, eq=False)
class TableFigures:
    """One published table that is judged."""

    attributes: tuple[AttributeFigures, ...]
    sizes: tuple[Span, ...]  # how many classes there are of which size


def figures_of(table: CodedTable, policy: Policy) -> TableFigures:
    """Return the figures of a published table that was coded as its readers do."""
    limits = {name: None if spec.limit is None else float(spec.limit) for name, spec in policy.sensitive.items()}
    attributes = (_attribute(column, table, limits[name]) for name, column in table.sensitive.items())
    sizes = table.classes.sizes
    return TableFigures(tuple(attributes), size_spans(sizes, min(policy.k, int(sizes.min()))))


def _attribute(column: SensitiveColumn, table: CodedTable, limit: float | None) -> AttributeFigures:
    counts, distance = counts_of(column, table.classes), distance_of(column)
    ratios = distance.emd(counts, column.reference)
    closeness = ratios.floats()
    worst = ratios.largest()[1]
    typical = int(np.argsort(closeness, kind="stable")[(len(closeness) - 1) // 2])
    names, group_of = grouped(column)

    def of_class(index: int) -> ClassFigures:
        row = counts.dense(index)
        return ClassFigures(index + 1, int(row.sum()), ratios[index], _shares(row, group_of, len(names)))

    moves, rest = _moves(column, counts, worst, group_of)
    return AttributeFigures(
        name=column.name,
        distance=column.distance,
        groups=names,
        values=int(np.count_nonzero(column.reference)),
        table=_shares(column.reference, group_of, len(names)),
        worst=of_class(worst),
        typical=of_class(typical),
        moves=moves,
        other_cost=rest,
        closeness=distance_spans(closeness, limit),
    )


def _shares(counts: Ints, group_of: Ints, groups: int) -> Floats:
    present = counts > 0
    totals = np.bincount(group_of[present], weights=counts[present], minlength=groups)
    return np.asarray(totals / counts.sum())


def grouped(column: SensitiveColumn) -> tuple[tuple[str, ...], Ints]:
    """Put values into groups that a chart has room for: their names, and each value's group (-1: not in the release).

    Only values that the release shows get a name: a domain may have more, and they could be a person's value.
    """
    reference = column.reference
    present = np.flatnonzero(reference)
    group_of = np.full(len(reference), -1, dtype=np.int64)
    if len(present) <= MOST_BARS:
        group_of[present] = np.arange(len(present))
        return tuple(column.labels[code] for code in present.tolist()), group_of
    geometry = distance_of(column).geometry(len(reference))
    if isinstance(geometry, Line | LineWithLeaf):
        is_missing = present == (geometry.leaf if isinstance(geometry, LineWithLeaf) else -1)
        numbers, missing = present[~is_missing], present[is_missing]
        seen = np.cumsum(reference[numbers]) - reference[numbers]
        part = np.unique(seen * MOST_BARS // int(reference[numbers].sum()), return_inverse=True)[1]
        group_of[numbers], group_of[missing] = part, part[-1] + 1
        runs = [*np.split(numbers, np.flatnonzero(np.diff(part)) + 1), *([missing] if len(missing) else [])]
        return tuple(_run(column.labels, run) for run in runs), group_of
    common = np.sort(present[np.argsort(-reference[present], kind="stable")][: MOST_BARS - 1])
    group_of[present] = len(common)
    group_of[common] = np.arange(len(common))
    return (*(column.labels[code] for code in common.tolist()), OTHERS), group_of


def _run(labels: Sequence[str], run: Ints) -> str:
    first, last = labels[int(run[0])], labels[int(run[-1])]
    if first == last:
        return first
    bins = first.startswith(("(", "[")) and last.endswith("]")
    if bins:  # from the low end of the first to the high end of the last
        return f"{first.partition(', ')[0]}, {last.partition(', ')[2]}"
    return f"{first} – {last}"


def _moves(column: SensitiveColumn, counts: Counts, index: int, group_of: Ints) -> tuple[tuple[GroupMove, ...], float]:
    """Return the costliest moves between groups, and the cost of all others."""
    added: dict[tuple[int, int], list[Fraction]] = {}
    for move in distance_of(column).plan(counts.dense(index), column.reference):
        pair = int(group_of[move.source]), int(group_of[move.target])
        mass, cost = added.get(pair, [Fraction(0), Fraction(0)])
        added[pair] = [mass + move.mass, cost + move.cost]
    whole = sum((cost for _, cost in added.values()), Fraction(0))
    between = {pair: both for pair, both in added.items() if pair[0] != pair[1]}
    chosen = sorted(between, key=lambda pair: (-between[pair][1], pair))[:MOST_MOVES]
    moves = tuple(GroupMove(*pair, *map(float, between[pair])) for pair in chosen)
    return moves, float(whole - sum((between[pair][1] for pair in chosen), Fraction(0)))


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
