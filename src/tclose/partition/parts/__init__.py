"""Tables in parts: weave on pieces of a table that is too large for one machine, or for one piece.

`learn_cut` learns, on a sample, rules that divide the table into parts (`cut.py`, `learning.py`). The parts of all rows
are counted exactly, and parts that are not admitted are joined (`counts.py`). weave then splits each part against the
whole table's reference counts, with the effort of the whole table. Restart passes regroup the classes (`restart.py`).
Everything works on codes, and on any number of rows at a time, so that an engine can do it on disk or on a cluster;
`partition_in_parts` does it in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tclose.partition.parts.counts import PartCounts, repaired
from tclose.partition.parts.cut import Cut, random_of_rows
from tclose.partition.parts.learning import SAMPLED, learn_cut, sample_size, sensitive_codes
from tclose.partition.parts.restart import GROUPS, restarted
from tclose.partition.problem import Problem
from tclose.partition.weave import EffortName, partition
from tclose.partition.weave.effort import effort_for
from tclose.table.classes import Classes
from tclose.types import Bools, Ints, Progress, silent, stretch

__all__ = [
    "GROUPS",
    "Cut",
    "PartCounts",
    "cut_into_parts",
    "learn_cut",
    "partition_in_parts",
    "random_of_rows",
    "repaired",
    "restarted",
    "sample_size",
    "share_of",
]

PART_ROWS = 60_000  # at least
CUT, WOVEN = 0.05, 0.8  # of the progress, when the rows are cut, and when every part is split


def share_of(effort: EffortName, total_rows: int) -> float:
    """Return the share of t that a part may use up: the smallest that weave's cells may use up in such a table."""
    return min(effort_for(effort, total_rows).shares)


def partition_in_parts(
    problem: Problem,
    *,
    part_rows: int = PART_ROWS,
    sampled: int = SAMPLED,
    effort: EffortName = "balanced",
    restarts: Sequence[int] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: weave's classes of each part, then one restart pass for each size of groups."""
    problem.check_feasible()
    share = share_of(effort, problem.rows)
    cutting = stretch(progress, 0.0, CUT, "cutting the table")
    parts = cut_into_parts(problem, part_rows=part_rows, sampled=sampled, share=share, seed=seed, progress=cutting)
    labels, classes, done, woven = np.empty(problem.rows, dtype=np.int64), 0, 0, WOVEN if restarts else 1.0
    for number in range(len(parts)):
        members = parts.members(number)
        low, high = (CUT + (woven - CUT) * rows / problem.rows for rows in (done, done + len(members)))
        common: Any = {"effort": effort, "seed": seed + number, "total_rows": problem.rows}
        made = partition(problem.part(members), **common, progress=stretch(progress, low, high))
        labels[members] = classes + made
        classes, done = classes + int(made.max()) + 1, done + len(members)
    if restarts:
        last = stretch(progress, woven, 1.0)
        labels = restarted(problem, labels, restarts, effort=effort, seed=seed, progress=last)
    progress(1.0)
    return labels


def cut_into_parts(
    problem: Problem,
    *,
    part_rows: int,
    sampled: int = SAMPLED,
    share: float,
    seed: int = 0,
    progress: Progress = silent,
) -> Classes:
    """Return the rows of each part; every part is admitted, within a share of t, unless all rows are one part."""
    problem = replace(problem, axes=problem.all_axes)
    size = sample_size(problem.rows, part_rows, sampled)
    chosen = np.sort(np.random.default_rng(seed).choice(problem.rows, size, replace=False))
    asked: dict[str, Any] = {"total_rows": problem.rows, "part_rows": part_rows, "sampled": sampled, "share": share}
    cut = learn_cut(problem.part(chosen), **asked, seed=seed, progress=progress)
    codes = sensitive_codes(problem)
    axes = np.stack([axis.codes for axis in problem.axes], axis=1)
    parts = cut.parts_of(axes, codes, random_of_rows(seed, 0, problem.rows))
    counts = PartCounts.of(parts, cut.parts, codes, [len(each.reference) for each in problem.sensitive])
    joined = repaired(cut, counts, problem.sensitive, problem.k, share, _have_persons(problem, cut, parts))
    return Classes.from_labels(cut.parts_in(joined)[parts])


def _have_persons(problem: Problem, cut: Cut, parts: Ints) -> Bools | None:
    """Tell, per node of a cut, whether its rows are of k persons; nothing where rows are counted."""
    if (persons := problem.repeated_persons) is None:
        return None
    found = [len(np.unique(persons[(first <= parts) & (parts < end)])) for first, end in cut.spans.tolist()]
    return np.array(found) >= problem.k
