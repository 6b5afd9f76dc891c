"""Tables in parts: weave on pieces of a table that is too large for one machine, or for one piece.

`learn_cut` learns, on a sample, rules that divide the table into parts (`cut.py`). The parts of all rows are counted
exactly, and parts that are not admitted are joined. weave then splits each part against the whole table's reference
counts, with the effort of the whole table. Everything works on codes, and on any number of rows at a time, so that
`run/parts/` can do it on disk or on a cluster.
"""

from __future__ import annotations

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
from tclose.partition.problem import Problem, WholeTable
from tclose.partition.weave.limits import SHARES, EffortName, effort_for, effort_within
from tclose.partition.weave.search import chosen_share
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import with_leeway
from tclose.table.classes import Classes
from tclose.types import Bools, Ints, Progress, silent, stretch

__all__ = [
    "Cut",
    "PartCounts",
    "cut_into_parts",
    "learn_cut",
    "random_of_numbers",
    "random_of_rows",
    "repaired",
    "sample_of",
    "sample_size",
    "share_of",
    "whole_of",
]


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
