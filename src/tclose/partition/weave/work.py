"""The earth mover's distance of a class, or how far it breaks a rule, as one integer; one row more or less at once."""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.partition.weave.aims import PATH, RULE, SAFE, Aims
from tclose.partition.weave.rules import broken, outside
from tclose.types import Floats, SmallInts


@kernel
def count(aims: Aims, counts: SmallInts, row: int, sign: int) -> None:
    """Add a row to the counts of a class, or take it away."""
    for a in range(len(aims.kinds)):
        x = aims.codes[row, a]
        if aims.kinds[a] == PATH:
            for e in range(aims.edge[a] + x, aims.edge[a + 1]):
                counts[e] += sign
        else:
            for h in range(aims.depth[a]):
                counts[aims.above[aims.up[a] + x * aims.depth[a] + h]] += sign


@kernel
def work_of(aims: Aims, counts: SmallInts, size: int, a: int) -> int:
    """Return the work of a class on one attribute."""
    if aims.kinds[a] == RULE:
        return broken(aims.rules, counts, size, a, aims.edge[a], aims.edge[a + 1])
    work = np.int64(0)
    total = aims.total[a]
    for e in range(aims.edge[a], aims.edge[a + 1]):
        work += aims.weight[e] * abs(total * counts[e] - size * aims.reference[e])
    return int(work)


@kernel
def limit(aims: Aims, size: int, a: int) -> int:
    """Return the most work that a class of this size may have."""
    if size >= aims.free[a]:
        return SAFE
    return int(aims.allowed[a] * size // aims.per[a])


@kernel
def admitted(aims: Aims, counts: SmallInts, size: int) -> bool:
    """Tell whether a class is within every t."""
    passes = True
    for a in range(len(aims.kinds)):
        passes = passes and work_of(aims, counts, size, a) <= limit(aims, size, a)
    return passes


@kernel
def smallest_class(aims: Aims, k: int, most: int) -> int:
    """Return the smallest size from k up that a class could have, `most` where none below it could.

    A class has a whole number C of rows beyond each edge, so its work there is at least what |N·C − s·R| comes to for
    the best C.
    """
    for size in range(k, most):
        possible = True
        for a in range(len(aims.kinds)):
            if aims.kinds[a] == RULE:
                continue
            total, work, room = aims.total[a], 0, limit(aims, size, a)
            for e in range(aims.edge[a], aims.edge[a + 1]):
                over = size * aims.reference[e] % total
                work += aims.weight[e] * min(over, total - over)
                if work > room:
                    possible = False
                    break
        if possible:
            return size
    return most


@kernel
def swapped_work(aims: Aims, counts: SmallInts, size: int, work: int, a: int, gone: int, new: int) -> int:
    """Return the work of a class in which one value takes another's place."""
    if gone == new:
        return work
    total = aims.total[a]
    if aims.kinds[a] == PATH:
        sign = 1 if new < gone else -1
        for e in range(aims.edge[a] + min(gone, new), aims.edge[a] + max(gone, new)):
            extra = total * counts[e] - size * aims.reference[e]
            work += aims.weight[e] * (abs(extra + sign * total) - abs(extra))
        return int(work)
    if aims.kinds[a] == RULE:
        first = aims.edge[a]
        counts[first + gone] -= 1
        counts[first + new] += 1
        work = work_of(aims, counts, size, a)
        counts[first + gone] += 1
        counts[first + new] -= 1
        return work
    for h in range(aims.depth[a]):
        out = aims.above[aims.up[a] + gone * aims.depth[a] + h]
        into = aims.above[aims.up[a] + new * aims.depth[a] + h]
        if out != into:
            extra = total * counts[out] - size * aims.reference[out]
            work += aims.weight[out] * (abs(extra - total) - abs(extra))
            extra = total * counts[into] - size * aims.reference[into]
            work += aims.weight[into] * (abs(extra + total) - abs(extra))
    return int(work)


@kernel
def moved_work(aims: Aims, counts: SmallInts, size: int, a: int, value: int, sign: int) -> int:
    """Return the work of a class that gains (sign 1) or loses (-1) a row with this value."""
    total, size = aims.total[a], size + sign
    work = np.int64(0)
    first, last = aims.edge[a], aims.edge[a + 1]
    if aims.kinds[a] == PATH:
        for e in range(first, first + value):
            work += aims.weight[e] * abs(total * counts[e] - size * aims.reference[e])
        for e in range(first + value, last):
            work += aims.weight[e] * abs(total * (counts[e] + sign) - size * aims.reference[e])
        return int(work)
    if aims.kinds[a] == RULE:
        counts[first + value] += sign
        rows = work_of(aims, counts, size, a)
        counts[first + value] -= sign
        return rows
    for e in range(first, last):
        work += aims.weight[e] * abs(total * counts[e] - size * aims.reference[e])
    for h in range(aims.depth[a]):
        e = aims.above[aims.up[a] + value * aims.depth[a] + h]
        extra = total * counts[e] - size * aims.reference[e]
        work += aims.weight[e] * (abs(extra + sign * total) - abs(extra))
    return int(work)


@kernel
def excess(aims: Aims, counts: SmallInts, size: int, sign: int, share: float, found: Floats) -> None:
    """Add to `found`, per value, how many rows' worth of work a class is beyond `share` of t with one row more or less.

    One pass per attribute gives the answer for all of its values.
    """
    size = size + sign
    for a in range(len(aims.kinds)):
        total, first, last = aims.total[a], aims.edge[a], aims.edge[a + 1]
        room = share * (aims.allowed[a] / aims.per[a]) * size
        values = aims.value[a + 1] - aims.value[a]
        work = np.int64(0)
        if aims.kinds[a] == RULE:
            _rule_excess(aims, counts, size, sign, a, found)
            continue
        if size >= aims.free[a]:
            continue
        if aims.kinds[a] == PATH:
            for e in range(first, last):
                work += aims.weight[e] * abs(total * (counts[e] + sign) - size * aims.reference[e])
            for v in range(values):
                found[aims.value[a] + v] += max(0.0, work - room) / aims.scale[a]
                if v < values - 1:
                    extra = total * counts[first + v] - size * aims.reference[first + v]
                    work += aims.weight[first + v] * (abs(extra) - abs(extra + sign * total))
            continue
        for e in range(first, last):
            work += aims.weight[e] * abs(total * counts[e] - size * aims.reference[e])
        for v in range(values):
            here = work
            for h in range(aims.depth[a]):
                e = aims.above[aims.up[a] + v * aims.depth[a] + h]
                extra = total * counts[e] - size * aims.reference[e]
                here += aims.weight[e] * (abs(extra + sign * total) - abs(extra))
            found[aims.value[a] + v] += max(0.0, here - room) / aims.scale[a]


@kernel
def _rule_excess(aims: Aims, counts: SmallInts, size: int, sign: int, a: int, found: Floats) -> None:
    """Add to `found`, per value, about how many rows a class is from keeping its rules with one row more or less."""
    first, last = aims.edge[a], aims.edge[a + 1]
    work = work_of(aims, counts, size, a)
    for e in range(first, last):
        after = counts[e] + sign
        here = work + outside(aims.rules, e, after, size) - outside(aims.rules, e, counts[e], size)
        if work > 0 and (counts[e] == 0 or after == 0):
            here -= sign  # another value, or one less
        found[aims.value[a] + e - first] += max(here, 0)
