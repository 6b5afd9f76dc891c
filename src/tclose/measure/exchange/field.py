"""The random field: for each assignment of values within classes, which paying exchanges it would have allowed.

Two rows of different classes could have been exchanged if that lowers the loss and leaves both classes admitted. The
first is a matter of the quasi-identifiers, which the adversary knows; the second depends on the two rows' values. The
same is true of moving one row into another class. The more a method leaves undone of what an assignment would have
allowed, the less likely the assignment is.

Apart from exchanges, the field knows how values and quasi-identifiers go together in the whole table. This is learned
on pairs of any two rows, from products of places and values. An adversary may know it without knowing the algorithm,
for instance that taxes grow with incomes; so what exchanges add can be told apart from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance import Counts, Line
from tclose.measure.exchange.knowledge import (
    AttackedRows,
    ClassArrays,
    FieldArrays,
    exchange_savings,
    fill_classes,
    move_savings,
)
from tclose.partition import Attribute
from tclose.partition.shared.loss import empty_extents, loss_table
from tclose.types import Beat, Bools, Floats, Ints

# Which classes stay admitted when one value leaves and another joins


NONE = -1  # in place of a row that leaves or joins
QUESTIONS = 20_000  # that are judged together


def admitted_changes(rows: AttackedRows, classes: Ints, leaving: Ints, joining: Ints, beat: Beat) -> Bools:
    """Tell for each change whether the class stays admitted; `leaving` and `joining` are rows, or -1 for none."""
    admitted = rows.sizes[classes] + (joining != NONE) - (leaving != NONE) >= rows.k
    for number, (attribute, counts) in enumerate(zip(rows.attributes, rows.counts, strict=True)):
        codes = np.append(rows.codes[:, number], NONE)
        out, into = codes[leaving], codes[joining]
        asked = np.flatnonzero(admitted & (out != into))
        domain = len(attribute.reference) + 1
        key = (classes[asked] * domain + out[asked] + 1) * domain + into[asked] + 1
        # a class judges the same exchange of values once, however many pairs of rows ask for it
        questions, which = np.unique(key, return_inverse=True)
        answers = np.empty(len(questions), dtype=bool)
        for start in range(0, len(questions), QUESTIONS):
            beat()
            some = questions[start : start + QUESTIONS]
            one, other = some // domain % domain - 1, some % domain - 1
            answers[start : start + QUESTIONS] = _admits(attribute, counts, some // domain**2, one, other)
        admitted[asked] = answers[which]
    return np.asarray(admitted)


def _admits(attribute: Attribute, counts: Counts, classes: Ints, out: Ints, into: Ints) -> Bools:
    """Judge classes after one value left and another joined."""
    chosen, domain = counts.only(classes), counts.domain_size
    number = np.arange(len(classes))
    key = [chosen.per_entry(number) * domain + chosen.codes]
    change = [chosen.counts]
    for codes, by in ((out, -1), (into, 1)):
        given = codes != NONE
        key.append(number[given] * domain + codes[given])
        change.append(np.full(int(given.sum()), by))
    # the counts of the class, less the value that leaves and with the one that joins, summed cell by cell
    cells, which = np.unique(np.concatenate(key), return_inverse=True)
    left = np.bincount(which, weights=np.concatenate(change)).astype(np.int64)
    cells, left = cells[left > 0], left[left > 0]
    starts = np.searchsorted(cells // domain, number)
    return np.asarray(attribute.admits(Counts(starts, cells % domain, left, domain)))


# Correlations of the whole table


SMALLEST = 1e-12
MOST_MARKED = 6  # values of an attribute without an order: the commonest
PAIRS_PER_ROW, MOST_PAIRS = 4, 6000
MOST_COLUMNS = 100


@dataclass(frozen=True, eq=False)
class Products:
    """Places of rows and scores of values, whose products are the columns by which correlations are learned."""

    places: Floats  # rows × places
    scores: tuple[Floats, ...]  # per attribute: rows × scores of their values

    @classmethod
    def of(cls, rows: AttackedRows) -> Products:
        """Take the rows' own places and values."""
        scores = [_scores(each)[codes] for each, codes in zip(rows.attributes, rows.codes.T, strict=True)]
        points, wanted = rows.points[rows.rows], sum(each.shape[1] for each in scores)
        places = _places(points, plain=3 * points.shape[1] * wanted > MOST_COLUMNS)
        return cls(places, tuple(map(_standardised, scores)))

    def given(self, people: Ints, shown: Ints) -> Floats:
        """Return the products for each pair of a person and a row whose values the person is given."""
        places = self.places[people]
        each = ((places[:, :, None] * scores[shown][:, None, :]).reshape(len(people), -1) for scores in self.scores)
        return np.hstack(list(each))

    def changes(self, rows: Ints, random: np.random.Generator) -> Floats:
        """Return how the products of random pairs of some rows change if they swap their values."""
        one, other = random.choice(rows, (2, min(PAIRS_PER_ROW * len(rows), MOST_PAIRS)))
        true = self.given(one, one) + self.given(other, other)
        return self.given(one, other) + self.given(other, one) - true


