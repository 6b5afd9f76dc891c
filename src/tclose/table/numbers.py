"""Numbers as written, exactly, and the few other cells that stand among them.

A cell is a number when it reads back as it was written, which is JSON's grammar of numbers: 5, -0.50 and 1e-05
are numbers; 01234, +5 and " 5" are text, and so is what has over a hundred characters or an exponent over 999.
Each number becomes a whole number of units of 10^-scale.

Odd cells in a column of numbers are words such as n/a or k.A., and numbers below or above a limit. The isolated process
that reads files loads this module, so it loads no numpy at its top.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from tclose.policy.column_settings import ANY, BEYOND, limit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tclose.types import Bools, Ints

NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?$"
LONGEST_NUMBER = 100
DIGITS = 18  # that many always fit into 64 bits
WIDE = Context(prec=2 * (1000 + LONGEST_NUMBER))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Exact numbers: units[i] · 10^-scale, as int64 or, beyond its reach, as Python integers."""

    units: NDArray[Any]
    scale: int


def are_numbers(cells: pl.Series) -> pl.Series:
    """Tell for each text cell whether it is a number as written."""
    return cells.str.contains(NUMBER) & (cells.str.len_bytes() <= LONGEST_NUMBER)


def read(cells: pl.Series) -> Numbers:
    """Read text cells that all are numbers."""
    import numpy as np  # which the isolated process does without

    if cells.len() and cells.str.contains("[eE]").any():
        return _read_slowly(cells)
    fraction = cells.str.extract(r"\.([0-9]+)$").fill_null("").str.len_bytes().cast(pl.Int64)
    scale = int(fraction.max() or 0)  # type: ignore[arg-type]
    digits = cells.str.replace(".", "", literal=True)
    if int(digits.str.len_bytes().max() or 0) + scale > DIGITS:  # type: ignore[arg-type]
        return _read_slowly(cells)
    powers = 10 ** (scale - fraction.to_numpy()).astype(np.int64)
    return Numbers(digits.cast(pl.Int64).to_numpy() * powers, scale)


def _read_slowly(cells: pl.Series) -> Numbers:
    import numpy as np

    decimals = [Decimal(cell) for cell in cells]
    scale = max((max(-int(decimal.as_tuple().exponent), 0) for decimal in decimals if decimal), default=0)
    units = np.empty(len(decimals), dtype=object)
    units[:] = [int(decimal.scaleb(scale, WIDE)) for decimal in decimals]
    largest = max((abs(unit) for unit in units), default=0)
    return Numbers(units.astype(np.int64) if largest < 10**DIGITS else units, scale)


# Odd cells: the few cells of a column of numbers that are none


MOST_ODD = 0.1  # of the rows with a cell may show words, or numbers above a limit
MOST_BELOW = 0.5  # may show numbers below a limit
MOST_WORDS = 10
LONGEST_WORD = 20  # letters of a word
LEAST_NUMBERS = 10  # different ones: fewer can be coded answers, beside answers in words
LEAST_AMONG_LIMITS = 3
MOST_LOOKED_AT = 1000  # different odd cells: more are not a few
FIRST_CELLS = 256  # cells that tell whether a column may hold numbers


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


NO_ODD_CELLS = OddCells()


def odd_cells(texts: pl.Series, counts: Ints, numeric: Bools) -> OddCells:
    """Tell the odd cells of a column; none where there are too many, or too few numbers beside them."""
    places = (~numeric).nonzero()[0]
    rows, shown = int(counts.sum()), texts[places].to_list() if 0 < len(places) <= MOST_LOOKED_AT else []
    if not shown:
        return NO_ODD_CELLS
    rows_of = dict(sorted(zip(shown, counts[places].tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])))
    found = OddCells(
        words={text: n for text, n in rows_of.items() if _is_word(text)},
        limits={text: n for text, n in rows_of.items() if limit_of(text) is not None},
        beyond={text: n for text, n in rows_of.items() if BEYOND.fullmatch(text)},
    )
    if len(found.words) + len(found.limits) + len(found.beyond) < len(rows_of) or len(found.words) > MOST_WORDS:
        return NO_ODD_CELLS
    others = sum(found.words.values()) + sum(found.beyond.values())
    least = LEAST_AMONG_LIMITS if found.limits else LEAST_NUMBERS
    enough = numeric.sum() >= least and sum(found.limits.values()) <= MOST_BELOW * rows
    return found if enough and others <= MOST_ODD * rows else NO_ODD_CELLS


def _is_word(text: str) -> bool:
    return len(text) <= LONGEST_WORD and not any(letter.isdigit() for letter in text)


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
        if column.dtype != pl.String or not column[:FIRST_CELLS].str.contains(r"^-?[0-9]").any():
            continue
        groups = column.alias("cell").drop_nulls().value_counts(name="rows")
        groups = groups.filter(~groups["cell"].is_in(list(missing)))
        yield groups["cell"], groups["rows"].cast(pl.Int64).to_numpy()
