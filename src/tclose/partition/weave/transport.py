"""The transport work of a class on every limit, as one integer, and what one row more, less or exchanged makes of it.

`counts[c, e]` holds the rows of class c beyond edge e.
"""

from __future__ import annotations

from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import SAFE, Limits
from tclose.partition.weave.rules import rule_breach, share_breach
from tclose.partition.weave.trees import DISTANCE, GUARDED, RULE
from tclose.types import Floats, Ints, SmallInts


@part
def count_row(limits: Limits, counts: SmallInts, c: int, row: int, sign: int) -> None:
    """Add a row to the counts of a class (sign 1), or take it away (-1)."""
    for a in range(len(limits.attributes)):
        attribute = limits.attributes[a]
        x = int(limits.codes[row, a])
        for e in range(attribute.edge + x, attribute.path_end):
            counts[c, e] += sign
        first = attribute.above + x * attribute.depth
        for i in range(first, first + attribute.depth):
            counts[c, limits.above[i]] += sign


@part
def _count_value(limits: Limits, counts: SmallInts, c: int, a: int, value: int, sign: int) -> None:
    """Add a row with a value to the counts of a class on one limit (sign 1), or take it away (-1); -1 for no value."""
    if value < 0:
        return
    attribute = limits.attributes[a]
    for e in range(attribute.edge + value, attribute.path_end):
        counts[c, e] += sign
    first = attribute.above + value * attribute.depth
    for i in range(first, first + attribute.depth):
        counts[c, limits.above[i]] += sign


@part
def count_exchange(limits: Limits, counts: SmallInts, c: int, leaving: int, joining: int) -> None:
    """Take one row out of the counts of a class and put another in."""
    for a in range(len(limits.attributes)):
        attribute = limits.attributes[a]
        old, new = int(limits.codes[leaving, a]), int(limits.codes[joining, a])
        if old == new:
            continue
        low, high, change = old, new, -1
        if new < old:
            low, high, change = new, old, 1
        end = attribute.edge + high
        for e in range(attribute.edge + low, end if end < attribute.path_end else attribute.path_end):
            counts[c, e] += change
        first, second = attribute.above + old * attribute.depth, attribute.above + new * attribute.depth
        for h in range(attribute.depth):
            counts[c, limits.above[first + h]] -= 1
            counts[c, limits.above[second + h]] += 1


@part
def count_beyond_edges(limits: Limits, values: Ints, counts: SmallInts, c: int) -> None:
    """Turn the counts per value of a class into its counts beyond each edge."""
    for e in range(counts.shape[1]):
        counts[c, e] = 0
    for a in range(len(limits.attributes)):
        attribute = limits.attributes[a]
        running = 0
        for v in range(attribute.values):
            count = values[c, attribute.value + v]
            running += count
            if attribute.edge + v < attribute.path_end:
                counts[c, attribute.edge + v] = running
            first = attribute.above + v * attribute.depth
            for i in range(first, first + attribute.depth):
                counts[c, limits.above[i]] += count


@part
def class_work(limits: Limits, counts: SmallInts, c: int, size: int, a: int) -> int:
    """Return the work of a class of this size on one limit."""
    attribute = limits.attributes[a]
    if attribute.kind == RULE:
        return rule_breach(limits, counts, c, size, a)
    if attribute.kind == GUARDED and counts[c, attribute.guard] == 0:
        return 0
    return _tree_work(limits, counts, c, size, a)


@part
def _tree_work(limits: Limits, counts: SmallInts, c: int, size: int, a: int) -> int:
    attribute, edges = limits.attributes[a], limits.edges
    total, work = attribute.total, 0
    for e in range(attribute.edge, attribute.edge_end):
        work += edges[e].weight * abs(total * counts[c, e] - size * edges[e].reference)
    return work


