"""What it costs to split a table in parts: the loss compared with one piece, and the CPU seconds of the cut.

    python bench/parts.py [TABLE …] [seeds=6] [part_rows=60000] [sampled=4000] [effort=balanced]

Tables are sal500k, sal1M and sal5M (census_sal500k, repeated) and hospital1M. For every seed, weave splits the table in
one piece and in parts, without the classes of other methods. The figures of every seed are printed at once, since a
table takes minutes.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

import cases
from measure import at_most, machine, table
from tclose.partition import Problem
from tclose.partition.parts import cut_into_parts, sample_of, share_of, whole_of
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.split import problem_of
from tclose.partition.weave import partition
from tclose.policy import Policy
from tclose.table import encode_quietly
from tclose.types import Ints

MEAN, WORST, CUT = 1.03, 1.06, 1.0  # times one piece, three times; CPU s per million rows
SETTINGS = {"seeds": "6", "part_rows": "60000", "sampled": "4000", "effort": "balanced"}


def salaries(copies: int) -> tuple[pl.DataFrame, Policy]:
    """Return half a million people, repeated, and the policy of the issue."""
    [case] = [case for case in cases.salaries() if case.name.endswith("t=0.088")]
    return pl.concat([case.table()] * copies, rechunk=True), case.policy


TABLES: dict[str, Callable[[], tuple[pl.DataFrame, Policy]]] = {
    "sal500k": lambda: salaries(1),
    "sal1M": lambda: salaries(2),
    "sal5M": lambda: salaries(10),
    "hospital1M": lambda: (cases.patients(1_000_000), cases.HOSPITAL),
}


@dataclass(frozen=True)
class Figures:
    """What one seed gives: losses per row and quasi-identifier (GCP), and CPU seconds."""

    one: float
    parts: float
    seconds: dict[str, float]
    sizes: list[int]


class Clock:
    """Notes the CPU seconds of all threads, step by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        """Put what was used since the last lap down to a step."""
        now = time.process_time()
        self.seconds[name], self._last = round(now - self._last, 2), now


def figures(problem: Problem, seed: int, asked: dict[str, str]) -> Figures:
    """Split a table in one piece and in parts."""
    effort, rows, sampled = asked["effort"], int(asked["part_rows"]), int(asked["sampled"])
    losses = loss_table(problem.all_axes, problem.rows)

    def gcp(labels: Ints) -> float:
        if not problem.admitted(labels).all():
            sys.exit("a class is not admitted")
        return total_loss(losses, labels) / (problem.rows * len(losses.columns))

    clock = Clock()
    sample = sample_of(problem, part_rows=rows, sampled=sampled, seed=seed)
    whole = whole_of(sample, effort, problem.rows)
    share = share_of(effort, whole)
    clock.lap("share")
    parts = cut_into_parts(problem, part_rows=rows, sampled=sampled, share=share, seed=seed)
    clock.lap("cut")
    labels, classes = np.empty(problem.rows, dtype=np.int64), 0
    for number in range(len(parts)):
        members = parts.members(number)
        labels[members] = classes + partition(problem.part(members), effort=effort, seed=seed + number, whole=whole)
        classes = int(labels[members].max()) + 1
    clock.lap("parts")
    one = partition(problem, effort=effort, seed=seed)
    clock.lap("one piece")
    return Figures(gcp(one), gcp(labels), clock.seconds, parts.sizes.tolist())


def main() -> None:
    """Measure the chosen tables."""
    asked = {**SETTINGS, **dict(word.split("=") for word in sys.argv[1:] if "=" in word)}
    chosen = [word for word in sys.argv[1:] if "=" not in word] or list(TABLES)
    warnings.simplefilter("ignore")
    told = []
    for name in chosen:
        frame, policy = TABLES[name]()
        problem = problem_of(encode_quietly(frame, policy), policy, "weave")
        cut_into_parts(problem.part(np.arange(1000)), part_rows=200, sampled=200, share=1.0)  # loads the kernels
        found = []
        for seed in range(1, int(asked["seeds"]) + 1):
            found.append(figures(problem, seed, asked))
            print(name, seed, found[-1], flush=True)
        ratios = [each.parts / each.one for each in found]
        seconds = [each.seconds["cut"] * 1e6 / problem.rows for each in found]
        told += [
            at_most(f"{name}: parts / one piece, mean of {len(found)} seeds", statistics.mean(ratios), MEAN),
            at_most(f"{name}: parts / one piece, at worst", max(ratios), WORST),
            at_most(f"{name}: CPU s of the cut per 1 M rows, mean", statistics.mean(seconds), CUT),
        ]
    print(f"\n{machine()}, {asked}\n\n{table(told)}")


if __name__ == "__main__":
    main()
