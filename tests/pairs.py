"""Few of many cases for `make test`; `make soak` has all of them.

Of parameters that are combined, any two values meet once. Of cases that are alike, there is one of several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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


def leave_to_soak(items: Iterable[pytest.Item]) -> None:
    """Mark `soak` what tests that say so need not run each time, by the mark of the test.

    `each_value`: of the combinations of parameters, few that have each value of each parameter. `one_in(n)`: of cases
    that are alike, each n-th; the first is one of them.
    """
    cases: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not item.get_closest_marker("soak"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for alike in cases.values():
        if (mark := alike[0].get_closest_marker("one_in")) is not None:
            chosen = alike[:: mark.args[0]]
        elif alike[0].get_closest_marker("each_value") is not None:
            chosen = list(_with_each_value(alike))
        else:
            continue
        for item in alike:
            if item not in chosen:
                item.add_marker(pytest.mark.soak)


def _with_each_value(items: list[pytest.Function]) -> Iterator[pytest.Function]:
    """Yield few cases that have every value: always one with most of those that are missing, the first of equals."""
    values = {item: {(name, id(value)) for name, value in item.callspec.params.items()} for item in items}
    missing = set().union(*values.values())
    while missing:
        best = max(values, key=lambda item: len(missing & values[item]))
        missing -= values[best]
        yield best
