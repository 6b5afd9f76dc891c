"""What an explanation of one class adds where the policy asks for models whose levels are not single distances."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tclose.distance import Counts
from tclose.policy import Policy
from tclose.privacy.average import average
from tclose.privacy.bygroup import TClosenessByGroup
from tclose.privacy.divergence import divergences
from tclose.privacy.judge import JudgedColumn, codes_by_group, counts_of, distance_of
from tclose.table import CodedTable
from tclose.types import Ints
from tclose.words import number, percent


def class_notes(table: CodedTable, policy: Policy, column: JudgedColumn, members: Ints) -> Iterator[str]:
    """Yield a sentence for each such model: how the class stands, and what is required."""
    spec = policy.required[column.name]
    counts = np.bincount(column.codes[members], minlength=len(column.labels))
    if spec.kl is not None:
        reached = float(divergences(Counts.from_dense([counts]), column.reference)[0])
        yield f"KL divergence of the class from the table: {number(reached)} nats (limit {number(spec.kl)})."
    if spec.average_t is not None:
        yield _of_average(spec.average_t, table, column, counts)
    if spec.t_by is not None:
        model = TClosenessByGroup(spec.t_by, distance_of(column))
        group = int((codes_by_group(column, model, table)[0][members] % model.groups).min())
        levels = spec.t_by.levels
        yield (
            f"The smallest t of the members' groups is {number(levels[group])}."
            if group < len(levels)
            else "No member of the class is of a group that t_by names."
        )


def _of_average(limit: Fraction, table: CodedTable, column: JudgedColumn, counts: Ints) -> str:
    distance, rows = distance_of(column), len(table)
    whole = average(distance.emd(counts_of(column, table.classes), column.reference))
    own = distance.emd(Counts.from_dense([counts]), column.reference)[0] * int(counts.sum()) / rows
    share = f"; {percent(float(own / whole))} of it is due to this class" if whole else ""
    return f"Average distance over all rows: {number(whole)} (limit {number(limit)}){share}."
