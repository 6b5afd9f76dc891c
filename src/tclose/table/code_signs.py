"""Which columns of a table look like codes of places or groups: arrays for `policy/draft/codes.py`, from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from tclose.policy.below import Below
from tclose.policy.draft import Profile
from tclose.policy.draft.codes import FEWEST, MOST, Beside, signs_of
from tclose.table.values import Values, values_of

SAMPLE = 20_000  # rows
MOST_BESIDE = 64  # columns that a code is compared with
NEARLY_UNIQUE = 0.95  # different texts per row: too many to say anything


def with_code_signs(frame: pl.DataFrame, columns: Sequence[Profile], missing: Sequence[str]) -> list[Profile]:
    """Say of each column of whole numbers what speaks for a code of a place or a group."""
    candidates = {column.name for column in columns if _may_be_code(column)}
    if not candidates:
        return list(columns)
    rows = np.unique(np.linspace(0, len(frame) - 1, min(SAMPLE, len(frame))).astype(np.int64))
    sample = frame if len(rows) == len(frame) else frame[rows]
    compared = [column.name for column in columns if column.distinct > 1][:MOST_BESIDE]
    limits = {column.name: Below() for column in columns if column.limits}
    read = dict.fromkeys([*compared, *candidates])
    values = {name: values_of(sample[name], missing, below=limits.get(name)) for name in read}
    beside = {name: _beside(values[name]) for name in compared if _tells(values[name])}
    return [
        replace(column, code=signs_of(column.name, values[column.name].codes, _without(beside, column.name)))
        if column.name in candidates
        else column
        for column in columns
    ]


def _may_be_code(column: Profile) -> bool:
    return column.numbers is not None and column.numbers.whole and FEWEST <= column.distinct <= MOST


def _tells(values: Values) -> bool:
    return values.units is not None or len(values.texts) <= NEARLY_UNIQUE * len(values.codes)


def _beside(values: Values) -> Beside:
    return Beside(values.codes, ordered=values.units is not None)


def _without(beside: dict[str, Beside], name: str) -> dict[str, Beside]:
    return {other: each for other, each in beside.items() if other != name}
