"""A few cells in a column of numbers that are none: words such as n/a or k.A., and numbers below or above a limit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tclose.policy.below import ANY, BEYOND, limit_of
from tclose.table.numbers import are_numbers
from tclose.types import Bools, Ints

MOST = 0.1  # of the rows with a cell may show words, or numbers above a limit
MOST_BELOW = 0.5  # may show numbers below a limit
MOST_WORDS = 10
LONGEST = 20  # letters of a word
LEAST_NUMBERS = 10  # different ones: fewer can be coded answers, beside answers in words
LEAST_AMONG_LIMITS = 3
MOST_LOOKED_AT = 1000  # different odd cells: more are not a few
FIRST = 256  # cells that tell whether a column may hold numbers


@dataclass(frozen=True)
class OddCells:
    """The odd cells of a column of numbers, with the rows that show each, the commonest first."""

    words: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    beyond: Mapping[str, int] = field(default_factory=dict)

    @property
    def not_numbers(self) -> list[str]:
        """The cells that have no place among the numbers."""
        return [*self.words, *self.beyond]


NONE = OddCells()


def odd_cells(texts: pl.Series, counts: Ints, numeric: Bools) -> OddCells:
    """Tell the odd cells of a column; none where there are too many, or too few numbers beside them."""
    places = np.flatnonzero(~numeric)
    rows, shown = int(counts.sum()), texts[places].to_list() if 0 < len(places) <= MOST_LOOKED_AT else []
    if not shown:
        return NONE
    rows_of = dict(sorted(zip(shown, counts[places].tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])))
    found = OddCells(
        words={text: n for text, n in rows_of.items() if _is_word(text)},
        limits={text: n for text, n in rows_of.items() if limit_of(text) is not None},
        beyond={text: n for text, n in rows_of.items() if BEYOND.fullmatch(text)},
    )
    if len(found.words) + len(found.limits) + len(found.beyond) < len(rows_of) or len(found.words) > MOST_WORDS:
        return NONE
    others = sum(found.words.values()) + sum(found.beyond.values())
    least = LEAST_AMONG_LIMITS if found.limits else LEAST_NUMBERS
    enough = np.count_nonzero(numeric) >= least and sum(found.limits.values()) <= MOST_BELOW * rows
    return found if enough and others <= MOST * rows else NONE


def _is_word(text: str) -> bool:
    return len(text) <= LONGEST and not any(letter.isdigit() for letter in text)


def without_numbers(frame: pl.DataFrame, missing: Collection[str], marked: str) -> set[str]:
    """Return the odd cells of all columns of text whose numbers look like `marked`."""
    found: set[str] = set()
    for texts, counts in _tallied(frame, missing):
        numeric = (texts.str.contains(marked) | are_numbers(texts)).to_numpy()
        odd = odd_cells(texts, counts, numeric)
        found |= {*odd.not_numbers, *odd.limits}
    return found


def below_limits(frame: pl.DataFrame, missing: Collection[str]) -> set[str]:
    """Return the cells below a limit of all columns of text, where a policy places such cells."""
    if ANY not in missing:
        return set()
    columns = (column.alias("") for column in frame.iter_columns() if column.dtype == pl.String)
    cells = (column.filter(column.str.contains(r"^\s*[<≤]")).unique().to_list() for column in columns)
    return {cell for some in cells for cell in some if limit_of(cell) is not None}


def _tallied(frame: pl.DataFrame, missing: Collection[str]) -> Iterator[tuple[pl.Series, Ints]]:
    """Yield the different cells of each column of text that has a number among its first cells, and their rows."""
    for column in frame.iter_columns():
        if column.dtype != pl.String or not column[:FIRST].str.contains(r"^-?[0-9]").any():
            continue
        groups = column.alias("cell").drop_nulls().value_counts(name="rows")
        groups = groups.filter(~groups["cell"].is_in(list(missing)))
        yield groups["cell"], groups["rows"].cast(pl.Int64).to_numpy()
