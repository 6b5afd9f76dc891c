"""The figures on the page of a release: of its classes and attributes, and of quasi-identifiers before and after.

Figures of classes and attributes are computed from published values alone, as any reader could.

A quasi-identifier before and after: the raw table is counted in the bins that the release itself shows. No bin names a
value that the release does not show. A bin of fewer than k people is hidden, together with the smallest others until at
least two bins and k people are hidden. Shown counts are rounded to multiples of k, so that subtracting them from the
total gives no exact count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.measure.pair import TablePair
from tclose.policy import Policy, Quasi
from tclose.privacy.allowance import Allowance, allowances
from tclose.privacy.explanation import GroupMove, ValueGroups
from tclose.privacy.judge import JudgedColumn, counts_of, distance_of
from tclose.recode.cell import AT_MOST, LabelCell, RangeCell
from tclose.recode.coverage import Coverage
from tclose.table import CodedTable
from tclose.types import Floats, Ints

# Classes and attributes


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


# Quasi-identifiers before and after


MOST_BINS = 12
MOST_PAIRS = 2**25  # of published texts and different cells, each of which takes eight bytes
ELSE, MISSING = "anything else", "missing"


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """One quasi-identifier: the rows in each bin, None where hidden, and the share that a reader would expect."""

    name: str
    bins: tuple[str, ...]
    before: tuple[int | None, ...]
    after: Floats
    rows: int
    unit: int  # to whose multiples rows are rounded

    @property
    def hidden(self) -> int:
        """How many bins are too small to be shown."""
        return self.before.count(None)


@dataclass(frozen=True, eq=False)
class _Bins:
    """Names of bins, and the bin of every cell; the last cell stands for "missing"."""

    names: tuple[str, ...]
    of_cell: Ints


def before_and_after(beside: TablePair) -> list[BeforeAfter]:
    """Compare every quasi-identifier of which the release shows at least two bins."""
    columns = (column for column in beside.columns if column.name in beside.policy.quasi)
    return [compared for column in columns if (compared := _compared(column, beside)) is not None]


def _compared(column: Coverage, beside: TablePair) -> BeforeAfter | None:
    spec, least = beside.policy.quasi[column.name], max(beside.policy.k, 2)
    if spec.publish == "mean":
        return None  # it has no bins
    if column.covers.size > MOST_PAIRS:
        return None
    sizes = beside.published.classes.sizes
    mass = np.bincount(column.text_of_class, weights=sizes, minlength=len(column.covers)) @ column.spread()
    bins = _bins(column, spec, mass)
    if len(bins.names) < 2:
        return None
    bin_of_row = bins.of_cell[column.cell_of_row]
    counts = np.bincount(bin_of_row, minlength=len(bins.names))
    persons = beside.original.persons
    people = counts if persons is None else _persons_per_bin(bin_of_row, persons, len(bins.names))
    before = hiding(counts, people, least)
    if len(before) - before.count(None) < 2:
        return None
    after = np.bincount(bins.of_cell, weights=mass, minlength=len(bins.names)) / mass.sum()
    return BeforeAfter(column.name, bins.names, before, after, len(beside.original), least)


def _persons_per_bin(bins: Ints, persons: Ints, count: int) -> Ints:
    """Count the different persons in each bin."""
    pairs = np.unique(np.stack([bins, persons.astype(np.int64)], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=count)


def hiding(counts: Ints, people: Ints, k: int) -> tuple[int | None, ...]:
    """Hide bins of fewer than k people, and the smallest others until k hide together; round others to multiples of k.

    >>> hiding(np.array([51, 3, 20, 30]), np.array([51, 3, 20, 30]), 5)
    (50, None, None, 30)
    """
    small = people < k
    for other in np.argsort(people, kind="stable").tolist():
        if not small.any() or (small.sum() > 1 and people[small].sum() >= k):
            break
        small[other] = True
    rounded = (counts + k // 2) // k * k
    return tuple(None if hide else count for count, hide in zip(rounded.tolist(), small.tolist(), strict=True))


def _bins(read: Coverage, spec: Quasi, mass: Floats) -> _Bins:
    if spec.hierarchy is not None:
        return _labelled(read, mass)
    if read.numbers is not None:
        return _ranges(read, mass)
    cells = read.values
    return _largest([(cells[i], np.array([i])) for i in range(len(cells)) if read.covers[:, i].any()], read, mass)


def _ranges(read: Coverage, mass: Floats) -> _Bins:
    """Cut numbers where published ranges begin, into bins of about as many rows each."""
    covers = read.covers[:, :-1]
    cells = (ways[0].spelled for ways in read.meanings)
    ranges = ((row, cell) for row, cell in zip(covers, cells, strict=True) if isinstance(cell, RangeCell))
    begins = {int(row.argmax()): cell.low for row, cell in ranges}
    starts = np.array(sorted(begins), dtype=np.int64)
    if not len(starts):
        return _Bins((), np.zeros(len(mass), dtype=np.int64))
    before = np.cumsum(mass[:-1]) - mass[:-1]
    part = before[starts] * MOST_BINS // max(float(mass[:-1].sum()), 1e-9)
    chosen = starts[np.unique(part, return_index=True)[1]]
    names = [
        f"from {begins[start]}" if not begins[start].startswith(AT_MOST) else begins[start] for start in chosen.tolist()
    ]
    of_cell = np.maximum(np.searchsorted(chosen, np.arange(len(mass)), side="right") - 1, 0)
    if read.covers[:, -1].any():
        of_cell[-1] = len(names)
        names.append(MISSING)
    return _Bins(tuple(names), of_cell)


def _labelled(read: Coverage, mass: Floats) -> _Bins:
    """Take the most general labels that the release shows, other than a label for everything."""
    covers = read.covers[:, :-1]
    chosen: list[tuple[str, Ints]] = []
    taken = np.zeros(covers.shape[1], dtype=bool)
    for row in np.argsort(-covers.sum(axis=1), kind="stable").tolist():
        if covers[row].any() and not covers[row].all() and not (covers[row] & taken).any():
            spelled = read.meanings[row][0].spelled
            assert isinstance(spelled, LabelCell)
            chosen.append((spelled.label, np.flatnonzero(covers[row])))
            taken |= covers[row]
    return _largest(chosen, read, mass)


def _largest(chosen: list[tuple[str, Ints]], read: Coverage, mass: Floats) -> _Bins:
    """Keep the bins with the most rows; everything else is one bin."""
    if read.covers[:, -1].any():
        chosen = [*chosen, (MISSING, np.array([len(mass) - 1]))]
    kept = sorted(chosen, key=lambda named: -float(mass[named[1]].sum()))[: MOST_BINS - 1]
    of_cell = np.full(len(mass), len(kept), dtype=np.int64)
    for number, (_, cells) in enumerate(kept):
        of_cell[cells] = number
    if not (read.cell_of_row == len(mass) - 1).any():
        of_cell[-1] = 0  # nothing is missing, so it needs no bin
    names = tuple(name for name, _ in kept)
    return _Bins((*names, ELSE) if (of_cell == len(kept)).any() else names, of_cell)
