"""Sizing as printed (001, section 3.2): the number of classes is a common divisor of the fragments' sizes."""

from __future__ import annotations

from math import gcd

import numpy as np

from tclose.partition.fragmentation.attribute import SpreadAttribute, judged
from tclose.partition.fragmentation.boxes import Box, BoxSearch, find_fragmentation
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.strategy import Strategy
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import Pulse
from tclose.types import Ints


def common_divisor(sizes: list[int], k: int = 1) -> int:
    """Return the largest number of equal classes of at least k rows that these fragments allow.

    >>> common_divisor([250, 100, 350, 300]), common_divisor([250, 100, 350, 301])
    (50, 1)
    """
    rows, most = sum(sizes), gcd(*sizes)
    return max((d for d in range(1, most + 1) if most % d == 0 and rows // d >= k), default=1)


def as_printed(problem: Problem, bound: str, strategy: Strategy, pulse: Pulse) -> Plan | None:
    """Return the plan of the first acceptable fragmentation, or None for one class of all rows.

    Cutting further never raises the common divisor, so the search ends as soon as that is 1.
    """
    attributes = judged(problem, bound)
    if not attributes:
        return plan_of([np.arange(problem.rows)], problem)
    search = BoxSearch(attributes)
    boxes = find_fragmentation(
        search, [attribute.t - attribute.apart for attribute in attributes], strategy, _hopeless, pulse
    )
    return plan_of([box.rows for box in boxes if len(box.rows)], problem) if boxes else None


def finest(problem: Problem, attributes: tuple[SpreadAttribute, ...]) -> Plan | None:
    """Return the plan of ⊥, one fragment per combination of values: exact, whatever t is."""
    if gcd(*(int(count) for attribute in attributes for count in attribute.row_counts)) == 1:
        return None
    codes = np.stack([attribute.codes for attribute in attributes], axis=1)
    _, fragments = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(fragments, kind="stable")
    return plan_of(np.split(order, np.flatnonzero(np.diff(fragments[order])) + 1), problem)


def plan_of(fragments: list[Ints], problem: Problem) -> Plan | None:
    """Return the plan in which every class takes the same share of each fragment."""
    sizes = [len(rows) for rows in fragments]
    classes = common_divisor(sizes, problem.k)
    labels = np.empty(problem.rows, dtype=np.int64)
    for index, rows in enumerate(fragments):
        labels[rows] = index
    return Plan(labels, np.array(sizes) // classes, classes) if classes > 1 else None


def _hopeless(boxes: list[Box]) -> bool:
    return gcd(*(len(box.rows) for box in boxes)) == 1
