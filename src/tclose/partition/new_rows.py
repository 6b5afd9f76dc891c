"""New rows of a table whose release exists: which join its classes, and which have to wait.

The rows that join a class must be admitted by themselves, or subtracting two releases would reveal them. So a class
takes a group of new rows that fit its cells, with rows left out until every model admits the group. Whatever is
published moves the whole table's distribution, against which the old classes are judged, too. So rows, and then groups
of rows, are accepted only as long as everything holds.

A release that lost little has classes at the edge of t. So a batch whose values are distributed otherwise than the
table's pushes some of them over. Rows are left out, those first whose absence brings the failing classes nearest to the
table, until all classes hold or hardly any row is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from tclose.distance import Counts, Distance
from tclose.policy import MODELS, Policy
from tclose.privacy.judge import CountsOfRows, JudgedColumn, counts_of, distance_of, verdicts
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Beat, Bools, Floats, Ints

# Rows that join a class


SHARE_OF_GROUP = 6  # one sixth of a group's rows is left out at a time
MOST_KINDS = 32  # of rows that are tried
REFUSED = 10.0  # what a model that refuses a group adds to its distance
BALANCE = 0.01  # how much the squared differences of shares count beside distances
Block = TypeVar("Block")


@dataclass(frozen=True, eq=False, repr=False)
class GroupJudge:
    """Judges groups of a table's rows against the whole table."""

    table: CodedTable
    policy: Policy

    def admitted(self, groups: Sequence[Ints]) -> Bools:
        """Tell for each group whether every model admits it, exactly."""
        judged = verdicts(self.table, _classes(groups), self.policy)
        return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))

    def excess(self, groups: Sequence[Ints]) -> Floats:
        """Return how far each group is from being admitted, for a search; 0 means nothing."""
        classes = _classes(groups)
        given, total = CountsOfRows(self.table, classes), np.zeros(len(groups))
        for name, column in self.table.judged.items():
            spec, counts, reference = self.policy.required[name], given.values(column), column.reference
            if spec.t is not None:
                distances = distance_of(column).emd(counts, reference).floats()
                total += np.maximum(distances - float(spec.t), 0)
            shares, sizes = reference / reference.sum(), counts.per_entry(counts.sizes)
            own = counts.counts / sizes
            total += BALANCE * np.add.reduceat(own * own - 2 * own * shares[counts.codes], counts.starts)
        for verdict in verdicts(self.table, classes, self.policy, without=("t",)) if self._more_than_t else ():
            total += REFUSED * ~verdict.judgement.admitted
        return total

    @cached_property
    def _more_than_t(self) -> bool:
        """Whether some model besides k and t is asked for."""
        specs = self.policy.sensitive.values()
        return any(getattr(spec, model) is not None for spec in specs for model in MODELS if model != "t")

    @cached_property
    def kinds(self) -> Ints:
        """Which rows show the same values in all attributes: they have equal numbers."""
        nothing = np.zeros(len(self.table), dtype=np.int64)
        codes = [nothing, *(column.codes for column in self.table.sensitive.values())]
        return np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)[1].astype(np.int64)


def _classes(groups: Sequence[Ints]) -> Classes:
    return Classes(np.concatenate(groups), np.array([len(group) for group in groups]))


def trimmed(rows: Ints, judge: GroupJudge, least: int, beat: Beat) -> Ints | None:
    """Leave rows out until the rest is admitted as one group; None where fewer than `least` would be left."""
    while len(rows):
        beat()
        if judge.admitted([rows])[0]:
            return rows
        if len(rows) <= least:
            return None
        rows = np.delete(rows, _worst(rows, judge))
    return None


