"""The random field: for each assignment of values within classes, which paying exchanges it would have allowed.

Two rows of different classes could have been exchanged if that lowers the loss and leaves both classes admitted. The
first is a matter of the quasi-identifiers, which the adversary knows; the second depends on the two rows' values. The
same is true of moving one row into another class. The more a method leaves undone of what an assignment would have
allowed, the less likely the assignment is.

Apart from exchanges, the field knows how values and quasi-identifiers go together (`correlation.py`), so that it can
be told what the exchanges add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.measure.exchange.admitted import NONE, admitted_changes
from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.correlation import Products
from tclose.measure.exchange.kernels import Classes, FieldArrays, exchange_savings, fill_classes, move_savings
from tclose.partition.shared.loss import empty_extents, loss_table
from tclose.types import Beat, Bools, Floats, Ints

SAVING_BINS = np.array([0.02, 0.1, 0.3, 1.0])  # of the mean loss of a class
LEAST = 1e-9  # a smaller saving is rounding
MOST_LINKS = 40  # per row, on average: the largest savings count
MOST_QUESTIONS = 3_000_000  # pairs of values of two classes
BETWEEN_BEATS = 64  # rows
BINS = len(SAVING_BINS) + 1
EXCHANGES = 2 * BINS  # the first columns of all: exchanges, then moves; what follows is about correlations


@dataclass(frozen=True, eq=False)
class Paying:
    """Changes that would have lowered the loss: a row, another row or a class, and the bin of the saving."""

    row: Ints
    other: Ints
    kind: Ints

    def only(self, chosen: Ints | Bools) -> Paying:
        """Return some of the changes."""
        return Paying(self.row[chosen], self.other[chosen], self.kind[chosen])


@dataclass(frozen=True, eq=False)
class ClassValues:
    """The different values of each class, numbered from 0 within the class."""

    number: Ints  # of each row's own value
    shown: Ints  # per class and value: a row of the class that has it
    start: Ints  # per class: where its values begin in `shown`
    width: Ints  # per class: how many values it has

    @classmethod
    def of(cls, rows: AttackedRows) -> ClassValues:
        """Give numbers to the values of each class."""
        different = int(rows.tuples.max()) + 1
        cells, shown, which = np.unique(rows.labels * different + rows.tuples, return_index=True, return_inverse=True)
        start = np.searchsorted(cells // different, np.arange(len(rows.sizes)))
        number = which.reshape(-1) - start[rows.labels]
        return cls(number, shown, start, np.diff(start, append=len(cells)))


@dataclass(frozen=True, eq=False)
class Field:
    """The field, the rows that it is about, and how the values of each class are numbered."""

    rows: AttackedRows
    values: ClassValues
    products: Products
    arrays: FieldArrays

    def shuffled(self, random: np.random.Generator) -> Ints:
        """Return the numbers of the values in random order within each class."""
        numbers, order = np.empty_like(self.values.number), self.rows.order
        numbers[order] = self.values.number[np.lexsort((random.random(len(order)), self.rows.labels))]
        return numbers


def field_of(rows: AttackedRows, beat: Beat) -> Field:
    """Find all exchanges and moves that would have paid, and which values would have allowed them."""
    values, products = ClassValues.of(rows), Products.of(rows)
    exchanges, moves = paying_changes(rows, beat)
    links, place, allowed = _allowed_exchanges(rows, values, exchanges, beat)
    own = values.width[rows.labels]
    first = np.cumsum(own) - own
    arrays = FieldArrays(
        np.searchsorted(links.row, np.arange(len(rows) + 1)),
        links.other,
        place,
        values.width[rows.labels[links.other]],
        links.kind,
        allowed,
        np.hstack([_allowed_moves(rows, values, moves, first, beat), _correlations(rows, values, products)]),
        first,
    )
    return Field(rows, values, products, arrays)


def paying_changes(rows: AttackedRows, beat: Beat) -> tuple[Paying, Paying]:
    """Return the exchanges, each for both of its rows, and the moves that would have lowered the loss."""
    table, number = loss_table(rows.axes, len(rows.members)), len(rows.sizes)
    classes = Classes(empty_extents(table, number), np.empty(number), rows.sizes, rows.zone)
    fill_classes(table, classes, rows.members)
    scale = max(float(rows.sizes @ classes.losses) / number, LEAST)
    exchanges, moves = _Found(len(rows), scale), _Found(number, scale)
    for place, row in enumerate(rows.rows):
        if place % BETWEEN_BEATS == 0:
            beat()
        exchange_savings(table, classes, rows.members, rows.rows, place, exchanges.savings)
        exchanges.take(place)
        if rows.sizes[rows.members[row]] > rows.k:
            move_savings(table, classes, row, rows.members[row], moves.savings)
            moves.take(place)
    once = exchanges.all(MOST_LINKS * len(rows) // 2)
    row, other = np.concatenate([once.row, once.other]), np.concatenate([once.other, once.row])
    both = Paying(row, other, np.concatenate([once.kind, once.kind]))
    return both.only(np.argsort(row, kind="stable")), moves.all(MOST_LINKS * len(rows))


class _Found:
    """Collects what pays, row by row."""

    def __init__(self, others: int, scale: float) -> None:
        self.savings = np.empty(others)
        self._scale = scale
        self._rows, self._others = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        self._shares = [np.zeros(0)]

    def take(self, row: int) -> None:
        """Note what pays for a row; its savings are known."""
        paying = np.flatnonzero(self.savings > LEAST * self._scale)
        self._rows.append(np.full(len(paying), row))
        self._others.append(paying)
        self._shares.append(self.savings[paying] / self._scale)

    def all(self, most: int) -> Paying:
        """Return what pays; of very many changes, those that save most."""
        shares = np.concatenate(self._shares)
        found = Paying(np.concatenate(self._rows), np.concatenate(self._others), np.searchsorted(SAVING_BINS, shares))
        return found.only(np.sort(np.argsort(-shares, kind="stable")[:most]))


def _allowed_exchanges(
    rows: AttackedRows, values: ClassValues, found: Paying, beat: Beat
) -> tuple[Paying, Ints, Bools]:
    """Return the exchanges, where each finds the pairs of values of its two classes, and which pairs are allowed."""
    classes, width = len(rows.sizes), values.width
    pairs, which = np.unique(rows.labels[found.row] * classes + rows.labels[found.other], return_inverse=True)
    x, y = pairs // classes, pairs % classes
    cells = width[x] * width[y]
    begins = np.cumsum(cells) - cells
    fits = begins + cells <= MOST_QUESTIONS
    kept = fits[which]
    pair = np.repeat(np.arange(len(pairs)), np.where(fits, cells, 0))
    cell = np.arange(len(pair)) - begins[pair]
    one = values.shown[values.start[x[pair]] + cell // width[y[pair]]]
    other = values.shown[values.start[y[pair]] + cell % width[y[pair]]]
    allowed = admitted_changes(rows, x[pair], one, other, beat)
    allowed &= admitted_changes(rows, y[pair], other, one, beat)
    return found.only(kept), begins[which[kept]], allowed


def _allowed_moves(rows: AttackedRows, values: ClassValues, found: Paying, first: Ints, beat: Beat) -> Floats:
    """Count, per row and value of its class, the paying moves that the value would have allowed, in bins."""
    own = values.width[rows.labels]
    counts = np.zeros((int(own.sum()), BINS))
    each = own[found.row]
    move = np.repeat(np.arange(len(found.row)), each)
    value = np.arange(len(move)) - np.repeat(np.cumsum(each) - each, each)
    row, target = found.row[move], found.other[move]
    shown, none = values.shown[values.start[rows.labels[row]] + value], np.full(len(move), NONE)
    allowed = admitted_changes(rows, rows.labels[row], shown, none, beat)
    allowed &= admitted_changes(rows, target, none, shown, beat)
    np.add.at(counts, (first[row] + value, found.kind[move]), allowed)
    return counts


def _correlations(rows: AttackedRows, values: ClassValues, products: Products) -> Floats:
    """Return, per row and value of its class, the columns by which correlations are learned."""
    own = values.width[rows.labels]
    owner = np.repeat(np.arange(len(rows)), own)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(own) - own, own)
    return products.given(owner, values.shown[values.start[rows.labels[owner]] + place])
