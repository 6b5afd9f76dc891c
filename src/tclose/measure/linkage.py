"""Which people fit which class: a register's rows against the classes of a published table.

For every column a table of bits says which classes each cell fits. A row fits the classes that all its cells fit:
the bitwise AND of one line per column. So a register of 30,000 rows against thousands of classes is a few million
operations on words, in blocks that stay small. Where there are many of both, rows that agree in the first columns are
compared only with the classes that these cells fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.types import Beat, Bools, Ints, still

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
