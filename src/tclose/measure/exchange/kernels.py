"""Compiled: exchanges that would have paid, and what each assignment of values within classes leaves unexchanged."""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.loss import Extents, LossTable, class_loss, clear_extent, extend, loss_change
from tclose.partition.shared.structs import array, kernel_struct, structure
from tclose.partition.weave.splitmix import Generator, integer_below, uniform
from tclose.types import Bools, Floats, Ints

FARTHEST = 1000  # slots that are looked at to find a person for one of them


@kernel_struct
class FieldArrays:
    """The random field as kernels read it.

    Row x has the links `link[x]` to `link[x + 1]`: rows of other classes with which an exchange would have paid.
    Whether the exchange is allowed where x has the value p of its class, and the other row the value q of its own, is
    in `allowed` at `place + p · width + q`.
    """

    link: Ints = array(np.int64)
    other: Ints = array(np.int64)  # per link: the other row
    place: Ints = array(np.int64)
    width: Ints = array(np.int64)  # per link: different values of the other row's class
    kind: Ints = array(np.int64)  # per link: how much the exchange would have saved, in bins
    allowed: Bools = array(np.bool_)
    moves: Floats = array(np.float64, 2)  # (row, value) × bins: paying moves that the value allows
    first: Ints = array(np.int64)  # per row: where its values begin in `moves`


@kernel_struct
class Classes:
    """The classes as kernels read them: what each publishes, its loss per row, its rows, and its zone."""

    extents: Extents = structure(Extents)
    losses: Floats = array(np.float64)
    sizes: Ints = array(np.int64)
    zone: Ints = array(np.int64)


@kernel
def fill_classes(table: LossTable, classes: Classes, members: Ints) -> None:
    """Note what each class publishes, and its loss per row."""
    for c in range(len(classes.losses)):
        clear_extent(classes.extents, c)
    for row in range(len(members)):
        extend(table, classes.extents, members[row], row)
    for c in range(len(classes.losses)):
        classes.losses[c] = class_loss(table, classes.extents, c, -1, -1)


@kernel
def exchange_savings(
    table: LossTable, classes: Classes, members: Ints, rows: Ints, place: int, savings: Floats
) -> None:
    """Note what the exchange of a row with each later one of some rows would save; 0 where it cannot be made."""
    row = rows[place]
    x = members[row]
    for i in range(len(rows)):
        other = rows[i]
        y = members[other]
        savings[i] = 0.0
        if i > place and x != y and classes.zone[x] == classes.zone[y]:
            cost = classes.sizes[x] * loss_change(table, classes.extents, x, row, other)
            savings[i] = -cost - classes.sizes[y] * loss_change(table, classes.extents, y, other, row)


@kernel
def move_savings(table: LossTable, classes: Classes, row: int, x: int, savings: Floats) -> None:
    """Note what the move of a row from its class to each other class would save; 0 where it cannot be made."""
    sizes, losses, extents = classes.sizes, classes.losses, classes.extents
    left = sizes[x] * losses[x] - (sizes[x] - 1) * (losses[x] + loss_change(table, extents, x, row, -1))
    for y in range(len(losses)):
        savings[y] = 0.0
        if y != x and classes.zone[x] == classes.zone[y]:
            joined = (sizes[y] + 1) * (losses[y] + loss_change(table, extents, y, -1, row))
            savings[y] = left + sizes[y] * losses[y] - joined


@kernel
def changes_of_swaps(field: FieldArrays, value: Ints, firsts: Ints, seconds: Ints, changes: Floats) -> None:
    """Note, per bin, how many allowed exchanges and moves two rows of one class have more if they swap values."""
    bins = changes.shape[1] - field.moves.shape[1]
    for pair in range(len(firsts)):
        a, b = firsts[pair], seconds[pair]
        for side in range(2):
            row, old, new = (a, value[a], value[b]) if side == 0 else (b, value[b], value[a])
            for e in range(field.link[row], field.link[row + 1]):
                q = field.place[e] + value[field.other[e]]
                width = field.width[e]
                changes[pair, field.kind[e]] += field.allowed[q + new * width] - 0.0
                changes[pair, field.kind[e]] -= field.allowed[q + old * width]
            for f in range(field.moves.shape[1]):
                start = field.first[row]
                changes[pair, bins + f] += field.moves[start + new, f] - field.moves[start + old, f]


@part
def _energy(field: FieldArrays, value: Ints, row: int, own: int, weights: Floats, c: int, alone: Floats) -> float:
    """Return the weight of what a row with a value of its class leaves unexchanged."""
    energy = alone[field.first[row] + own]
    for e in range(field.link[row], field.link[row + 1]):
        if field.allowed[field.place[e] + own * field.width[e] + value[field.other[e]]]:
            energy += weights[c, field.kind[e]]
    return float(energy)


@kernel
def sample_values(
    field: FieldArrays,
    value: Ints,
    order: Ints,
    starts: Ints,
    weights: Floats,
    alone: Floats,
    generator: Generator,
    visits: Ints,
) -> None:
    """Swap values within classes once over, by their weights, and count which row has which value.

    `order` holds the rows of class c from `starts[c]` to `starts[c + 1]`. `alone` has the weight of each row and value
    that does not depend on other rows.
    """
    for c in range(len(starts) - 1):
        size = starts[c + 1] - starts[c]
        for _ in range(size):
            a = order[starts[c] + integer_below(generator, size)]
            b = order[starts[c] + integer_below(generator, size)]
            old, new = value[a], value[b]
            if old != new:
                change = _energy(field, value, a, new, weights, c, alone)
                change -= _energy(field, value, a, old, weights, c, alone)
                change += _energy(field, value, b, old, weights, c, alone)
                change -= _energy(field, value, b, new, weights, c, alone)
                if uniform(generator) * (1.0 + np.exp(change)) < 1.0:
                    value[a] = new
                    value[b] = old
    for row in range(len(value)):
        visits[field.first[row] + value[row]] += 1


@kernel
def match(begins: Ints, persons: Ints, group: Ints, slot_of: Ints, person_of: Ints) -> None:
    """Give each slot a person who fits, by augmenting paths; -1 stays where nobody is found nearby.

    The persons who fit the slots of group g are `persons[begins[g]]` to `persons[begins[g + 1] - 1]`.
    """
    seen, via = np.full(len(slot_of), -1), np.empty(len(slot_of), dtype=np.int64)
    queue = np.empty(len(person_of) + 1, dtype=np.int64)
    for slot in range(len(person_of)):
        queue[0] = slot
        head, tail, found = 0, 1, -1
        while head < tail < FARTHEST and found < 0:
            s = queue[head]
            head += 1
            for e in range(begins[group[s]], begins[group[s] + 1]):
                p = persons[e]
                if seen[p] != slot:
                    seen[p] = slot
                    via[p] = s
                    if slot_of[p] < 0:
                        found = p
                        break
                    queue[tail] = slot_of[p]
                    tail += 1
        while found >= 0:
            s = via[found]
            before = person_of[s]
            person_of[s] = found
            slot_of[found] = s
            found = before
