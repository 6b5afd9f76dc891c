"""Finding a column's values in a list of known ones: a hierarchy's leaves, a declared domain, a matrix's names."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.table.values import ValueDomain, exact_values
from tclose.types import Ints


def places_in(known: Sequence[str], values: ValueDomain, *, misses: str) -> Ints:
    """Return the place in `known` of each value; refuse when a value is not there.

    Text is matched as it is; numbers, dates and booleans by value (39.0 is 39, True is true).
    """
    places = known_places(known, values)
    missed = [code for code, at in enumerate(places) if at < 0]
    if missed:
        raise _missed(values, missed, misses)
    return np.array(places, dtype=np.int64)


def known_places(known: Sequence[str], values: ValueDomain) -> list[int]:
    """Return the place in `known` of each value, -1 where it is not there."""
    place = {text: code for code, text in enumerate(known)}
    places = [place.get(text, -1) for text in values.texts]
    if values.units is not None and -1 in places:
        places = _by_value(known, values, values.units)
    return places


def _by_value(known: Sequence[str], values: ValueDomain, units: NDArray[Any]) -> list[int]:
    place = {value: code for code, value in enumerate(exact_values(known, values.kind))}
    return [place.get(Fraction(int(unit), 10**values.scale), -1) for unit in units]


def _missed(values: ValueDomain, missed: list[int], misses: str) -> InputError:
    return InputError(
        f"column '{values.name}': {misses} {len(missed):,} of its values, in {values.where(missed)}: add them",
        detail="they are " + ", ".join(f"'{values.texts[code]}'" for code in missed[:10]),
    )
