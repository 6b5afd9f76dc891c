"""Which people fit which class: a register's rows against the classes of a published table.

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

from tclose.types import Beat, Bools, Ints, still

Bits = NDArray[np.uint8]
BLOCK = 8_000_000  # cells of a rows × classes block


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
        for block, fits in self.blocks():
            total += self.weights[block].astype(np.float64) @ fits
        return total.astype(np.int64)

    def pairs(self, chosen: Bools) -> tuple[Ints, Ints]:
        """Return each different row that fits one of the chosen classes, with that class."""
        numbers = np.flatnonzero(chosen)
        rows, classes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for block, fits in self.blocks():
            row, place = np.nonzero(fits[:, numbers])
            rows.append(row + block.start)
            classes.append(numbers[place])
        return np.concatenate(rows), np.concatenate(classes)
