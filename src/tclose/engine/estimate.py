"""Estimate the smallest t that keeps detail, for a release that lost everything: `fast` weave on a sample of rows.

Every t is multiplied by one factor, so that the attributes keep their proportions. The number of trials and the rows of
the sample are fixed, and weave's budget is steps: the same table gives the same estimate on any machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tclose.engine.compiling import announced
from tclose.errors import Infeasible
from tclose.measure.lost import KEPT, LevelEstimate, LostDetail
from tclose.measure.utility import gcp
from tclose.policy import Policy
from tclose.policy.derived import projection_policy, with_levels
from tclose.privacy.feasibility import publishable
from tclose.release.lost import lost_tables
from tclose.release.published import ReleaseInput, partition_of
from tclose.release.release import PreparedRelease
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Progress, silent, stretch

SAMPLE = 10_000  # rows
PLACES = 64  # factors that can be found, in equal proportions from 1 to the factor that makes every t = 1
TRIALS = 1 + int(math.log2(PLACES))
LEAST = Fraction(1, 10**6)  # stands for a smaller t: no factor makes t = 0 larger
METHOD, OPTIONS, SEED = "weave", {"effort": "fast"}, 0
PHASE = "estimating a t that keeps detail"


def losses_with_estimates(
    prepared: PreparedRelease, original: CodedTable, progress: Progress = silent
) -> tuple[LostDetail, ...]:
    """Return the tables of a release that lost everything, each with the t that would keep detail."""
    return tuple(
        replace(loss, estimate=_estimate_of(loss, prepared, original, progress))
        for loss in lost_tables(prepared.layout, prepared.about.withheld)
    )


def _estimate_of(
    loss: LostDetail, prepared: PreparedRelease, original: CodedTable, progress: Progress
) -> LevelEstimate | None:
    """Estimate for one table, which has some of the sensitive attributes; not where t is not what cost the detail."""
    if loss.withheld_most or not loss.linked:
        return None
    table = prepared.layout.tables[(loss.table or 1) - 1]
    policy = projection_policy(prepared.policy, table.judge.policy.sensitive, first=True)
    return estimate(original.under(policy), policy, progress)


def estimate(table: CodedTable, policy: Policy, progress: Progress = silent) -> LevelEstimate | None:
    """Search for the smallest factor by which every t keeps detail on a sample; None where the policy has no t."""
    if all(spec.t is None for spec in policy.required.values()):
        return None
    rows = np.random.default_rng(SEED).choice(len(table), min(SAMPLE, len(table)), replace=False)
    sample, tried = replace(table.only(np.sort(rows)), withheld=0), 0  # no t brings back rows that lack a value
    policy = replace(policy, k=math.ceil(policy.k * len(sample) / len(table)))  # as large a share of the rows
    with announced(progress, METHOD, OPTIONS) as announcing:

        def kept_at(place: int) -> float:
            nonlocal tried
            part = stretch(announcing, tried / TRIALS, (tried + 1) / TRIALS, PHASE, only=True)
            tried += 1
            return _kept(sample, with_levels(policy, levels_at(policy, place)), part)

        low, high, kept = 0, PLACES, kept_at(PLACES)
        if kept < KEPT:
            return LevelEstimate(None, kept, len(sample), len(table))
        while high - low > 1:
            middle = (low + high) // 2
            if (share := kept_at(middle)) >= KEPT:
                high, kept = middle, share
            else:
                low = middle
    return LevelEstimate(levels_at(policy, high), kept, len(sample), len(table))


def levels_at(policy: Policy, place: int) -> dict[str, Fraction]:
    """Return every t of a policy, multiplied by the factor at a place and rounded up to two digits; at most 1."""
    levels = {name: max(spec.t, LEAST) for name, spec in policy.required.items() if spec.t is not None}
    factor = float(1 / min(levels.values())) ** (place / PLACES)
    return {name: min(_two_digits(float(t) * factor), Fraction(1)) for name, t in levels.items()}


def _two_digits(level: float) -> Fraction:
    """Round up to two digits that count; what is a little above them is not rounded up.

    >>> _two_digits(0.1234), _two_digits(0.0201)
    (Fraction(13, 100), Fraction(21, 1000))
    """
    unit = Fraction(10) ** (math.floor(math.log10(level)) - 1)
    return math.ceil(Fraction(level) / unit - Fraction(1, 10**9)) * unit


def _kept(sample: CodedTable, policy: Policy, progress: Progress) -> float:
    """Return the share of detail that weave keeps on a sample; nothing where the sample cannot be published."""
    try:
        given = ReleaseInput(publishable(sample.under(policy), policy), policy, SEED, progress)
        classes = Classes.from_labels(given.split(METHOD, OPTIONS).labels)
    except Infeasible:
        return 0.0
    return 1 - gcp(partition_of(given, classes))
