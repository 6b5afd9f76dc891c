"""Which level can be asked for instead of one that cannot be reached: rounded so that asking for it works."""

from __future__ import annotations

import math
from fractions import Fraction

from tclose.table.builders import spell

Level = int | float | Fraction
NO_LEVEL = "no level can be"


def at_least(reached: Level) -> str:
    """Say which level can be asked for where classes must reach at least a level.

    >>> at_least(Fraction(7, 3))
    '2.3333 can be'
    """
    return f"{rounded_down(reached)} can be"


def at_most(reached: Level) -> str:
    """Say which level can be asked for where classes may reach at most a level.

    >>> at_most(Fraction(1, 3)), at_most(math.inf)
    ('0.3334 can be', 'no level can be')
    """
    return NO_LEVEL if reached == math.inf else f"{rounded_up(reached)} can be"


def below(reached: Level) -> str:
    """Say which level can be asked for where classes must stay below a level.

    >>> below(Fraction(1, 3))
    'anything above 0.3334 can be'
    """
    return NO_LEVEL if reached == math.inf else f"anything above {rounded_up(reached)} can be"


def rounded_up(level: Level) -> str:
    """Spell a level with four decimals, rounded up."""
    return spell(Fraction(math.ceil(Fraction(level) * 10_000), 10_000))


def rounded_down(level: Level) -> str:
    """Spell a level with four decimals, rounded down."""
    return spell(Fraction(math.floor(Fraction(level) * 10_000), 10_000))
