"""The risk that a published row is linked to a person, in the three standard forms (El Emam & Dankar 2008).

A prosecutor knows that the person is in the table, a journalist has a register and wants anybody, a marketer wants
as many as possible. `sizes` are the rows of each published class, `people` the register's rows that fit it.
"""

from __future__ import annotations

import numpy as np

from tclose.types import Ints


def prosecutor(sizes: Ints) -> float:
    """Return the chance of linking the most exposed row, when the person is known to be in the table.

    >>> prosecutor(np.array([5, 2, 10]))
    0.5
    """
    return 1 / int(sizes.min())


def average_prosecutor(sizes: Ints) -> float:
    """Return the mean chance over all rows: each is found with a chance of one in the rows of its class.

    >>> average_prosecutor(np.array([5, 2, 3]))
    0.3
    """
    return len(sizes) / int(sizes.sum())


def journalist(sizes: Ints, people: Ints) -> float:
    """Return the chance of linking the most exposed row by way of a register; 0 where it knows nobody.

    >>> journalist(np.array([5, 2]), np.array([8, 40]))
    0.125
    """
    known = crowds(sizes, people)
    known = known[known > 0]
    return 1 / int(known.min()) if len(known) else 0.0


def crowds(sizes: Ints, people: Ints) -> Ints:
    """Return how many people fit each class; at least its own rows, even if the register knows fewer; 0 if nobody."""
    return np.where(people > 0, np.maximum(sizes, people), 0)


def marketer(sizes: Ints, people: Ints) -> float:
    """Return the share of rows that are linked rightly when each is linked to anybody who fits.

    Where a register knows fewer people than a class has rows, it is they who are linked to any of the rows.
    """
    fewer, more = np.minimum(sizes, people), np.maximum(sizes, people)
    return float((fewer / more).sum() / sizes.sum())


def unique(sizes: Ints, people: Ints) -> Ints:
    """Return how many rows of each class point to one person of the register and to nobody else."""
    return np.where((sizes == 1) & (people == 1), 1, 0)
