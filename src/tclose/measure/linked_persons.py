"""What rows give away when pseudonyms show which of them belong to one person: all values of a person combine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.types import Bools, Ints
from tclose.words import rows_of, some_columns


@dataclass(frozen=True, eq=False)
class RowsOfPersons:
    """The class of every row and the person whom it belongs to, both numbered from 0."""

    labels: Ints
    persons: Ints

    @property
    def people(self) -> int:
        """How many persons there are."""
        return int(self.persons.max()) + 1

    def all_rows(self, marked: Bools) -> Bools:
        """Mark all rows of every person who has a marked row."""
        return np.asarray(np.bincount(self.persons, weights=marked)[self.persons] > 0)

    def shown_by_all(self, values: Ints) -> Bools:
        """Mark the classes in which all persons show one same value, which not everyone of the table shows."""
        domain = int(values.max()) + 1
        triples = np.unique((self.labels * domain + values) * self.people + self.persons)
        groups, sharing = np.unique(triples // self.people, return_counts=True)
        members = np.bincount(np.unique(self.labels * self.people + self.persons) // self.people)
        everyone = np.bincount(np.unique(values * self.people + self.persons) // self.people, minlength=domain)
        told = (sharing == members[groups // domain]) & (everyone[groups % domain] < self.people)
        marked = np.zeros(len(members), dtype=bool)
        marked[groups[told] // domain] = True
        return marked

    def own_number_of_rows(self) -> Bools:
        """Mark the rows of persons who have a number of rows that nobody else of their class has; one row is none."""
        sizes = np.bincount(self.persons)
        class_of = np.zeros(self.people, dtype=np.int64)
        class_of[self.persons] = self.labels
        _, which, sharing = np.unique(
            class_of * (int(sizes.max()) + 1) + sizes, return_inverse=True, return_counts=True
        )
        return np.asarray(((sharing[which] == 1) & (sizes > 1))[self.persons])

    def revealed_by(self, known: str, attributes: Mapping[str, Ints]) -> Bools:
        """Mark the rows of persons of whom one value of an attribute reveals more to anyone who knows their class.

        That is so where all persons of the class who show the value, in any row, have the same values of another
        attribute in their rows, or of this one if they have several rows.
        """
        values = attributes[known]
        domain = int(values.max()) + 1
        triples = np.unique((self.labels * domain + values) * self.people + self.persons)
        groups, persons = triples // self.people, triples % self.people
        starts = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
        several = np.bincount(self.persons) > 1
        learnt = np.zeros(len(starts), dtype=bool)
        for name, others in attributes.items():
            marks = self._marks(others)[persons]
            alike = np.maximum.reduceat(marks, starts) == np.minimum.reduceat(marks, starts)
            news = np.logical_or.reduceat(several[persons], starts) if name == known else np.ptp(others) > 0
            learnt |= alike & news
        found = np.zeros(self.people, dtype=bool)
        found[persons[np.repeat(learnt, np.diff(starts, append=len(persons)))]] = True
        return np.asarray(found[self.persons])

    def _marks(self, values: Ints) -> NDArray[np.uint64]:
        """Return a number for the values of each person's rows together: the same for the same values."""
        numbers = np.random.default_rng(0).integers(2**63, size=int(values.max()) + 1, dtype=np.uint64)
        marks = np.zeros(self.people, dtype=np.uint64)
        np.add.at(marks, self.persons, numbers[values])  # beyond 2^64 it starts again, which does no harm
        return marks


def linked_sentence(kind: str, rows: int, whole: int, names: Sequence[str], crowd: int) -> str:
    """Say how many rows remain exposed where pseudonyms link the rows of a person."""
    some, any_of = rows_of(rows, whole), some_columns(names, "or")
    sentences = {
        "same_value": f"are in classes in which all persons show one same value of {any_of}, perhaps beside others: "
        "anyone who knows the class learns it",
        "rare_value": f"belong to persons who show a value of {any_of} that fewer than {crowd:,} persons share: anyone "
        "who knows the value finds all rows of the person",
        "known_value": f"belong to persons whom one known value gives away: anyone who knows a person's class and a "
        f"value of {any_of} learns other values of the person's rows",
        "row_count": "belong to persons who have a number of rows that nobody else of their class has: anyone who "
        "knows the class and how many rows a person has finds all of them",
    }
    return f"{some} {sentences[kind]}."


def linked_cure(kind: str, names: Sequence[str]) -> str:
    """Say what helps."""
    if kind == "row_count":
        return "as many rows for everyone, a larger k, or no pseudonyms"
    if kind == "same_value":
        return f"a larger k, a smaller t for {some_columns(names)}, fewer rows of each person, or no pseudonyms"
    return f'bins and publish = "bin", or wider bins, for {some_columns(names)}, or no pseudonyms'
