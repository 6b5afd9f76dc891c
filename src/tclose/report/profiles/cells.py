"""What a published column shows: every different cell, taken apart into the values that stand in it.

A range shows its two ends, a set its members, `x or missing` shows x. Nothing is sampled and nothing is skipped: a
verdict on a column rests on all of its cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tclose.recode.spelling import OR_MISSING, SetCell

MARKS = "≤≥<>"
NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")
RANGE = re.compile(r"[\[(]\s*([^\[\](),;]+?)\s*[,;]\s*([^\[\](),;]+?)\s*[\])]")
EMPTY = (  # cells that say that there is no value
    "* missing unknown na n/a n.a. nan null none ? - . #n/a <na> k.a. k.a n.b. n.b unbekannt inconnu desconocido"
    " suppressed withheld redacted"
)
NOTHING = frozenset(EMPTY.split()) | {
    "",
    "k. a.",
    "n. b.",
    "not known",
    "not available",
    "keine angabe",
    "no answer",
    "(missing)",
}


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column of a release: its name, and the different texts of all its published cells."""

    name: str
    texts: Sequence[str]
    pseudonym: bool = False  # whether it shows pseudonyms of an identifier

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different values in its cells; cells that say that there is no value show none."""
        return tuple(dict.fromkeys(value for text in self.texts for value in values_in(text)))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The values that are plain numbers, without the mark of an open end."""
        bare = (value.lstrip(MARKS).strip() for value in self.values)
        return tuple(value for value in bare if NUMBER.fullmatch(value))

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The values that are no plain numbers."""
        return tuple(value for value in self.values if not NUMBER.fullmatch(value.lstrip(MARKS).strip()))

    @cached_property
    def most_digits(self) -> int:
        """The most digits that any value has."""
        return max((sum(map(str.isdigit, value)) for value in self.values), default=0)

    @property
    def longest(self) -> int:
        """The letters of the longest value."""
        return max(map(len, self.values), default=0)

    @cached_property
    def amounts(self) -> tuple[float, ...]:
        """The plain numbers, read."""
        return tuple(float(value.replace(",", ".")) for value in self.numbers)

    @property
    def only_numbers(self) -> bool:
        """Whether every value is a plain number."""
        return not self.others

    def any_other(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether a value that is no plain number shows a pattern somewhere."""
        return any(pattern.search(value) for value in self.others)


def values_in(text: str) -> Iterator[str]:
    """Yield the values that a published cell shows.

    >>> [*values_in("[20, ≥90] or missing")], [*values_in('{a, "b, c"}')], [*values_in("missing")]
    (['20', '≥90'], ['a', 'b, c'], [])
    """
    bare = text.strip().removesuffix(OR_MISSING).strip()
    if bare.casefold() in NOTHING:
        return
    if bare.startswith("{") and bare.endswith("}"):
        for cell in SetCell.parse(bare, missing=False):
            if len(cell.members) > 1:
                yield from (value for member in cell.members for value in values_in(member))
                return
    if ends := RANGE.fullmatch(bare):
        yield from (value for end in ends.groups() for value in values_in(end))
    else:
        yield bare
