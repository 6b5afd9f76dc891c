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

import numpy as np

from tclose.partition.parts.cut import (
    SAMPLED,
    Cut,
    PartCounts,
    learn_cut,
    random_of_numbers,
    random_of_rows,
    repaired,
    sample_size,
    sensitive_codes,
)
from tclose.partition.parts.restart import GROUPS, restarted
from tclose.partition.problem import Problem, WholeTable
from tclose.partition.weave import EffortName, partition
from tclose.partition.weave.limits import SHARES, effort_for, effort_within
from tclose.partition.weave.search import chosen_share
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import with_leeway
from tclose.table.classes import Classes
from tclose.types import Bools, Ints, Progress, silent, stretch

__all__ = [
    "GROUPS",
    "Cut",
    "PartCounts",
    "cut_into_parts",
    "learn_cut",
    "partition_in_parts",
    "random_of_numbers",
    "random_of_rows",
    "repaired",
    "restarted",
    "sample_of",
    "sample_size",
    "share_of",
    "whole_of",
]

PART_ROWS = 60_000  # at least
CUT, WOVEN = 0.05, 0.8  # of the progress, when the rows are cut, and when every part is split


def whole_of(sample: Problem, effort: EffortName, total_rows: int, progress: Progress = silent) -> WholeTable:
    """Choose, once for all parts and on a sample, the share of t where weave would choose one for the whole table."""
    progress(0.0)
    plan = effort_for(effort, total_rows)
    if not plan.piloted:
        return WholeTable(total_rows)
    sensitive = tuple(map(with_leeway, sample.sensitive))
    table = WeaveTable.of(replace(sample, sensitive=sensitive), stretch(progress, 0.0, 0.0))
    return WholeTable(total_rows, chosen_share(table, plan.shares, progress))


def share_of(effort: EffortName | None, whole: WholeTable) -> float:
    """Return the share of t that a part may use up: the smallest that weave's cells may use up in such a table.

    Without an effort, another method splits the parts: they get the smallest share of all.
    """
    if effort is None:
        return min(SHARES)
    return min(effort_within(effort, whole).shares)


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
    choosing, cutting = (stretch(progress, *ends, "cutting the table") for ends in ((0.0, CUT / 2), (CUT / 2, CUT)))
    sample = sample_of(problem, part_rows=part_rows, sampled=sampled, seed=seed)
    whole = whole_of(sample, effort, problem.rows, choosing)
    share = share_of(effort, whole)
    parts = cut_into_parts(problem, part_rows=part_rows, sampled=sampled, share=share, seed=seed, progress=cutting)
    labels, classes, done, woven = np.empty(problem.rows, dtype=np.int64), 0, 0, WOVEN if restarts else 1.0
    for number in range(len(parts)):
        members = parts.members(number)
        low, high = (CUT + (woven - CUT) * rows / problem.rows for rows in (done, done + len(members)))
        part, weaving = problem.part(members), stretch(progress, low, high)
        made = partition(part, effort=effort, seed=seed + number, whole=whole, progress=weaving)
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
    sample = sample_of(problem, part_rows=part_rows, sampled=sampled, seed=seed)
    cut = learn_cut(
        sample,
        total_rows=problem.rows,
        part_rows=part_rows,
        sampled=sampled,
        share=share,
        seed=seed,
        progress=progress,
    )
    codes = sensitive_codes(problem)
    axes = np.stack([axis.codes for axis in problem.axes], axis=1)
    parts = cut.parts_of(axes, codes, random_of_rows(seed, 0, problem.rows))
    counts = PartCounts.of(parts, cut.parts, codes, [len(each.reference) for each in problem.sensitive])
    joined = repaired(cut, counts, problem.sensitive, problem.k, share, _have_persons(problem, cut, parts))
    return Classes.from_labels(cut.parts_in(joined)[parts])


def sample_of(problem: Problem, *, part_rows: int, sampled: int = SAMPLED, seed: int = 0) -> Problem:
    """Return random rows of a table, as many as it takes to cut it into parts of so many rows."""
    size = sample_size(problem.rows, part_rows, sampled)
    return problem.part(np.sort(np.random.default_rng(seed).choice(problem.rows, size, replace=False)))


def _have_persons(problem: Problem, cut: Cut, parts: Ints) -> Bools | None:
    """Tell, per node of a cut, whether its rows are of k persons; nothing where rows are counted."""
    if (persons := problem.repeated_persons) is None:
        return None
    found = [len(np.unique(persons[(first <= parts) & (parts < end)])) for first, end in cut.spans.tolist()]
    return np.array(found) >= problem.k
