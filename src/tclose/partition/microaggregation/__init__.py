"""Microaggregation within t (Soria-Comas, Domingo-Ferrer, Sánchez & Martínez, IEEE TKDE 27, 2015), all three of it.

`first` cuts the sensitive attribute into strata and gives every class one row of each, the nearest ones. `swap` makes
groups of k near rows and swaps members until they are within t. `merge` joins groups until they are. What a step
leaves beyond t (`first` too: its bound supposes that all values differ) is merged, by exact judgement.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np

from tclose.distance import Line
from tclose.errors import PolicyError, Unsuited, did_you_mean
from tclose.partition.microaggregation.algorithms import (
    joined,
    mdav,
    standardised,
    strata_needed,
    strata_of,
    stratified,
    swapped,
)
from tclose.partition.problem import Attribute, Problem
from tclose.types import Floats, Ints, Progress, silent, stretch

__all__ = ["Variant", "partition"]

Variant = Literal["first", "swap", "merge"]

GROUPED = 0.9  # the share of the work that makes groups; the rest merges them


def partition(problem: Problem, *, variant: Variant = "first", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows.

    `first` serves one ordered attribute, `swap` one attribute with any distance but a matrix, `merge` all. Nothing
    is left to chance: the seed is not used.
    """
    if variant not in GROUPS:
        raise PolicyError("there is no variant '{variant}'{hint}", variant=variant, hint=did_you_mean(variant, GROUPS))
    problem.check_feasible()
    points = standardised(problem.points)
    labels = GROUPS[variant](problem, points, stretch(progress, 0.0, GROUPED))
    labels = joined(points, labels, problem.sensitive, stretch(progress, GROUPED, 1.0))
    progress(1.0)
    return labels


def _first(problem: Problem, points: Floats, progress: Progress) -> Ints:
    attribute = _only(problem, "first")
    geometry = attribute.geometry
    if not (isinstance(geometry, Line) and geometry.by_rank):
        raise Unsuited(
            "microaggregation with t-closeness first serves the distance 'ordered' only, without missing values: "
            "its strata are ranks"
        )
    strata = strata_needed(problem.rows, problem.k, _room(attribute))
    return stratified(points, strata_of(attribute.codes, strata), progress)


def _swap(problem: Problem, points: Floats, progress: Progress) -> Ints:
    return swapped(points, problem.k, _only(problem, "swap"), progress)


def _merge(problem: Problem, points: Floats, progress: Progress) -> Ints:
    return mdav(points, problem.k, progress)


GROUPS: dict[str, Callable[[Problem, Floats, Progress], Ints]] = {"first": _first, "swap": _swap, "merge": _merge}


def _only(problem: Problem, variant: str) -> Attribute:
    """Return the only sensitive attribute."""
    if len(problem.sensitive) != 1:
        raise Unsuited(
            "microaggregation serves one sensitive attribute, not {count}, by '{variant}'; by 'merge' it serves "
            "any number",
            count=len(problem.sensitive),
            variant=variant,
        )
    return problem.sensitive[0]


def _room(attribute: Attribute) -> Fraction:
    """Return how far a class may be from the rows at hand, which may be some way from the table themselves."""
    if attribute.t is None or len(np.unique(attribute.codes)) == 1:
        return Fraction(1)
    return attribute.t if attribute.t == 1 else attribute.t - attribute.emd_of(attribute.codes, attribute.reference)
