"""Finding a column's values in a list of known ones: a hierarchy's leaves, a declared domain, a matrix's names."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.table import numbers
from tclose.table.values import Values


def codes_in(known: Sequence[str], values: Values, *, misses: str) -> NDArray[np.int64]:
    """Return each row's place in `known`, -1 where the row has no value; refuse when a value is not there.

    Numbers are matched by value (39.0 is 39), everything else by its text.
    """
    place = {text: code for code, text in enumerate(known)}
    found = [place.get(text, -1) for text in values.texts]
    if values.kind == "number" and -1 in found:
        found = _by_number(known, values)
    missed = [code for code, at in enumerate(found) if at < 0]
    if missed:
        raise _missed(values, missed, misses)
    return np.array([*found, -1], dtype=np.int64)[values.codes]


def _by_number(known: Sequence[str], values: Values) -> list[int]:
    texts = pl.Series(known, dtype=pl.String)
    place = {Fraction(known[code]): code for code in numbers.are_numbers(texts).arg_true().to_list()}
    assert values.units is not None
    return [place.get(Fraction(int(unit), 10**values.scale), -1) for unit in values.units]


def _missed(values: Values, missed: list[int], misses: str) -> InputError:
    rows = np.flatnonzero(np.isin(values.codes, missed))
    return InputError(
        f"column '{values.name}': {misses} {len(missed):,} of its values, in {len(rows):,} rows, "
        f"first in row {int(rows[0]) + 1:,}: add them",
        detail="they are " + ", ".join(f"'{values.texts[code]}'" for code in missed[:10]),
    )
