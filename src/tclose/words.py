"""Numbers in messages, as people read them."""

from __future__ import annotations

import math
from fractions import Fraction


def counted(number: int, noun: str) -> str:
    """Say how many there are.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


LONGEST_NAME = 60  # letters; the rest is told by an ellipsis


def legible(name: str) -> str:
    r"""Spell a name for people: nothing invisible, nothing that turns the line around, nothing endless.

    >>> legible("blood\npressure"), len(legible("x" * 1000))
    ('blood\\npressure', 60)
    """
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name[: 2 * LONGEST_NAME])
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


def number(level: int | float | Fraction) -> str:
    """Spell a level for people: four digits are enough, and a whole number stays whole.

    >>> number(Fraction(3, 20)), number(Fraction(1, 3)), number(5), number(float("inf"))
    ('0.15', '0.3333', '5', '∞')
    """
    figure = float(level)
    if figure == math.inf:
        return "∞"
    return f"{figure:,.0f}" if figure.is_integer() or figure >= 10_000 else f"{figure:.4g}"
