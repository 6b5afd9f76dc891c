"""SABRE (Cao, Karras, Kalnis & Tan, The VLDB Journal 20, 2011): buckets of sensitive values, shared out evenly.

Bucketisation splits the sensitive values greedily until a class that takes its share of every bucket must be within
t. The ECTree halves the table as long as the slack allows what halving odd numbers costs. Redistribution fills each
class with near rows of each bucket, by a Hilbert curve (the paper's SABRE-AK) or by distance (its SABRE-KNN).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tclose.errors import Unsuited
from tclose.partition.problem import Problem, Sensitive
from tclose.partition.sabre.buckets import bucketize, ground_of
from tclose.partition.sabre.slack import Slack
from tclose.partition.shared.redistribution import Near, check_near, filled, leaves
from tclose.types import Ints

__all__ = ["partition"]

Progress = Callable[[float], None]


def partition(problem: Problem, *, near: Near = "hilbert", seed: int = 0, progress: Progress | None = None) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within t and has at least k rows."""
    check_near(near)
    if len(problem.sensitive) != 1:
        raise Unsuited(f"sabre serves one sensitive attribute, not {len(problem.sensitive)}")
    problem.check_feasible()
    one = problem.sensitive[0]
    slack = bound(one)
    takes = leaves(slack.sizes, slack.admits, problem.k)
    return filled(problem.points, bucket_of_row(one.codes, slack.buckets), takes, near, seed, progress or _silent)


def bound(one: Sensitive) -> Slack:
    """Return the buckets, and what a class may take from them."""
    here, room = one.here, _room(one)
    ground = ground_of(one.distance, here)
    buckets = bucketize(ground, len(one.codes), room)
    return Slack(ground, buckets, np.array([here[values].sum() for values in buckets]), room)


def bucket_of_row(codes: Ints, buckets: list[Ints]) -> Ints:
    """Return the bucket that holds each row's value."""
    bucket = np.zeros(max(int(values.max()) for values in buckets) + 1, dtype=np.int64)
    for number, values in enumerate(buckets):
        bucket[values] = number
    return bucket[codes]


def _room(one: Sensitive) -> Fraction:
    """Return how far a class may be from the rows at hand, which may be some way from the table themselves."""
    if one.t is None or one.t == 1:
        return Fraction(1)
    return one.t - one.emd_of(one.codes, one.reference)


def _silent(done: float) -> None:
    pass
