"""What random classes of the same sizes would give away: the figure that every release has by chance.

Rows are dealt at random into classes of the sizes of the release. So the rows of a class that show a value are drawn
without replacement: their number is hypergeometric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from tclose.types import Floats, Ints

LARGEST = 200  # rows of a class; in a larger one, chance brings hardly any value half-way to certainty (below 1e-11)
NEGLIGIBLE = 1e-12


def suspicion_by_chance(sizes: Mapping[int, int], held: int, units: int) -> Fraction:
    """Return the mean share of a value in the classes of those who have it, if classes were random.

    In a class of s rows it is 1/s + (1 - 1/s) · (n_v - 1) / (n - 1): the row itself, and the others' chance.

    >>> suspicion_by_chance({2: 3}, held=1, units=6)
    Fraction(1, 2)
    """
    if units < 2:
        return Fraction(1)
    others, classes = Fraction(held - 1, units - 1), sum(sizes.values())
    return (classes + (units - classes) * others) / units


def given_away_by_chance(sizes: Mapping[int, int], columns: Iterable[Ints], units: int) -> float:
    """Return the expected share of rows with a value that random classes make at least half-way certain.

    `columns` count, for each column, the rows that show each cell. The shares of the columns are added up, so with
    several columns it is an upper limit.
    """
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, units + 1)))))
    total = 0.0
    for holders in columns:
        held, cells = np.unique(holders[(holders > 0) & (2 * holders < units)], return_counts=True)
        for size, classes in sizes.items():
            if size <= LARGEST and len(held):
                total += classes * float((cells * _marked(size, held, units, logs)).sum())
    return min(total / max(units, 1), 1.0)


def _marked(size: int, held: Ints, units: int, logs: Floats) -> Floats:
    """Return, for values that so many rows show, the expected rows of one random class that are marked."""
    least = -(-size * (units + held) // (2 * units))  # the fewest rows of the class that bring it half-way
    found = np.zeros(len(held))
    for drawn in range(int(least.min()), size + 1):
        possible = (drawn >= least) & (drawn <= held) & (size - drawn <= units - held)
        if not possible.any():
            continue
        of = held[possible]
        ways = _choose(of, drawn, logs) + _choose(units - of, size - drawn, logs) - _choose(units, size, logs)
        chance = np.exp(ways)
        found[possible] += drawn * chance
        if drawn > int(least.max()) and chance.max() < NEGLIGIBLE:
            break
    return found


def _choose(of: Ints | int, drawn: int, logs: Floats) -> Floats:
    return np.asarray(logs[of] - logs[drawn] - logs[of - drawn])
