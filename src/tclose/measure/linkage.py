"""Who fits which class: a register's rows against the classes of a published table.

For every column a table of bits says which classes each cell fits. A row fits the classes that all its cells fit:
the bitwise AND of one line per column. So a register of 30,000 rows against thousands of classes is a few million
operations on words, in blocks that stay small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.types import Bools, Ints

Bits = NDArray[np.uint8]
BLOCK = 8_000_000  # cells of a rows × classes block


def packed(covers: Bools, text_of_class: Ints) -> Bits:
    """Turn texts × cells (what each published text covers) into cells × classes, eight classes to a byte."""
    cells = covers.shape[1]
    step = max(1, BLOCK // max(len(text_of_class), 1))
    parts = [
        np.packbits(covers[:, start : start + step].T[:, text_of_class], axis=1) for start in range(0, cells, step)
    ]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Links:
    """Which rows of a register fit which classes; equal rows are kept once."""

    rows: Ints  # different rows × columns: codes of cells
    weights: Ints  # how often each occurs
    fits: Sequence[Bits]  # per column, cells × classes
    sizes: Ints  # rows of each class
    row_of: Ints  # which of the different rows each row of the register is

    @classmethod
    def of(cls, codes: Sequence[Ints], fits: Sequence[Bits], sizes: Ints) -> Links:
        """Take a register as one array of codes per column."""
        rows, row_of, weights = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True, return_counts=True)
        return cls(rows, weights.astype(np.int64), fits, sizes, row_of.astype(np.int64))

    def fitting(self, mine: slice) -> Bools:
        """Return rows × classes, for some of the different rows: who fits what."""
        found = self.fits[0][self.rows[mine, 0]]
        for column in range(1, len(self.fits)):
            found &= self.fits[column][self.rows[mine, column]]
        return np.unpackbits(found, axis=1, count=len(self.sizes)).view(bool)

    def blocks(self) -> Iterator[tuple[slice, Bools]]:
        """Yield stretches of the different rows, and who of them fits what."""
        step = max(1, BLOCK // len(self.sizes))
        for start in range(0, len(self.rows), step):
            mine = slice(start, min(start + step, len(self.rows)))
            yield mine, self.fitting(mine)

    @cached_property
    def people(self) -> Ints:
        """How many register rows fit each class."""
        total = np.zeros(len(self.sizes))
        for mine, found in self.blocks():
            total += self.weights[mine].astype(np.float64) @ found
        return total.astype(np.int64)

    def pairs(self, chosen: Bools) -> tuple[Ints, Ints]:
        """Return each different row that fits one of the chosen classes, with that class."""
        numbers = np.flatnonzero(chosen)
        rows, classes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for mine, found in self.blocks():
            row, place = np.nonzero(found[:, numbers])
            rows.append(row + mine.start)
            classes.append(numbers[place])
        return np.concatenate(rows), np.concatenate(classes)
