"""Linkage: which people fit which class, and which rows belong to one person.

For every column a table of bits says which classes each cell fits. A row fits the classes that all its cells fit: the
bitwise AND of one line per column. So a register of 30,000 rows against thousands of classes is a few million
operations on words, in blocks that stay small. Where there are many of both, rows that agree in the first columns are
compared only with the classes that these cells fit.

Where pseudonyms show which rows belong to one person, all values of the person combine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.messages import say
from tclose.types import Beat, Bools, Ints, still
from tclose.words import rows_of, some_columns

# People and the classes that they fit


Bits = NDArray[np.uint8]
BLOCK = 8_000_000  # cells of a rows × classes block
NARROWED = 32  # how many times smaller a block is that classes are not narrowed down any further for
MOST_NARROWING = 8  # columns that narrow down classes


def packed(covers: Bools, text_of_class: Ints, beat: Beat = still) -> Bits:
    """Turn texts × cells (what each published text covers) into cells × classes, eight classes to a byte."""
    cells = covers.shape[1]
    step = max(1, BLOCK // max(len(text_of_class), 1))
    parts = []
    for start in range(0, cells, step):
        beat()
        parts.append(np.packbits(covers[:, start : start + step].T[:, text_of_class], axis=1))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Links:
    """Which rows of a register fit which classes; equal rows are kept once.

    `beat` is called between blocks of rows: comparing them with all classes may take long.
    """

    rows: Ints  # different rows × columns: codes of cells
    weights: Ints  # how often each occurs
    fits: Sequence[Bits]  # per column, cells × classes
    sizes: Ints  # rows of each class
    row_of: Ints  # which of the different rows each row, or group of rows, of the register is
    beat: Beat = still

    @classmethod
    def of(
        cls,
        codes: Sequence[Ints],
        fits: Sequence[Bits],
        sizes: Ints,
        beat: Beat = still,
        group_rows: Ints | None = None,
    ) -> Links:
        """Take a register as one array of codes per column; `group_rows` says how many rows each stands for."""
        rows, row_of = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        weights = np.bincount(row_of, group_rows, minlength=len(rows))
        return cls(rows, weights.astype(np.int64), fits, sizes, row_of.astype(np.int64), beat)

    def with_beat(self, beat: Beat) -> Links:
        """Return the same links, with all that was counted of them, for work that is told of in another way."""
        other = copy(self)
        object.__setattr__(other, "beat", beat)
        return other

    def fitting(self, block: slice | Ints) -> Bools:
        """Return rows × classes, for some of the different rows: which row fits which class."""
        bits = self.fits[0][self.rows[block, 0]]
        for column in range(1, len(self.fits)):
            bits &= self.fits[column][self.rows[block, column]]
        return np.unpackbits(bits, axis=1, count=len(self.sizes)).view(bool)

    def fit(self, rows: Ints, classes: Ints) -> Bools:
        """Tell for pairs of one of the different rows and a class whether the row fits the class."""
        byte, bit = classes >> 3, (128 >> (classes & 7)).astype(np.uint8)
        for column, fits in enumerate(self.fits):
            bit &= fits[self.rows[rows, column], byte]
        return np.asarray(bit != 0)

    def blocks(self) -> Iterator[tuple[slice, Bools]]:
        """Yield blocks of the different rows, and which of them fit which class."""
        step = max(1, BLOCK // len(self.sizes))
        for start in range(0, len(self.rows), step):
            block = slice(start, min(start + step, len(self.rows)))
            self.beat()
            yield block, self.fitting(block)

    @cached_property
    def people(self) -> Ints:
        """How many register rows fit each class."""
        total = np.zeros(len(self.sizes))
        for block, classes, fits in self.narrowed(np.arange(len(self.sizes))):
            total[classes] += self.weights[block].astype(np.float64) @ fits
        return total.astype(np.int64)

    def narrowed(self, classes: Ints) -> Iterator[tuple[slice, Ints, Bools]]:
        """Yield blocks of the different rows in turn, some of the given classes, and which row fits which of them.

        The other classes fit no row of the block.
        """
        yield from self._narrowed(slice(0, len(self.rows)), 0, classes)

    def _narrowed(self, block: slice, column: int, classes: Ints) -> Iterator[tuple[slice, Ints, Bools]]:
        """Narrow down classes by the cells of a column, which are sorted among rows that agree in those before."""
        rows = block.stop - block.start
        if not len(classes):
            return
        if rows * len(classes) <= max(1, BLOCK // NARROWED) or column == min(len(self.fits), MOST_NARROWING):
            step = max(1, BLOCK // len(classes))
            for start in range(block.start, block.stop, step):
                self.beat()
                part = slice(start, min(start + step, block.stop))
                yield part, classes, self._fit_all(part, column, classes)
            return
        codes = self.rows[block, column]
        starts = block.start + np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        for start, end in pairwise([*starts.tolist(), block.stop]):
            fits = self._bits(column, self.rows[start : start + 1, column], classes)[0]
            yield from self._narrowed(slice(start, end), column + 1, classes[fits])

    def _fit_all(self, block: slice, column: int, classes: Ints) -> Bools:
        """Tell which rows fit which classes, by the cells of a column and of those after it."""
        fits = np.ones((block.stop - block.start, len(classes)), dtype=bool)
        for later in range(column, len(self.fits)):
            cells, cell_of_row = np.unique(self.rows[block, later], return_inverse=True)
            fits &= self._bits(later, cells, classes)[cell_of_row]
        return fits

    def _bits(self, column: int, cells: Ints, classes: Ints) -> Bools:
        """Tell which cells of a column fit which classes."""
        bits = self.fits[column][cells[:, None], classes >> 3] & (128 >> (classes & 7)).astype(np.uint8)
        return np.asarray(bits != 0)

    def pairs(self, chosen: Bools) -> tuple[Ints, Ints]:
        """Return each different row that fits one of the chosen classes, with that class."""
        numbers = np.flatnonzero(chosen)
        rows, classes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for block, fitting, fits in self.narrowed(numbers):
            row, place = np.nonzero(fits)
            rows.append(row + block.start)
            classes.append(fitting[place])
        return np.concatenate(rows), np.concatenate(classes)


# Rows of one person, which pseudonyms link


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
        """Mark the rows of persons who have a number of rows that nobody else of their class has."""
        sizes = np.bincount(self.persons)
        class_of = np.zeros(self.people, dtype=np.int64)
        class_of[self.persons] = self.labels
        _, which, sharing = np.unique(
            class_of * (int(sizes.max()) + 1) + sizes, return_inverse=True, return_counts=True
        )
        return np.asarray((sharing[which] == 1)[self.persons])

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
        "same_value": say(
            "are in classes in which all persons show one same value of {any_of}, perhaps beside others: anyone "
            "who knows the class learns it",
            any_of=any_of,
        ),
        "rare_value": say(
            "belong to persons who show a value of {any_of} that fewer than {crowd:,} persons share: anyone who "
            "knows the value finds all rows of the person",
            any_of=any_of,
            crowd=crowd,
        ),
        "known_value": say(
            "belong to persons whom one known value gives away: anyone who knows a person's class and a value "
            "of {any_of} learns other values of the person's rows",
            any_of=any_of,
        ),
        "row_count": "belong to persons who have a number of rows that nobody else of their class has: anyone who "
        "knows the class and how many rows a person has finds all of them",
    }
    return f"{some} {sentences[kind]}."


def linked_cure(kind: str, names: Sequence[str]) -> str:
    """Say what helps."""
    if kind == "row_count":
        return "as many rows for everyone, a larger k, or no pseudonyms"
    if kind == "same_value":
        return say(
            "a larger k, a smaller t for {columns}, fewer rows of each person, or no pseudonyms",
            columns=some_columns(names),
        )
    return say('bins and publish = "bin", or wider bins, for {columns}, or no pseudonyms', columns=some_columns(names))
