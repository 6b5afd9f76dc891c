"""What can be read off a column that no closeness protects, by anyone who knows a person's other quasi-identifiers.

Leave one out (line 4 of decision 135): of the sampled rows with an uncommon value of a column, those count for which
all other columns lead only to classes that publish this one exact value. All other columns are known as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.types import Bools, Floats, Ints

Fits = Callable[[slice], Bools]  # some of the rows × classes

SAMPLED = 400  # rows with an uncommon value, of each column
UNCOMMON = 4  # a value that fewer than one row in so many has
BLOCK = 4_000_000  # cells of a rows × classes block
SEVERAL = -2  # a class that does not publish one exact value


@dataclass(frozen=True)
class ReadOff:
    """Of some rows with an uncommon value of a column: how many there are, and how many can be read off."""

    sampled: int
    read: int
    expected: float  # mean share of these values in the table: what anyone guesses without the release


def sampled_rows(codes: Ints, counts: Ints) -> Ints:
    """Return rows with an uncommon value, drawn at random where there are many; `codes` are -1 where missing."""
    uncommon = np.flatnonzero((codes >= 0) & (UNCOMMON * np.append(counts, 0)[codes] < len(codes)))
    if len(uncommon) <= SAMPLED:
        return uncommon
    return np.sort(np.random.default_rng(0).choice(uncommon, SAMPLED, replace=False))


def read_off(values: Ints, shares: Floats, exact: Ints, others: Sequence[Fits]) -> ReadOff:
    """Count the rows whose value can be read off.

    `values` and `shares` are those of the rows, and `exact` is the one value that each class publishes of the column.
    `others` tell, for each other column, which class each row fits.
    """
    if not len(values):
        return ReadOff(0, 0, 0.0)
    step, read = max(1, BLOCK // len(exact)), 0
    for start in range(0, len(values), step):
        block = slice(start, start + step)
        fits = np.ones((len(values[block]), len(exact)), dtype=bool)
        for column in others:
            fits &= column(block)
        other = exact[None, :] != values[block][:, None]
        read += int(np.count_nonzero(fits.any(axis=1) & ~(fits & other).any(axis=1)))
    return ReadOff(len(values), read, float(shares.mean()))
