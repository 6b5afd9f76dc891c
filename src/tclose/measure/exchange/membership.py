"""Who is in which class: people of the original table are put into classes that they fit and that show their values.

The adversary is taken to know everybody's class. A person who fits several classes that show the person's values is
put into one of them, such that every row of the release gets a person. Of a large release, some classes that lie near
each other are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance import Counts
from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.kernels import match
from tclose.measure.linkage import BLOCK, Links
from tclose.partition import Attribute
from tclose.partition.shared.axes import Axis, part_of
from tclose.types import Beat, Floats, Ints

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
