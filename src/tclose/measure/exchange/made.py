"""Tables that the adversary makes: the same people, with values dealt out at random, put into classes by weave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose.errors import Infeasible
from tclose.measure.exchange.attacked import AttackedRows, whole_classes
from tclose.measure.exchange.field import EXCHANGES, field_of
from tclose.measure.exchange.weights import Pairs, learned
from tclose.partition import Problem
from tclose.partition.shared.axes import part_of
from tclose.partition.weave import partition
from tclose.types import Beat, Floats, Ints

MADE_ROWS = 2000  # of all tables together, about
MOST_TABLES = 6


def weights_of_made_tables(rows: AttackedRows, random: np.random.Generator, beat: Beat) -> Floats | None:
    """Learn the weights of exchanges on made tables, which have no correlations; None where none can be made."""
    changes, made = [], 0
    for number in range(MOST_TABLES):
        for zone in np.unique(rows.zone):
            people = np.flatnonzero(rows.zone[rows.labels] == zone)
            if made < MADE_ROWS and len(people) >= 2 * rows.k:
                changes += _changes(rows, people, random, number, beat)
                made += len(people)
    return learned(np.concatenate(changes)[:, :EXCHANGES]) if changes else None


def _changes(rows: AttackedRows, people: Ints, random: np.random.Generator, seed: int, beat: Beat) -> list[Floats]:
    """Make one table of some people; return what the swaps of values would change, or nothing if weave refuses."""
    codes = rows.codes[random.permutation(people)]
    problem = Problem(
        rows.points[rows.rows[people]],
        tuple(replace(one, codes=column) for one, column in zip(rows.attributes, codes.T.copy(), strict=True)),
        rows.k,
        tuple(part_of(axis, rows.rows[people]) for axis in rows.axes),
    )
    try:
        labels = partition(problem, seed=seed, progress=lambda share, phase="": beat())
    except Infeasible:
        return []
    made = whole_classes(problem, labels, rows.names)
    field = field_of(made, beat)
    return [Pairs.of(field, field.values.number, random).changes]
