"""Cases of which any two values of different parameters meet once, instead of every combination of all values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Pair = tuple[int, int, int, int]  # two parameters, and the index of the value of each


def in_pairs(*parameters: Sequence[Any]) -> list[Any]:
    """Return all combinations of values for `parametrize`; those that no pair of values needs are left to `make soak`.

    Most bugs that need several settings need two, and a bug that needs two is found by the cases that stay.
    """
    cases = list(product(*(range(len(values)) for values in parameters)))
    chosen = set(_covering(cases))
    return [
        pytest.param(
            *(values[i] for values, i in zip(parameters, case, strict=True)),
            marks=() if case in chosen else (pytest.mark.soak,),
        )
        for case in cases
    ]


def _covering(cases: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield few cases that have every pair: always one with most of those that are missing, the first of equals."""
    missing = {pair for case in cases for pair in _pairs(case)}
    while missing:
        best = max(cases, key=lambda case: len(missing.intersection(_pairs(case))))
        missing.difference_update(_pairs(best))
        yield best


def _pairs(case: tuple[int, ...]) -> Iterator[Pair]:
    for (a, first), (b, second) in combinations(enumerate(case), 2):
        yield a, first, b, second


def in_turns(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return all pairs for `parametrize`, of which `make test` runs each value with one other, in turns."""
    return [
        pytest.param(value, other, marks=() if i % len(others) == j else (pytest.mark.soak,))
        for i, value in enumerate(values)
        for j, other in enumerate(others)
    ]
