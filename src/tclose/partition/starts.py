"""The partitions that weave considers besides its own: equality classes, the optimum of a few rows, cheap rivals.

Every method that publishes one table is a rival. It is cheap up to a number of rows, so that budgets are rows and not
seconds: the same table gives the same starts on every machine. Quadratic methods are cheap below 20,000 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose.distance import TupleMetric
from tclose.errors import Infeasible, MissingExtra, Unsuited
from tclose.partition import METHODS, method_and_options, method_named
from tclose.partition.problem import Problem, Start
from tclose.partition.shared.axes import NumberAxis
from tclose.partition.shared.merge import Verdicts, equality_classes, merged
from tclose.types import Ints, Progress, stretch

EQUALITY, ONE_CLASS, EXACT = "equality classes", "one class", "exact"
CONSIDERING = "considering other methods"
FAST = "fast"  # the effort that considers the fewest
ANY = 2**62  # rows
QUADRATIC = 19_999
LARGE = 100_000  # rows, above which n log n with a large factor is no longer cheap
SMALL = 10_000  # rows, below which `fast` has time for a quadratic method
TUPLE_ROWS = 2000  # above which it takes long to judge tuples of values in many classes
SOLVED = 200  # rows, above which linear programmes are no longer cheap
MANY_FAILING = 0.1  # of all equality classes
MOST_STEPS = 2000  # of a search whose length depends on more than the rows
MOST_CLASSES = 1000  # that are grown, each by a search of all rows
MOST_SUBSETS = 4 * 3**18  # steps of `exact`, of all groups of rows together; 3^n for a group of n rows


@dataclass(frozen=True)
class Rival:
    """A method or a variant, as `compare` calls it; the most rows for which it is cheap, for `fast` and for others."""

    name: str
    rows: int = ANY
    fast_rows: int = 0
    model_rows: int = ANY  # the most rows where a sensitive attribute asks for further models than t
    tuple_rows: int = TUPLE_ROWS  # the most rows where tuples of values are judged, each class by a transport problem
    steps: int = ANY  # calls of progress after which it is no longer cheap, whatever the rows

    @property
    def method(self) -> str:
        """The method's own name."""
        return method_and_options(self.name)[0]

    def is_cheap(self, problem: Problem, effort: str) -> bool:
        """Tell whether an effort can afford it on a table."""
        rows = self.fast_rows if effort == FAST else self.rows
        has_models = any(attribute.models for attribute in problem.sensitive)
        limits = (rows, self.model_rows if has_models else ANY, self.tuple_rows if _has_tuples(problem) else ANY)
        return problem.rows <= min(limits)


RIVALS = (
    Rival("mondrian:strict", fast_rows=ANY, tuple_rows=SMALL),
    Rival("mondrian:relaxed", fast_rows=ANY, tuple_rows=SMALL),
    Rival("microaggregation:merge", QUADRATIC, fast_rows=SMALL),
    Rival("microaggregation:first", QUADRATIC),
    Rival("microaggregation:swap", QUADRATIC),
    Rival("clustering:searched", rows=LARGE),
    Rival("pca:searched", rows=LARGE),
    Rival("clustering:printed", rows=SMALL),
    Rival("pca:printed", rows=SMALL),
    Rival("fragmentation:relaxed", rows=QUADRATIC),
    Rival("fragmentation:tight", rows=QUADRATIC),
    Rival("fragmentation:printed", rows=SMALL, steps=MOST_CLASSES),
    Rival("sabre:printed"),
    Rival("sabre:slack"),
    Rival("sabre:nearest", QUADRATIC),
    Rival("sabre:nearest-slack", QUADRATIC),
    Rival("burel"),
    Rival("incognito", steps=MOST_STEPS),
    Rival("kanonymity", model_rows=SOLVED),  # it solves linear programmes for alpha
)


def methods_considered(method: str, options: Mapping[str, Any]) -> list[str]:
    """Return the methods whose classes a method may consider."""
    about = METHODS[method]
    if not about.takes_starts:
        return []
    is_fast = options.get(about.option) == FAST
    return [EXACT, *dict.fromkeys(rival.method for rival in RIVALS if rival.fast_rows or not is_fast)]


class _TooLong(Exception):
    """A rival has used up its steps."""


def starts_of(problem: Problem, effort: str, seed: int, exact_rows: int, progress: Progress) -> Iterator[Start]:
    """Yield the partitions that an effort considers, those first that may be optimal: the rest is then not needed.

    Groups of at most `exact_rows` rows are solved exactly.
    """
    problem.check_feasible()
    if problem.rows < 2 * problem.k:
        yield Start(ONE_CLASS, np.zeros(problem.rows, dtype=np.int64), fast=True, optimal=True)
        return
    if (equality := _equality(problem)) is not None:
        yield equality
    chosen = [rival for rival in RIVALS if rival.is_cheap(problem, effort)]
    if problem.rows <= exact_rows:
        chosen = [Rival(EXACT, fast_rows=ANY), *chosen]
    for number, rival in enumerate(chosen):
        part = stretch(progress, number / len(chosen), (number + 1) / len(chosen), CONSIDERING, only=True)
        labels = _labels(rival, problem, seed, part)
        if labels is not None:
            optimal = rival.method == EXACT and problem.loses_gcp
            yield Start(rival.name, labels, rival.is_cheap(problem, FAST), optimal)


def most_exact_rows(sizes: Ints) -> int:
    """Return up to how many rows groups of these sizes can be solved exactly, with a limit on all work together."""
    for rows in range(18, 0, -1):
        if sum(3**size for size in sizes[sizes <= rows].tolist()) <= MOST_SUBSETS:
            return rows
    return 0


def _equality(problem: Problem) -> Start | None:
    """Return one class for all rows that publish the same values, merged where classes are not admitted.

    If all of them are admitted, nothing has a smaller GCP. By other losses, two classes of equal rows may be better.
    Of a large table in which many are not admitted, merging them takes long and leaves little of them.
    """
    labels = equality_classes(problem.all_axes, problem.rows)
    many_rows = problem.rows > (TUPLE_ROWS if _has_tuples(problem) else QUADRATIC)
    if many_rows and np.mean(~problem.admitted(labels)) > MANY_FAILING:
        return None
    mended = merged(labels, np.zeros_like(labels), problem.points, Verdicts(problem).judged)
    return Start(EQUALITY, mended, fast=True, optimal=mended.max() == labels.max() and _loses_ranges(problem))


def _has_tuples(problem: Problem) -> bool:
    """Tell whether tuples of values are judged by a transport problem for each class."""
    return any(isinstance(attribute.geometry, TupleMetric) for attribute in problem.sensitive)


def _labels(rival: Rival, problem: Problem, seed: int, progress: Progress) -> Ints | None:
    """Return the classes of a method; nothing where it does not serve the table, or takes too long."""
    method, options = method_and_options(rival.name)
    try:
        return method_named(method)(problem, seed=seed, progress=_limited(progress, rival.steps), **options)
    except (Unsuited, Infeasible, MissingExtra, _TooLong):
        return None


def _limited(progress: Progress, steps: int) -> Progress:
    """Return a progress that stops the work after some calls."""
    left = steps

    def report(share: float, phase: str = "") -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TooLong
        progress(share, phase)

    return report


def _loses_ranges(problem: Problem) -> bool:
    """Tell whether the loss is GCP, weighted or not, which only grows where classes are merged or publish more."""
    squared = any(isinstance(axis, NumberAxis) and axis.deviation is not None for axis in problem.all_axes)
    return not problem.by_size and not squared and all(axis.chances is None for axis in problem.all_axes)
