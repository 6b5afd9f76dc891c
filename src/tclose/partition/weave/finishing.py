"""How a partition is finished: classes that the problem does not admit are merged until all are admitted."""

from __future__ import annotations

from functools import partial

import numpy as np

from tclose.distance import Counts
from tclose.partition.problem import Problem, persons_per_class
from tclose.partition.shared.dividing import merged_with_care
from tclose.partition.shared.merging import merged
from tclose.partition.shared.start import Finish
from tclose.types import Beat, Bools, Ints


def finisher(problem: Problem, beat: Beat) -> Finish:
    """Return what merges classes until the problem admits them.

    Where merging can break a model, a failing class joins a neighbour that mends it, or else one would break another.
    """
    if any(not model.merging_keeps for attribute in problem.sensitive for model in attribute.models):
        return lambda labels: merged_with_care(labels, problem.points, partial(_admitted, problem), beat)
    groups = np.zeros(problem.rows, dtype=np.int64)
    return lambda labels: merged(labels, groups, problem.points, lambda labels: ~problem.admitted(labels))


def _admitted(problem: Problem, classes: list[Ints]) -> Bools:
    """Judge classes, each given as its rows; they may share rows."""
    rows, labels = np.concatenate(classes), np.repeat(np.arange(len(classes)), [len(each) for each in classes])
    members = np.bincount(labels) if problem.persons is None else persons_per_class(labels, problem.persons[rows])
    admitted = members >= problem.k
    for attribute in problem.sensitive:
        admitted &= attribute.admits(Counts.from_codes(labels, attribute.codes[rows], len(attribute.reference)))
    return admitted