def _places(points: Floats, *, plain: bool) -> Floats:
    """Return rows × places: each quasi-identifier by its rank; unless plain, also by its size and its squared rank."""
    ranks = np.stack([_ranks(column) for column in points.T], axis=1)
    if plain:
        return _standardised(ranks)
    return _standardised(np.hstack([points, ranks, ranks**2]))


def _ranks(column: Floats) -> Floats:
    """Return the ranks of numbers, from -1 to 1; equal numbers have the same."""
    _, which, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(((np.cumsum(counts) - counts / 2) / len(column) * 2 - 1)[which])


def _scores(attribute: Attribute) -> Floats:
    """Return codes × scores: the rank and its square on a line, or else which of the commonest values it is."""
    domain, reference = len(attribute.reference), attribute.reference
    if not isinstance(attribute.geometry, Line):
        return np.eye(domain)[:, np.argsort(-reference, kind="stable")[: min(domain - 1, MOST_MARKED)]]
    rank = (np.cumsum(reference) - reference / 2) / reference.sum()
    return np.stack([rank, rank**2], axis=1)


def _standardised(columns: Floats) -> Floats:
    return np.asarray((columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), SMALLEST))


# The field


SAVING_BINS = np.array([0.02, 0.1, 0.3, 1.0])  # of the mean loss of a class
LEAST = 1e-9  # a smaller saving is rounding
MOST_LINKS = 40  # per row, on average: the largest savings count
MOST_QUESTIONS = 3_000_000  # pairs of values of two classes
BETWEEN_BEATS = 64  # rows
BINS = len(SAVING_BINS) + 1
EXCHANGES = 2 * BINS  # the first columns of all: exchanges, then moves; what follows is about correlations


@dataclass(frozen=True, eq=False)
class PayingChanges:
    """Changes that would have lowered the loss: a row, another row or a class, and the bin of the saving."""

    row: Ints
    other: Ints
    kind: Ints

    def only(self, chosen: Ints | Bools) -> PayingChanges:
        """Return some of the changes."""
        return PayingChanges(self.row[chosen], self.other[chosen], self.kind[chosen])


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
class RandomField:
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


def field_of(rows: AttackedRows, beat: Beat) -> RandomField:
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
    return RandomField(rows, values, products, arrays)


def paying_changes(rows: AttackedRows, beat: Beat) -> tuple[PayingChanges, PayingChanges]:
    """Return the exchanges, each for both of its rows, and the moves that would have lowered the loss."""
    table, number = loss_table(rows.axes, len(rows.members)), len(rows.sizes)
    classes = ClassArrays(empty_extents(table, number), np.empty(number), rows.sizes, rows.zone)
    fill_classes(table, classes, rows.members)
    scale = max(float(rows.sizes @ classes.losses) / number, LEAST)
    exchanges, moves = _ChangeCollector(len(rows), scale), _ChangeCollector(number, scale)
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
    both = PayingChanges(row, other, np.concatenate([once.kind, once.kind]))
    return both.only(np.argsort(row, kind="stable")), moves.all(MOST_LINKS * len(rows))


class _ChangeCollector:
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

    def all(self, most: int) -> PayingChanges:
        """Return what pays; of very many changes, those that save most."""
        shares = np.concatenate(self._shares)
        found = PayingChanges(
            np.concatenate(self._rows), np.concatenate(self._others), np.searchsorted(SAVING_BINS, shares)
        )
        return found.only(np.sort(np.argsort(-shares, kind="stable")[:most]))


def _allowed_exchanges(
    rows: AttackedRows, values: ClassValues, found: PayingChanges, beat: Beat
) -> tuple[PayingChanges, Ints, Bools]:
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


def _allowed_moves(rows: AttackedRows, values: ClassValues, found: PayingChanges, first: Ints, beat: Beat) -> Floats:
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
