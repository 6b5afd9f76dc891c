"""Which new rows can be published without moving the table's distribution too far from a class that is published.

A class is judged against the whole table, and a release that lost little has classes at the edge of t. So a batch whose
values are distributed otherwise than the table's pushes some of them over. Rows are left out, those first whose absence
brings the failing classes nearest to the table, until all classes hold or hardly any row is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance import Counts, Distance
from tclose.policy import Policy
from tclose.privacy.judge import JudgedColumn, counts_of, distance_of
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Beat, Floats, Ints

SHARE = 40  # one fortieth of the rows is left out at a time
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
        worst = np.argsort(total, kind="stable")[: max(1, len(rows) // SHARE)]
        worst = worst[total[worst] < 0]
        if not len(worst):
            return rows
        for attribute, reference in zip(attributes, references, strict=True):
            np.subtract.at(reference, attribute.column.codes[rows[worst]], 1)
        rows = np.delete(rows, worst)
    return rows
