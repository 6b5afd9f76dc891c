"""What an explanation of one class shows: values in groups that people can take in, moves between them, and notes.

The notes say how the class stands where the policy asks for models whose levels are not single distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Line, LineWithLeaf, Move
from tclose.messages import say
from tclose.policy import Policy
from tclose.privacy.divergence import divergences
from tclose.privacy.judge import JudgedColumn, codes_by_group, counts_of, distance_of
from tclose.privacy.tcloseness import TClosenessByGroup, average
from tclose.table import CodedTable
from tclose.types import Ints
from tclose.words import number as spelled
from tclose.words import percent

# Values in groups, and the moves of earth between these groups


OTHERS = "other values"


@dataclass(frozen=True)
class GroupMove:
    """All moves from one group to another, or within a group: the share of the class's rows, and the exact cost."""

    source: int
    target: int
    mass: Fraction
    cost: Fraction


@dataclass(frozen=True, eq=False)
class ValueGroups:
    """Names of groups, and the group of every value of the domain: -1 where the table does not show the value.

    Only values that the table shows get a name: a domain may have more, and they could be a person's value.
    """

    names: tuple[str, ...]
    group_of: Ints

    @classmethod
    def of(cls, column: JudgedColumn, most: int) -> ValueGroups:
        """Put values into at most so many groups: neighbours on a line together, else the rare values together."""
        reference = column.reference
        present = np.flatnonzero(reference)
        if len(present) <= most:
            return cls.of_runs(column, [present[i : i + 1] for i in range(len(present))])
        geometry = distance_of(column).geometry(len(reference))
        if isinstance(geometry, Line | LineWithLeaf):
            is_missing = present == (geometry.leaf if isinstance(geometry, LineWithLeaf) else -1)
            runs = _runs(present[~is_missing], reference, most - int(is_missing.any()))
            return cls.of_runs(column, [*runs, *([present[is_missing]] if is_missing.any() else [])])
        common = np.sort(present[np.argsort(-reference[present], kind="stable")][: most - 1])
        rare = np.setdiff1d(present, common)
        groups = cls.of_runs(column, [*(common[i : i + 1] for i in range(len(common))), rare])
        return cls((*groups.names[:-1], OTHERS), groups.group_of)

    @classmethod
    def of_runs(cls, column: JudgedColumn, runs: Sequence[Ints]) -> ValueGroups:
        """Take groups as they are given, each a rising list of values."""
        group_of = np.full(len(column.reference), -1, dtype=np.int64)
        for number, run in enumerate(runs):
            group_of[run] = number
        return cls(tuple(_name(column.labels, run) for run in runs), group_of)

    def moves(self, plan: Iterable[Move]) -> list[GroupMove]:
        """Add up moves from group to group, the costliest first; the costs add up to those of all moves, exactly."""
        added: dict[tuple[int, int], tuple[Fraction, Fraction]] = {}
        for move in plan:
            pair = int(self.group_of[move.source]), int(self.group_of[move.target])
            mass, cost = added.get(pair, (Fraction(0), Fraction(0)))
            added[pair] = mass + move.mass, cost + move.cost
        moves = (GroupMove(*pair, mass, cost) for pair, (mass, cost) in added.items())
        return sorted(moves, key=lambda move: (-move.cost, move.source, move.target))


def _runs(values: Ints, reference: Ints, most: int) -> list[Ints]:
    """Cut values that lie on a line into runs of about equally many rows."""
    before = np.cumsum(reference[values]) - reference[values]
    part = before * most // int(reference[values].sum())
    return np.split(values, np.flatnonzero(np.diff(part)) + 1)


def _name(labels: Sequence[str], run: Ints) -> str:
    first, last = labels[int(run[0])], labels[int(run[-1])]
    if first == last:
        return first
    bins = first.startswith(("(", "[")) and last.endswith("]")
    if bins:  # from the low end of the first to the high end of the last
        return f"{first.partition(', ')[0]}, {last.partition(', ')[2]}"
    return f"{first} – {last}"


# Notes on models whose levels are not single distances


def class_notes(table: CodedTable, policy: Policy, column: JudgedColumn, members: Ints) -> Iterator[str]:
    """Yield a sentence for each such model: how the class stands, and what is required."""
    spec = policy.required[column.name]
    counts = np.bincount(column.codes[members], minlength=len(column.labels))
    if spec.kl is not None:
        reached = float(divergences(Counts.from_dense([counts]), column.reference)[0])
        yield say(
            "KL divergence of the class from the table: {value} nats (limit {value_2}).",
            value=spelled(reached),
            value_2=spelled(spec.kl),
        )
    if spec.average_t is not None:
        yield _of_average(spec.average_t, table, column, counts)
    if spec.t_by is not None:
        model = TClosenessByGroup(spec.t_by, distance_of(column))
        group = int((codes_by_group(column, model, table)[0][members] % model.groups).min())
        levels = spec.t_by.levels
        yield (
            say("The smallest t of the members' groups is {value}.", value=spelled(levels[group]))
            if group < len(levels)
            else "No member of the class is of a group that t_by names."
        )


def _of_average(limit: Fraction, table: CodedTable, column: JudgedColumn, counts: Ints) -> str:
    distance, rows = distance_of(column), len(table)
    whole = average(distance.emd(counts_of(column, table.classes), column.reference))
    own = distance.emd(Counts.from_dense([counts]), column.reference)[0] * int(counts.sum()) / rows
    share = say("; {share} of it is due to this class", share=percent(float(own / whole))) if whole else ""
    return say(
        "Average distance over all rows: {value} (limit {value_2}){share}.",
        value=spelled(whole),
        value_2=spelled(limit),
        share=share,
    )
