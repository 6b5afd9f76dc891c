"""What an adversary knows of the people behind a release, as arrays that kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.distance import Counts
from tclose.measure.linkage import BLOCK, Links
from tclose.partition import Attribute, Problem
from tclose.partition.shared.axes import Axis, part_of
from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, structure
from tclose.partition.shared.loss import Extents, LossTable, class_loss, clear_extent, extend, loss_change
from tclose.partition.weave.state import Generator, integer_below, uniform
from tclose.types import Beat, Bools, Floats, Ints

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
class ClassArrays:
    """The classes as kernels read them: what each publishes, its loss per row, its rows, and its zone."""

    extents: Extents = structure(Extents)
    losses: Floats = array(np.float64)
    sizes: Ints = array(np.int64)
    zone: Ints = array(np.int64)


@kernel
def fill_classes(table: LossTable, classes: ClassArrays, members: Ints) -> None:
    """Note what each class publishes, and its loss per row."""
    for c in range(len(classes.losses)):
        clear_extent(classes.extents, c)
    for row in range(len(members)):
        extend(table, classes.extents, members[row], row)
    for c in range(len(classes.losses)):
        classes.losses[c] = class_loss(table, classes.extents, c, -1, -1)


@kernel
def exchange_savings(
    table: LossTable, classes: ClassArrays, members: Ints, rows: Ints, place: int, savings: Floats
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
def move_savings(table: LossTable, classes: ClassArrays, row: int, x: int, savings: Floats) -> None:
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
                # Gibbs sampling of the pair: the swap has the chance 1 / (1 + e^change)
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
    # all slots before this one keep a person: a path hands persons on, it takes none away
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


# Rows whose class is known


@dataclass(frozen=True, eq=False)
class AttackedRows:
    """Some rows of a release in their classes 0, 1, 2, …; the values are what the adversary wants to know.

    Of large classes only some rows are attacked: `points`, `axes` and `members` hold all rows of the classes, `rows`
    says which of them are meant. `zone` says between which classes rows can be exchanged.
    """

    points: Floats  # all rows × quasi-identifiers
    axes: tuple[Axis, ...]  # what classes of these rows lose
    members: Ints  # the class of each of them
    rows: Ints  # those that are attacked
    codes: Ints  # attacked rows × attributes: the values, as the policy judges them
    attributes: tuple[Attribute, ...]  # what is required of a class
    names: tuple[str, ...]
    sizes: Ints  # rows of each class
    counts: tuple[Counts, ...]  # per attribute, of each class
    zone: Ints  # of each class
    k: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def labels(self) -> Ints:
        """The class of each attacked row."""
        return self.members[self.rows]

    @cached_property
    def tuples(self) -> Ints:
        """A number for the values of each attacked row, all attributes together."""
        return np.asarray(np.unique(self.codes, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)

    @cached_property
    def order(self) -> Ints:
        """The attacked rows, one class after the other."""
        return np.argsort(self.labels, kind="stable")


def whole_classes(problem: Problem, labels: Ints, names: tuple[str, ...]) -> AttackedRows:
    """Return all rows of a table whose classes are known, as one zone."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    counts = tuple(
        Counts.from_codes(labels[order], attribute.codes[order], len(attribute.reference))
        for attribute in problem.sensitive
    )
    return AttackedRows(
        points=problem.points,
        axes=problem.all_axes,
        members=labels,
        rows=np.arange(len(labels)),
        codes=np.stack([attribute.codes for attribute in problem.sensitive], axis=1),
        attributes=problem.sensitive,
        names=names,
        sizes=sizes,
        counts=counts,
        zone=np.zeros_like(sizes),
        k=problem.k,
    )


# Who is in which class


MOST_ROWS = 3000  # that are attacked
MOST_OF_CLASS = 40  # attacked rows
MOST_MEMBERS = 60_000  # rows of all classes that are looked at
PLACES = 3  # of a large table, in which neighbouring classes are taken
MOST_CANDIDATES = 200  # people for a row, beyond the number of rows with the same class and values


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """A release beside the people of its original table."""

    labels: Ints  # the class of each row
    attributes: tuple[Attribute, ...]  # with the code of each row
    names: tuple[str, ...]
    cells: Ints  # of each row: a number for the sensitive cells that it shows
    people: Links  # the people against the classes
    cells_of_people: Ints
    points: Floats  # people × quasi-identifiers
    axes: tuple[Axis, ...]  # what classes of these people lose
    centres: Floats  # classes × columns: about where each class lies
    group: Ints  # of each class: rows can be exchanged within a group only
    k: int
    by_mean: bool = False  # whether class means are published, which do not show who fits
    apart: bool = False  # whether sensitive values are published apart from the rows


