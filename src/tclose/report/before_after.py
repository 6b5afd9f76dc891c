"""A quasi-identifier before and after: the raw table in the bins that the release itself shows.

No bin names a value that the release does not show. A bin of fewer than k people is hidden, together with the smallest
others until at least two bins and k people are hidden. Shown counts are rounded to multiples of k, so that subtracting
them from the total gives no exact count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.policy import Quasi
from tclose.recode.covering import Covering
from tclose.recode.spelling import AT_MOST, LabelCell, RangeCell
from tclose.release.beside import Beside
from tclose.types import Floats, Ints

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


def before_and_after(beside: Beside) -> list[BeforeAfter]:
    """Compare every quasi-identifier of which the release shows at least two bins."""
    columns = (column for column in beside.columns if column.name in beside.policy.quasi)
    return [compared for column in columns if (compared := _compared(column, beside)) is not None]


def _compared(column: Covering, beside: Beside) -> BeforeAfter | None:
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


def _bins(read: Covering, spec: Quasi, mass: Floats) -> _Bins:
    if spec.hierarchy is not None:
        return _labelled(read, mass)
    if read.numbers is not None:
        return _ranges(read, mass)
    cells = read.values
    return _largest([(cells[i], np.array([i])) for i in range(len(cells)) if read.covers[:, i].any()], read, mass)


def _ranges(read: Covering, mass: Floats) -> _Bins:
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


def _labelled(read: Covering, mass: Floats) -> _Bins:
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


def _largest(chosen: list[tuple[str, Ints]], read: Covering, mass: Floats) -> _Bins:
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