def _worst(rows: Ints, judge: GroupJudge) -> Ints:
    """Return the places of some rows without which the others are nearer to being admitted."""
    kinds, first, counts = np.unique(judge.kinds[rows], return_index=True, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:MOST_KINDS]
    if len(rows) == 1:
        return np.zeros(1, dtype=np.int64)
    now, *without = judge.excess([rows, *(np.delete(rows, first[kind]) for kind in chosen)])
    order, gain = np.argsort(without, kind="stable"), max(1, int(np.count_nonzero(np.asarray(without) < now)))
    each = max(1, len(rows) // (SHARE_OF_GROUP * gain))
    places = [np.flatnonzero(judge.kinds[rows] == kinds[chosen[kind]])[:each] for kind in order[:gain]]
    return np.concatenate(places)[: max(1, len(rows) // SHARE_OF_GROUP)]


def joined(
    fitting: Callable[[int], Bools], classes: Sequence[int], rows: Ints, judge: GroupJudge, least: int, beat: Beat
) -> dict[int, Ints]:
    """Return the rows that join each class: of `rows` those that fit it and no earlier one took, if they are admitted.

    `fitting` tells which of `rows` fit a class. Classes come in the order in which they choose. Nobody searches for
    groups of fewer than `least` rows.
    """
    free, taken = np.ones(len(rows), dtype=bool), {}
    for number in classes:
        candidates = np.flatnonzero(free & fitting(number))
        if len(candidates) < max(judge.policy.k, 1):
            continue
        group = trimmed(rows[candidates], judge, least, beat)
        if group is not None:
            taken[number] = group
            free &= ~np.isin(rows, group)
    return taken


def accepted(blocks: Sequence[Block], holds: Callable[[list[Block]], bool], tries: int) -> list[Block]:
    """Return blocks that hold together: a part that does not hold is halved and tried again, `tries` times in all.

    Neighbours go into different halves, so that halves of sorted blocks look alike.
    """
    kept: list[Block] = []
    waiting = deque([list(blocks)] if blocks else [])
    while waiting and tries > 0:
        part = waiting.popleft()
        tries -= 1
        if holds([*kept, *part]):
            kept += part
        elif len(part) > 1:
            waiting.extend((part[::2], part[1::2]))
    return kept


# Rows that move the table's distribution too far


SHARE_OF_ROWS = 40  # one fortieth of the rows is left out at a time
MOST_VALUES = 200  # of an attribute that are tried
LEAST = 20  # one twentieth of the rows: with fewer, the search ends


@dataclass(frozen=True, eq=False)
class _Attribute:
    """One attribute with a threshold: its codes, and the counts of the classes that are published."""

    column: JudgedColumn
    distance: Distance
    counts: Counts
    t: object

    def changes(self, rows: Ints, reference: Ints) -> Floats | None:
        """Return how much farther all failing classes would be without one of each row's value; None if none fails."""
        ratios = self.distance.emd(self.counts, reference)
        failing = np.flatnonzero(~ratios.at_most(self.t))  # type: ignore[arg-type]
        if not len(failing):
            return None
        counts, codes = self.counts.only(failing), self.column.codes[rows]
        values = _some(np.unique(codes))
        now, change = float(ratios.floats()[failing].sum()), []
        for value in values:
            fewer = reference.copy()
            fewer[value] -= 1
            change.append(float(self.distance.emd(counts, fewer).floats().sum()) - now)
        return np.array(change)[np.minimum(np.searchsorted(values, codes), len(values) - 1)]


def _some(values: Ints) -> Ints:
    """Return values, or so many of them in equal steps that trying each takes no long time."""
    if len(values) <= MOST_VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, MOST_VALUES).astype(np.int64)]


def balanced(table: CodedTable, policy: Policy, published: Classes, rows: Ints, beat: Beat) -> Ints:
    """Return the `rows` beside which the published classes are within every t, as far as floats can tell.

    The table holds the published rows and the new `rows`. Other models than t-closeness are left to the caller.
    """
    attributes = [
        _Attribute(column, distance_of(column), counts_of(column, published), t)
        for name, column in table.judged.items()
        if (t := policy.required[name].t) is not None
    ]
    references = [attribute.column.reference.copy() for attribute in attributes]
    least = len(rows) // LEAST
    while len(rows) > least:
        beat()
        found = (each.changes(rows, reference) for each, reference in zip(attributes, references, strict=True))
        changes = [change for change in found if change is not None]
        if not changes:
            return rows
        total = np.sum(changes, axis=0)
        worst = np.argsort(total, kind="stable")[: max(1, len(rows) // SHARE_OF_ROWS)]
        worst = worst[total[worst] < 0]
        if not len(worst):
            return rows
        for attribute, reference in zip(attributes, references, strict=True):
            np.subtract.at(reference, attribute.column.codes[rows[worst]], 1)
        rows = np.delete(rows, worst)
    return rows