def attacked_rows(published: PublishedRows, random: np.random.Generator, beat: Beat) -> AttackedRows | None:
    """Put people into classes; None where fewer than two classes are left."""
    zone = chosen_classes(published, random)
    classes = np.flatnonzero(zone >= 0)
    slots = np.flatnonzero(zone[published.labels] >= 0)
    person_of = _matched(published, classes, slots, beat)
    slots, person_of = slots[person_of >= 0], person_of[person_of >= 0]
    used, members = np.unique(published.labels[slots], return_inverse=True)
    if len(used) < 2:
        return None
    counts = tuple(
        Counts.from_codes(published.labels[by_class], attribute.codes[by_class], len(attribute.reference)).only(used)
        for attribute, by_class in ((one, np.argsort(published.labels, kind="stable")) for one in published.attributes)
    )
    rows = some_of_each(members, random)
    return AttackedRows(
        points=published.points[person_of],
        axes=tuple(part_of(axis, person_of) for axis in published.axes),
        members=members.reshape(-1),
        rows=rows,
        codes=np.stack([attribute.codes[slots[rows]] for attribute in published.attributes], axis=1),
        attributes=published.attributes,
        names=published.names,
        sizes=np.bincount(published.labels)[used],
        counts=counts,
        zone=zone[used],
        k=published.k,
    )


def chosen_classes(published: PublishedRows, random: np.random.Generator) -> Ints:
    """Return the zone of each class, within which rows can be exchanged; -1 for a class that is not looked at."""
    sizes = np.bincount(published.labels)
    attacked = np.minimum(sizes, MOST_OF_CLASS)
    if attacked.sum() <= MOST_ROWS and sizes.sum() <= MOST_MEMBERS:
        return published.group
    zone = np.full(len(sizes), -1)
    for place in range(PLACES):
        free = np.flatnonzero(zone < 0)
        middle = random.choice(free, p=sizes[free] / sizes[free].sum())
        free = free[published.group[free] == published.group[middle]]
        far = np.abs(published.centres[free] - published.centres[middle]).sum(axis=1)
        near = free[np.argsort(far, kind="stable")]
        fits = (np.cumsum(attacked[near]) <= MOST_ROWS // PLACES) & (np.cumsum(sizes[near]) <= MOST_MEMBERS // PLACES)
        fits[:2] = True
        zone[near[fits]] = place
    return zone


def some_of_each(members: Ints, random: np.random.Generator) -> Ints:
    """Return the rows that are attacked: all of a small class, and a random sample of a large one."""
    order = np.lexsort((random.random(len(members)), members))
    start = np.searchsorted(members[order], members[order])
    return np.asarray(np.sort(order[np.arange(len(order)) - start < MOST_OF_CLASS]))


def _matched(published: PublishedRows, classes: Ints, slots: Ints, beat: Beat) -> Ints:
    """Return a person for each of some rows of the release; -1 where none is found."""
    different = int(max(published.cells.max(), published.cells_of_people.max())) + 1
    groups, group = np.unique(published.labels[slots] * different + published.cells[slots], return_inverse=True)
    begins, persons = _candidates(published, classes, groups, different, np.bincount(group), beat)
    slot_of, person_of = np.full(len(published.cells_of_people), -1), np.full(len(slots), -1)
    match(begins, persons, group.reshape(-1), slot_of, person_of)
    return person_of


def _candidates(
    published: PublishedRows, classes: Ints, groups: Ints, different: int, wanted: Ints, beat: Beat
) -> tuple[Ints, Ints]:
    """Return the people who fit each group of rows with equal class and cells; those who fit few classes come first."""
    people, found_groups, found_persons = published.people, [], []
    everyone = np.arange(len(people.rows))
    for number in classes:
        beat()
        fits = people.fit(everyone, np.full(len(everyone), number))
        persons = np.flatnonzero(fits[people.row_of])
        key = number * different + published.cells_of_people[persons]
        place = np.minimum(np.searchsorted(groups, key), len(groups) - 1)
        shown = groups[place] == key
        found_groups.append(place[shown])
        found_persons.append(persons[shown])
    group, person = np.concatenate(found_groups), np.concatenate(found_persons)
    choice = _classes_that_fit(people, np.unique(people.row_of[person]))
    order = np.lexsort((choice[people.row_of[person]], group))
    group, person = group[order], person[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    kept = rank < wanted[group] + MOST_CANDIDATES
    return np.searchsorted(group[kept], np.arange(len(groups) + 1)), person[kept]


def _classes_that_fit(people: Links, rows: Ints) -> Ints:
    """Count, for some of the different people, the classes that they fit."""
    choice, step = np.zeros(len(people.rows), dtype=np.int64), max(1, BLOCK // len(people.sizes))
    for start in range(0, len(rows), step):
        people.beat()
        some = rows[start : start + step]
        choice[some] = people.fitting(some).sum(axis=1)
    return choice