@part
def allowed_work(limits: Limits, size: int, a: int) -> int:
    """Return the most work that a class of this size may have on one limit."""
    attribute = limits.attributes[a]
    if size >= attribute.free_size:
        return SAFE
    return int(attribute.allowed * size // attribute.allowed_per)


@part
def within_limits(limits: Limits, counts: SmallInts, c: int, size: int) -> bool:
    """Tell whether a class is within every limit."""
    for a in range(len(limits.attributes)):
        if class_work(limits, counts, c, size, a) > allowed_work(limits, size, a):
            return False
    return True


@kernel
def smallest_class_size(limits: Limits, k: int, end: int, stop: Flag) -> int:
    """Return the smallest size from k up that a class within all limits can have; `end` if no smaller size can.

    A class has a whole number C of rows beyond each edge, so its work there is at least |N·C − s·R| for the best C.
    """
    for size in range(k, end):
        possible = True
        for a in range(len(limits.attributes)):
            possible = possible and _possible_size(limits, size, a)
        if possible or raised(stop):
            return size
    return end


@part
def _possible_size(limits: Limits, size: int, a: int) -> bool:
    attribute, edges = limits.attributes[a], limits.edges
    if attribute.kind != DISTANCE:
        return True
    total, work, allowed = attribute.total, 0, allowed_work(limits, size, a)
    for e in range(attribute.edge, attribute.edge_end):
        over = size * edges[e].reference % total
        work += edges[e].weight * (over if over < total - over else total - over)
        if work > allowed:
            return False
    return True


@part
def work_after_exchange(
    limits: Limits, counts: SmallInts, c: int, size: int, work: int, a: int, leaving: int, joining: int
) -> int:
    """Return the work of a class with this work now, after a row with one value leaves and one with another joins."""
    attribute, edges = limits.attributes[a], limits.edges
    total = attribute.total
    if attribute.kind == RULE:
        return _breach_after(limits, counts, c, size, a, leaving, joining)
    if attribute.kind == GUARDED:
        return _guarded_work_after(limits, counts, c, size, a, leaving, joining)
    low, high, change = leaving, joining, -total
    if joining < leaving:
        low, high, change = joining, leaving, total
    end = attribute.edge + high
    for e in range(attribute.edge + low, end if end < attribute.path_end else attribute.path_end):
        extra = total * counts[c, e] - size * edges[e].reference
        work += edges[e].weight * (abs(extra + change) - abs(extra))
    first, second = attribute.above + leaving * attribute.depth, attribute.above + joining * attribute.depth
    for h in range(attribute.depth):
        e, f = int(limits.above[first + h]), int(limits.above[second + h])
        if e != f:
            work += _added_work(limits, counts, c, size, total, e, -1) + _added_work(
                limits, counts, c, size, total, f, 1
            )
    return work


@part
def _added_work(limits: Limits, counts: SmallInts, c: int, size: int, total: int, e: int, sign: int) -> int:
    """Return the work that one row more (sign 1) or less (-1) beyond an edge adds, at the same size."""
    edge = limits.edges[e]
    extra = total * counts[c, e] - size * edge.reference
    return int(edge.weight * (abs(extra + sign * total) - abs(extra)))


@part
def _breach_after(limits: Limits, counts: SmallInts, c: int, size: int, a: int, leaving: int, joining: int) -> int:
    """Return by how many rows a class breaks a rule after one value leaves and another joins; -1 for none."""
    first = limits.attributes[a].edge
    if leaving >= 0:
        counts[c, first + leaving] -= 1
    if joining >= 0:
        counts[c, first + joining] += 1
    breach = rule_breach(limits, counts, c, size, a)
    if leaving >= 0:
        counts[c, first + leaving] += 1
    if joining >= 0:
        counts[c, first + joining] -= 1
    return breach


@part
def _guarded_work_after(
    limits: Limits, counts: SmallInts, c: int, size: int, a: int, leaving: int, joining: int
) -> int:
    """Return the work of a class on the threshold of a group after one value leaves and another joins; -1 for none."""
    _count_value(limits, counts, c, a, leaving, -1)
    _count_value(limits, counts, c, a, joining, 1)
    work = class_work(limits, counts, c, size, a)
    _count_value(limits, counts, c, a, leaving, 1)
    _count_value(limits, counts, c, a, joining, -1)
    return work


@part
def work_after_move(limits: Limits, counts: SmallInts, c: int, size: int, a: int, value: int, sign: int) -> int:
    """Return the work of a class that gains (sign 1) or loses (-1) a row with this value."""
    attribute, edges = limits.attributes[a], limits.edges
    total, size, work = attribute.total, size + sign, 0
    if attribute.kind == RULE:
        if sign > 0:
            return _breach_after(limits, counts, c, size, a, -1, value)
        return _breach_after(limits, counts, c, size, a, value, -1)
    if attribute.kind == GUARDED:
        return _guarded_work_after(limits, counts, c, size, a, -1 if sign > 0 else value, value if sign > 0 else -1)
    middle = attribute.edge + value if attribute.edge + value < attribute.path_end else attribute.path_end
    for e in range(attribute.edge, middle):
        work += edges[e].weight * abs(total * counts[c, e] - size * edges[e].reference)
    for e in range(middle, attribute.path_end):
        work += edges[e].weight * abs(total * (counts[c, e] + sign) - size * edges[e].reference)
    for e in range(attribute.path_end, attribute.edge_end):
        work += edges[e].weight * abs(total * counts[c, e] - size * edges[e].reference)
    first = attribute.above + value * attribute.depth
    for i in range(first, first + attribute.depth):
        work += _added_work(limits, counts, c, size, total, int(limits.above[i]), sign)
    return work


@part
def add_excess(limits: Limits, counts: SmallInts, c: int, size: int, sign: int, share: float, excess: Floats) -> None:
    """Add, per value, the work beyond `share` of t that a class has with one row of that value more or less.

    The work is counted in rows. One pass per limit answers for all values.
    """
    size = size + sign
    for a in range(len(limits.attributes)):
        attribute = limits.attributes[a]
        if attribute.kind == RULE:
            _add_rule_excess(limits, counts, c, size, sign, a, excess)
        elif size < attribute.free_size:
            room = share * (attribute.allowed / attribute.allowed_per) * size
            _add_distance_excess(limits, counts, c, size, sign, a, room, excess)


@part
def _add_distance_excess(
    limits: Limits, counts: SmallInts, c: int, size: int, sign: int, a: int, room: float, excess: Floats
) -> None:
    attribute, edges = limits.attributes[a], limits.edges
    total, first_edge, work = attribute.total, attribute.edge, 0
    for e in range(first_edge, attribute.path_end):
        work += edges[e].weight * abs(total * (counts[c, e] + sign) - size * edges[e].reference)
    for e in range(attribute.path_end, attribute.edge_end):
        work += edges[e].weight * abs(total * counts[c, e] - size * edges[e].reference)
    guarded = int(counts[c, attribute.guard]) if attribute.kind == GUARDED else size
    for v in range(attribute.values):
        changed, first = work, attribute.above + v * attribute.depth
        for i in range(first, first + attribute.depth):
            changed += _added_work(limits, counts, c, size, total, int(limits.above[i]), sign)
        if attribute.kind == GUARDED and guarded + sign * (v % 2) == 0:
            changed = 0  # values of the group are odd, and none of its rows is in the class
        if changed > room:
            excess[attribute.value + v] += (changed - room) / attribute.scale
        e = first_edge + v
        if e < attribute.path_end:
            extra = total * counts[c, e] - size * edges[e].reference
            work += edges[e].weight * (abs(extra) - abs(extra + sign * total))


@part
def _add_rule_excess(limits: Limits, counts: SmallInts, c: int, size: int, sign: int, a: int, excess: Floats) -> None:
    """Add, per value, roughly how many rows a class is away from keeping a rule with one row more or less."""
    attribute = limits.attributes[a]
    breach = rule_breach(limits, counts, c, size, a)
    for e in range(attribute.edge, attribute.edge_end):
        before = int(counts[c, e])
        after = before + sign
        changed = breach + share_breach(limits, e, after, size) - share_breach(limits, e, before, size)
        if breach > 0 and (before == 0 or after == 0):
            changed -= sign  # one value more, or one less
        if changed > 0:
            excess[attribute.value + e - attribute.edge] += changed
