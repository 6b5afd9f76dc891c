"""A table with one row per person, by which the rows of a person are put into a class together.

A person's row shows the quasi-identifiers of the person's middle row. For closeness, it shows the lowest, the middle
and the highest sensitive value as columns of their own. If each of these is close to the table's in every class, and
everyone has as many rows, then so are all values, because the distance of a mixture is at most the mean of distances.
Where people have different numbers of rows, the judge decides, and classes are merged where that fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.policy import LEVELS, Policy, Sensitive
from tclose.table.coded import CodedTable, encode_quietly
from tclose.table.pseudonyms import middle_rows, ranked_rows
from tclose.types import Ints

MOST_RANKS = 3


@dataclass(frozen=True, eq=False)
class PersonTable:
    """One row per person, and the person of each row of the whole table."""

    table: CodedTable
    persons: Ints  # of each row of the whole table, numbered as the rows of `table`

    @classmethod
    def of(cls, whole: CodedTable, policy: Policy) -> PersonTable:
        """Choose the cells that stand for each person."""
        assert whole.persons is not None
        persons = np.unique(whole.persons, return_inverse=True)[1].astype(np.int64)
        middle = middle_rows(persons)
        columns = {name: whole.frame[name].gather(middle) for name in policy.visible}
        ranks = min(MOST_RANKS, int(np.bincount(persons).max())) - 1
        sensitive: dict[str, Sensitive] = {}
        for name, spec in policy.sensitive.items():
            cells, codes = whole.frame[name], whole.sensitive[name].codes
            columns[name], sensitive[name] = cells.gather(ranked_rows(persons, codes, 1, 2)), spec
            for rank in _further_ranks(spec, ranks):
                other = f"{name}\0{rank}"  # which no column of a table is called
                columns[other] = cells.gather(ranked_rows(persons, codes, rank, ranks))
                sensitive[other] = _t_alone(spec)
        roles: dict[str, Any] = {"person": None, "pseudonym": None, "identifiers": (), "unlinkable": ()}
        asked = replace(policy, **roles, sensitive=sensitive, suppress=Fraction(0))
        frame = pl.DataFrame({name: column.alias("") for name, column in columns.items()})
        return cls(encode_quietly(frame, asked), persons)


def _further_ranks(spec: Sensitive, ranks: int) -> tuple[int, ...]:
    """Return the ranks beside the middle one: the lowest and the highest, where there is a t for them."""
    if spec.t is None or ranks == 0:
        return ()
    return (0, ranks) if ranks > 1 else (1,)  # of two, the middle one is the lowest


def _t_alone(spec: Sensitive) -> Sensitive:
    """Return settings that ask for t and nothing else."""
    return replace(spec, **dict.fromkeys(level for level in LEVELS if level != "t"))
