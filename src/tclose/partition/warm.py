"""Compile every kernel of every method ahead, so that no later run has to wait for the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.distance import Distance, DomainFacts, Equal, Matrix, Ordered
from tclose.partition import Attribute, Problem, method_named, tempering_of
from tclose.partition.parts import cut_into_parts
from tclose.partition.problem import WholeTable
from tclose.partition.shared.axes import NumberAxis
from tclose.partition.shared.kernels import KERNELS, is_ready, seconds_to_compile
from tclose.privacy import BetaLikeness
from tclose.types import Progress, silent

VALUES = 6  # of the sensitive attribute of every tiny table
COSTS = np.abs(np.arange(VALUES)[:, None] - np.arange(VALUES)[None, :]).astype(np.int64)

LINE, STAR, METRIC = Ordered(VALUES), Equal(), Matrix(COSTS)
MISSING = DomainFacts(VALUES, missing=True).make(LINE.name)


@dataclass(frozen=True, eq=False)
class Run:
    """A method with some options on a tiny table."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 24
    distance: Distance = LINE
    t: Fraction = Fraction(1, 2)
    beta: bool = False  # whether the table asks for β-likeness instead of t
    temper: bool = False  # whether the classes are tempered
    parts: bool = False  # whether the table is cut into parts first
    squared: bool = False  # whether the loss is the squared distance to the class's mean

    def __call__(self) -> None:
        """Run the method; the classes do not matter."""
        labels = method_named(self.method)(self.problem, seed=0, progress=silent, **self.options)
        if self.temper:
            tempering_of(self.method)(self.problem, labels, 0.2, 0, silent)
        if self.parts:
            cut_into_parts(self.problem, part_rows=self.rows // 2, share=1.0)

    @property
    def problem(self) -> Problem:
        """A tiny table."""
        numbers = np.arange(self.rows)
        codes, points = numbers % VALUES, np.stack([numbers * 7 % self.rows, numbers * 5 % self.rows], axis=1)
        reference = np.bincount(codes, minlength=VALUES).astype(np.int64)
        t, models = (None, (BetaLikeness(Fraction(2)),)) if self.beta else (self.t, ())
        attribute = Attribute(codes, reference, self.distance, t, models=models)
        deviation = 1.0 if self.squared else None
        axes = tuple(replace(NumberAxis.of_points(column), deviation=deviation) for column in points.T / self.rows)
        return Problem(points / self.rows, (attribute,), 2, axes)


RUNS = (  # together they use every kernel
    Run("weave", {"effort": "fast"}, rows=240, temper=True, parts=True),
    Run("weave", {"effort": "fast"}, squared=True),
    Run("weave", {"effort": "fast", "whole": WholeTable(10**6, 1.0)}, rows=240),
    Run("fragmentation"),
    Run("fragmentation", {"bound": "published", "sizing": "gcd"}),
    Run("fragmentation", {"sizing": "gcd"}),
    Run("fragmentation", distance=STAR),
    Run("fragmentation", distance=METRIC),
    Run("fragmentation", distance=MISSING),
    Run("sabre", {"near": "hilbert"}),
    Run("sabre", {"near": "nearest"}),
    Run("burel", beta=True),
    Run("microaggregation", {"variant": "first"}),
    Run("microaggregation", {"variant": "swap"}),
    Run("microaggregation", {"variant": "merge"}, t=Fraction(1, 20)),  # so small that classes must be merged
    Run("clustering"),
    Run("exact", rows=8),
)


def warm_weave() -> None:
    """Compile the kernels of weave and of parts that are not on disk."""
    RUNS[0]()


def warm(progress: Progress = silent) -> int:
    """Compile every kernel that is not on disk by running every method that has any; return how many were compiled."""
    for run in RUNS:
        method_named(run.method)
        if run.temper:
            tempering_of(run.method)
    missing = sum(not is_ready(kernel) for kernel in KERNELS)
    for number, run in enumerate(RUNS):
        seconds = seconds_to_compile()
        left = f" (all kernels: about {seconds:.0f} s left)" if seconds else ""
        progress(number / len(RUNS), f"compiling {run.method}{left}")
        run()
    progress(1.0, "compiled")
    return missing
