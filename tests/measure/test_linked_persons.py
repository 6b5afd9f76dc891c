"""What linked rows of a person give away, against slow definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.measure.exposure import PublishedAttribute, PublishedClasses, exposed_counts
from tclose.measure.linkage import RowsOfPersons
from tclose.types import Ints

Rows = list[tuple[int, int, int]]  # person, a, b; the class of a person is the person's number modulo 3
TABLES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30)


def linked(rows: Rows) -> tuple[RowsOfPersons, Ints, Ints]:
    names = np.array([row[0] for row in rows])
    classes = np.unique(names % 3, return_inverse=True)[1]
    persons = np.unique(names, return_inverse=True)[1]
    return RowsOfPersons(classes, persons), np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def values_of(rows: RowsOfPersons, values: Ints, person: int) -> list[int]:
    found: list[int] = sorted(values[rows.persons == person].tolist())
    return found


def members(rows: RowsOfPersons, label: int) -> list[int]:
    return sorted(set(rows.persons[rows.labels == label].tolist()))


@given(TABLES)
def test_a_value_that_everyone_of_a_class_shows(given_rows: Rows) -> None:
    rows, a, _ = linked(given_rows)
    everyone = range(rows.people)
    expected = [
        any(
            all(value in values_of(rows, a, person) for person in members(rows, label))
            and not all(value in values_of(rows, a, person) for person in everyone)
            for value in range(4)
        )
        for label in range(int(rows.labels.max()) + 1)
    ]
    assert rows.shown_by_all(a).tolist() == expected


@given(TABLES)
def test_a_number_of_rows_that_nobody_else_of_the_class_has(given_rows: Rows) -> None:
    rows, a, _ = linked(given_rows)

    def alone(row: int) -> bool:
        person, label = int(rows.persons[row]), int(rows.labels[row])
        own = len(values_of(rows, a, person))
        others = [other for other in members(rows, label) if other != person]
        return all(len(values_of(rows, a, other)) != own for other in others)

    assert rows.own_number_of_rows().tolist() == [alone(row) for row in range(len(a))]


@given(TABLES)
def test_what_one_known_value_reveals(given_rows: Rows) -> None:
    rows, a, b = linked(given_rows)

    def revealed(person: int, label: int) -> bool:
        for value in set(values_of(rows, a, person)):
            alike = [other for other in members(rows, label) if value in values_of(rows, a, other)]
            same = [{tuple(values_of(rows, each, other)) for other in alike} for each in (a, b)]
            several = any(len(values_of(rows, a, other)) > 1 for other in alike)
            if (len(same[0]) == 1 and several) or (len(same[1]) == 1 and np.ptp(b) > 0):
                return True
        return False

    expected = [revealed(int(person), int(label)) for person, label in zip(rows.persons, rows.labels, strict=True)]
    assert rows.revealed_by("a", {"a": a, "b": b}).tolist() == expected


@given(TABLES)
def test_linked_rows_are_never_less_exposed(given_rows: Rows) -> None:
    rows, a, b = linked(given_rows)
    order = np.argsort(rows.labels, kind="stable")
    starts = np.flatnonzero(np.diff(rows.labels[order], prepend=-1))
    attributes = [PublishedAttribute("a", a, "number"), PublishedAttribute("b", b, "other")]
    apart = exposed_counts(PublishedClasses(order, starts, attributes, 2, rows.persons)).ways
    together = exposed_counts(PublishedClasses(order, starts, attributes, 2, rows.persons, "id")).ways
    assert all(together[kind][0] >= count for kind, (count, _) in apart.items())
    assert set(together) - set(apart) == {"row_count"}
