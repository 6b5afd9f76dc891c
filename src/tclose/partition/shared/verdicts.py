"""Verdicts on classes that only ever grow: those of a method that joins failing classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose.partition.problem import Problem
from tclose.types import Bools, Ints, Progress, silent

ROUNDS = 64  # of joining pairs; each halves the failing classes, and those that still fail then are stubborn


class Verdicts:
    """Judges classes that only ever grow, each of them once."""

    def __init__(self, problem: Problem, rounds: int = ROUNDS, progress: Progress = silent) -> None:
        self._problem, self._progress = replace(problem, axes=()), progress  # losses are not judged
        self._rounds = rounds
        self._size = np.zeros(problem.rows, dtype=np.int64)  # per first row of a class: its size when last judged
        self._fails = np.zeros(problem.rows, dtype=bool)

    def failing(self, labels: Ints) -> Bools:
        """Tell for each class whether to join it: whether it fails, while rounds are left."""
        self._progress(0.0)
        self._rounds -= 1
        return self.judged(labels) & (self._rounds >= 0)

    def judged(self, labels: Ints) -> Bools:
        """Tell for each class whether the problem does not admit it."""
        sizes, first = np.bincount(labels), np.empty(int(labels.max()) + 1, dtype=np.int64)
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        new = self._size[first] != sizes
        if new.any():
            rows = np.flatnonzero(new[labels])
            number = np.cumsum(new) - 1
            self._fails[first[new]] = ~self._problem.part(rows).admitted(number[labels[rows]])
            self._size[first] = sizes
        return np.asarray(self._fails[first])
