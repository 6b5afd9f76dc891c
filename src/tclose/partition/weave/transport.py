"""How far a class is from every limit, inside kernels: transport work, rules and persons.

The transport work of a class on every limit is one integer, and so is what one row more, less or exchanged makes of it.
`counts[c, e]` holds the rows of class c beyond edge e.

The rule of an attribute's further models counts the rows that a class is away from keeping it. α, β and δ limit each
value's share of a class; distinct l, entropy l, recursive (c,l) and KL divergence look at all values together. Merging
two classes that keep a rule gives a class that keeps it.

Persons are counted by looking back: a row counts if no earlier row of the class is of the same person. That takes no
memory, and it ends as soon as there are enough, so it takes little time where most rows are of different persons.
`limits.persons` is empty where every row is a person of its own; then the number of rows decides, and nothing is
counted here.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import SAFE, Limits
from tclose.partition.weave.trees import DISTANCE, GUARDED, RULE
from tclose.privacy.base import NEAR
from tclose.types import Bools, Floats, Ints, SmallInts

# Rules: how many rows a class is away from keeping one


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


# Transport work


@part
def count_row(limits: Limits, counts: SmallInts, c: int, row: int, sign: int) -> None:
    """Add a row to the counts of a class (sign 1), or take it away (-1)."""
    # edge e of a path counts the values up to e; an edge of a tree counts those below its node
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
    # N·C is a multiple of N, so it misses s·R by the remainder at least, whatever C is
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
    # on a path only the edges between the two values change, on a tree those above one value alone
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
    # the counts change for this question only
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


# Persons: whether a class has rows of enough of them


@part
def enough_persons(limits: Limits, rows: Ints, first: int, end: int) -> bool:
    """Tell whether some rows, given as a part of a list, are of enough persons."""
    if len(limits.persons) == 0:
        return True
    persons = 0
    for i in range(first, end):
        person, j = limits.persons[rows[i]], i - 1
        while j >= first and limits.persons[rows[j]] != person:
            j -= 1
        if j < first:
            persons += 1
            if persons >= limits.least_persons[0]:
                return True
    return False


@part
def enough_persons_on_side(limits: Limits, orders: SmallInts, right: Bools, side: int) -> bool:
    """Tell whether the rows that go to one side (0: left, 1: right) are of enough persons."""
    if len(limits.persons) == 0:
        return True
    persons = 0
    for i in range(orders.shape[1]):
        if right[orders[0, i]] != (side == 1):
            continue
        person, j = limits.persons[orders[0, i]], i - 1
        while j >= 0 and (right[orders[0, j]] != (side == 1) or limits.persons[orders[0, j]] != person):
            j -= 1
        if j < 0:
            persons += 1
            if persons >= limits.least_persons[0]:
                return True
    return False


@part
def keeps_persons(limits: Limits, members: SmallInts, c: int, size: int, leaving: int, joining: int) -> bool:
    """Tell whether a class of enough persons is so after one row leaves and another joins; -1 if none joins."""
    if len(limits.persons) == 0:
        return True
    joined = limits.persons[joining] if joining >= 0 else -1
    if joined == limits.persons[leaving]:
        return True
    persons = 1 if joining >= 0 else 0
    for i in range(size):
        if persons >= limits.least_persons[0]:
            return True
        row = members[c, i]
        person, j = limits.persons[row], i - 1
        if row == leaving or person == joined:
            continue
        while j >= 0 and (members[c, j] == leaving or limits.persons[members[c, j]] != person):
            j -= 1
        if j < 0:
            persons += 1
    return bool(persons >= limits.least_persons[0])
