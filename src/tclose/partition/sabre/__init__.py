"""SABRE (Cao, Karras, Kalnis & Tan, The VLDB Journal 20, 2011): buckets of sensitive values, shared out evenly.

Bucketisation splits the sensitive values greedily until a class that takes its share of every bucket must be within
t. The ECTree halves the table as long as the slack allows what halving odd numbers costs. Redistribution fills each
class with near rows of each bucket, by a Hilbert curve (the paper's SABRE-AK) or by distance (its SABRE-KNN).
As printed, the first buckets within t are taken, which may leave the tree no slack; `slack` keeps a share of t for it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.errors import PolicyError, Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.sabre.bucketization import bucketize, ground_of
from tclose.partition.sabre.slack import Slack
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.partition.shared.redistribution import Near, check_near, filled, leaves
from tclose.types import Ints, Progress, silent

__all__ = ["partition"]

NO_SLACK = Fraction(0)


def partition(
    problem: Problem, *, near: Near = "hilbert", slack: Fraction = NO_SLACK, seed: int = 0, progress: Progress = silent
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within t and has at least k rows.

    Buckets are split until they use at most 1 − `slack` of t. The paper has no such share: its slack is what is left.
    """
    check_near(near)
    if not 0 <= slack < 1:
        raise PolicyError("slack is the share of t that buckets leave: a number from 0 to below 1")
    if len(problem.sensitive) != 1:
        raise Unsuited(f"sabre serves one sensitive attribute, not {len(problem.sensitive)}")
    problem.check_feasible()
    attribute = problem.sensitive[0]
    pulse = Pulse(progress)
    allowed = bound(attribute, slack, pulse)
    takes = leaves(allowed.sizes, allowed.admits, problem.k, pulse)
    return filled(problem.points, bucket_of_row(attribute.codes, allowed.buckets), takes, near, seed, pulse)


def bound(attribute: Attribute, slack: Fraction = NO_SLACK, pulse: Pulse = QUIET) -> Slack:
    """Return the buckets, and what a class may take from them."""
    counts, room = attribute.row_counts, _room(attribute)
    ground = ground_of(attribute.distance, counts)
    buckets = bucketize(ground, len(attribute.codes), room * (1 - Fraction(slack)), pulse)
    return Slack(ground, buckets, np.array([counts[values].sum() for values in buckets]), room)


def bucket_of_row(codes: Ints, buckets: list[Ints]) -> Ints:
    """Return the bucket that holds each row's value."""
    bucket = np.zeros(max(int(values.max()) for values in buckets) + 1, dtype=np.int64)
    for number, values in enumerate(buckets):
        bucket[values] = number
    return bucket[codes]


def _room(attribute: Attribute) -> Fraction:
    """Return how far a class may be from the rows at hand, which may be some way from the table themselves."""
    if attribute.t is None or attribute.t == 1:
        return Fraction(1)
    return attribute.t - attribute.emd_of(attribute.codes, attribute.reference)
