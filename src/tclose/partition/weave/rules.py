"""How many rows a class is away from keeping the rule of an attribute's further models.

α, β and δ limit each value's share of a class; distinct l, entropy l, recursive (c,l) and KL divergence look at all
values together.
Merging two classes that keep a rule gives a class that keeps it.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import part
from tclose.partition.weave.limits import Limits
from tclose.privacy.rule import NEAR
from tclose.types import SmallInts


@part
def share_breach(limits: Limits, e: int, count: int, size: int) -> int:
    """Return how many rows of one value a class has too many or too few."""
    share = limits.shares[e]
    over = count - share.most * size // share.most_per
    under = -(-share.least * size // share.least_per) - count
    breach = 0
    if over > 0:
        breach += over
    if under > 0:
        breach += under
    return breach


@part
def rule_breach(limits: Limits, counts: SmallInts, c: int, size: int, a: int) -> int:
    """Return by how many rows, roughly, a class breaks the rule of an attribute; 0 exactly where it keeps the rule."""
    attribute = limits.attributes[a]
    breach, different, spread = 0, 0, 0.0
    for e in range(attribute.edge, attribute.edge_end):
        count = int(counts[c, e])
        breach += share_breach(limits, e, count, size)
        if count > 0:
            different += 1
        if attribute.entropy > 0 and count > 1:
            spread += count * np.log(count)
    if different < attribute.distinct:
        breach += attribute.distinct - different
    if attribute.entropy > 0:
        missing = size * (attribute.entropy - NEAR - np.log(size if size > 1 else 1)) + spread
        if missing > 0:
            breach += 1 + int(missing)
    if attribute.kl < np.inf:
        breach += _divergence_breach(limits, counts, c, size, a)
    if attribute.l > 0:
        breach += _recursive_breach(limits, counts, c, size, a)
    return breach


@part
def _divergence_breach(limits: Limits, counts: SmallInts, c: int, size: int, a: int) -> int:
    """Return by how many nats of all its rows a class passes the largest divergence; the line itself is allowed."""
    attribute, beyond = limits.attributes[a], 0.0
    of_class = np.log(size if size > 1 else 1)
    for e in range(attribute.edge, attribute.edge_end):
        count = int(counts[c, e])
        if count > 0:
            beyond += count * (np.log(count) - of_class + limits.shares[e].surprisal)
    beyond -= size * (attribute.kl + NEAR)
    return 1 + int(beyond) if beyond > 0 else 0


@part
def _recursive_breach(limits: Limits, counts: SmallInts, c: int, size: int, a: int) -> int:
    """Return by how many rows the commonest value reaches c times all values but the l−1 commonest."""
    attribute = limits.attributes[a]
    largest, tail, taken, bound = 0, size, 0, size + 1
    while taken < attribute.l - 1:
        next_largest, ties = 0, 0
        for e in range(attribute.edge, attribute.edge_end):
            count = int(counts[c, e])
            if next_largest < count < bound:
                next_largest = count
                ties = 0
            if count == next_largest:
                ties += 1
        if next_largest == 0:
            return 1 + size
        if taken == 0:
            largest = next_largest
        wanted = attribute.l - 1 - taken
        tail -= next_largest * (ties if ties < wanted else wanted)
        taken += ties
        bound = next_largest
    if attribute.l == 1:
        for e in range(attribute.edge, attribute.edge_end):
            if counts[c, e] > largest:
                largest = int(counts[c, e])
    breach = (attribute.c_per * largest - attribute.c * tail) // attribute.c_per + 1
    return breach if breach > 0 else 0
