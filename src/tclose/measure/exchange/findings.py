"""What the adversary's beliefs are worth: how often guesses are right, beside what the class alone tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.field import Field, field_of
from tclose.measure.exchange.kernels import sample_values
from tclose.measure.exchange.made import weights_of_made_tables
from tclose.measure.exchange.weights import Pairs, cross_learned
from tclose.partition.weave.splitmix import seeded
from tclose.types import Beat, Bools, Floats, Ints, still

SURE = 0.95  # a belief above this
CHAINS, SWEEPS, BURN = 4, 100, 40
TRUSTS = (1.0, 0.5, 0.2, 0.0)  # factors of the weights: values that depend on each other in circles seem too certain
TIE = 1e-9  # of leads
SMOOTH = 0.01  # share of the class's own distribution in every belief


@dataclass(frozen=True)
class AttributeFigures:
    """What the adversary learns about one attribute."""

    name: str
    rows: int
    pairs: int  # of rows of one class with different values
    pair_test: float  # share of pairs told rightly when all other values are known; 0.5 means that nothing is learned
    class_guess: float  # share of rows whose value is the commonest of their class
    best_guess: float  # share of rows whose most believed value is right
    gain: float  # in bits per row: how much surer of the true value than the class alone makes
    sure: int  # rows with a belief above 95 % where the class gives less
    right: int  # of these


@dataclass(frozen=True)
class Inference:
    """What the adversary learns about each attribute, and the same with shuffled values, as a control."""

    rows: int
    classes: int
    figures: tuple[AttributeFigures, ...]
    control: tuple[AttributeFigures, ...]
    sure: int  # rows of whose value in some attribute the adversary is sure

    @property
    def gain(self) -> float:
        """How much surer of the true values the adversary is, on average over the attributes."""
        return float(np.mean([figures.gain for figures in self.figures]))


def inferred(rows: AttackedRows, *, seed: int = 0, beat: Beat = still) -> Inference:
    """Let the adversary infer the values of some rows.

    The adversary knows the algorithm and how far to trust the field, but we may not: weights are learned on tables made
    by weave and on other classes of the same release, trusted more or less, and those count by which most is learned.
    """
    random, field = np.random.default_rng(seed), field_of(rows, beat)
    pairs = Pairs.of(field, field.values.number, random)
    learned = [cross_learned(pairs, rows.labels, len(rows.sizes), random)]
    if pairs.changes.any() and (made := weights_of_made_tables(rows, random, beat)) is not None:
        learned.append(np.tile(made, (len(rows.sizes), 1)))
    trusts = TRUSTS if pairs.changes.any() else (0.0,)  # where the values allow or forbid nothing
    found = [_tried(field, pairs, weights, trust, random, beat) for weights in learned for trust in trusts]
    return max(found, key=lambda inference: inference.gain)


def _tried(
    field: Field, pairs: Pairs, weights: Floats, trust: float, random: np.random.Generator, beat: Beat
) -> Inference:
    """Let the adversary infer with these weights, on the true values and on shuffled ones."""
    rows, true, shuffled = field.rows, field.values.number, field.shuffled(random)
    beliefs = believed(field, trust * weights, random, beat) if trust else shares_of_values(field)
    control = Pairs.of(field, shuffled, random)
    tried = [_figures(field, true, pairs, weights, beliefs, number) for number in range(len(rows.names))]
    controls = [_figures(field, shuffled, control, weights, beliefs, number) for number in range(len(rows.names))]
    sure = np.any([marks for _, marks in tried], axis=0)
    figures, of_control = (tuple(found for found, _ in each) for each in (tried, controls))
    return Inference(len(rows), len(rows.sizes), figures, of_control, int(sure.sum()))


def shares_of_values(field: Field) -> Floats:
    """Return, per row and value of its class, the share of the value in the class."""
    rows, values = field.rows, field.values
    frequency = np.bincount(values.start[rows.labels] + values.number) / np.bincount(rows.labels)[_class_of(field)]
    return np.asarray(frequency[_places(field)])


def believed(field: Field, weights: Floats, random: np.random.Generator, beat: Beat) -> Floats:
    """Return, per row and value of its class, how often the row has the value among samples of the field."""
    arrays, rows = field.arrays, field.rows
    visits = np.zeros(len(arrays.moves), dtype=np.int64)
    starts = np.searchsorted(rows.labels[rows.order], np.arange(len(rows.sizes) + 1))
    generator = seeded(int(random.integers(2**62)))
    for _ in range(CHAINS):
        value = field.shuffled(random)
        for sweep in range(BURN + SWEEPS):
            beat()
            noted = visits if sweep >= BURN else np.zeros_like(visits)
            sample_values(arrays, value, rows.order, starts, weights, 1, generator, noted)
    return visits / (CHAINS * SWEEPS)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per row and value that the row may have: what the adversary believes, and what the class alone tells."""

    row: Ints  # sorted
    belief: Floats
    share: Floats
    true: Ints  # per row: where its true value is

    @classmethod
    def of(cls, field: Field, value: Ints, beliefs: Floats, attribute: int) -> Beliefs:
        """Add up the beliefs of all values that are equal in one attribute."""
        rows, values = field.rows, field.values
        start, owner = values.start[rows.labels], _owners(field)
        codes, domain = rows.codes[values.shown, attribute], len(rows.attributes[attribute].reference)
        cells, which = np.unique(owner * domain + codes[_places(field)], return_inverse=True)
        share = np.bincount(which, weights=shares_of_values(field))
        belief = np.bincount(which, weights=beliefs)
        true = np.searchsorted(cells, np.arange(len(rows)) * domain + codes[start + value])
        return cls(cells // domain, (1 - SMOOTH) * belief + SMOOTH * share, share, true)

    def guessed(self, chance: Floats) -> float:
        """Return the share of rows whose likeliest value is the true one; of several that are equally likely, any."""
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        likeliest = chance >= np.maximum.reduceat(chance, starts)[self.row] - 1e-9
        return float((likeliest[self.true] / np.add.reduceat(likeliest, starts)).mean())

    def sure(self) -> Bools:
        """Mark the rows of whose value the adversary is sure, and the class alone does not make it so."""
        sure = np.zeros(len(self.true), dtype=bool)
        sure[self.row[self._certain]] = True
        return sure

    def right(self) -> int:
        """Count the rows of whose value the adversary is sure, and rightly so."""
        return int(self._certain[self.true].sum())

    @property
    def _certain(self) -> Bools:
        return np.asarray((self.belief > SURE) & (self.share <= SURE))

    def gain(self) -> float:
        """Return how much more likely the beliefs make the true values than the classes do, in bits per row."""
        return float(np.log2(self.belief[self.true] / self.share[self.true]).mean())


def _owners(field: Field) -> Ints:
    """Return the row of each pair of a row and a value of its class."""
    return np.repeat(np.arange(len(field.rows)), field.values.width[field.rows.labels])


def _places(field: Field) -> Ints:
    """Return which value of which class each pair of a row and a value of its class is about."""
    owner = _owners(field)
    return np.asarray((field.values.start[field.rows.labels] - field.arrays.first)[owner] + np.arange(len(owner)))


def _class_of(field: Field) -> Ints:
    """Return the class of each value of a class."""
    return np.repeat(np.arange(len(field.values.width)), field.values.width)


def _figures(
    field: Field, value: Ints, pairs: Pairs, weights: Floats, beliefs: Floats, attribute: int
) -> tuple[AttributeFigures, Bools]:
    """Judge pairs and beliefs about one attribute by the true values, and mark the rows that are sure."""
    rows, values = field.rows, field.values
    codes = rows.codes[values.shown[values.start[rows.labels] + value], attribute]
    differ = codes[pairs.first] != codes[pairs.second]
    leads = pairs.leads(weights[rows.labels[pairs.first]])[differ]
    found = Beliefs.of(field, value, beliefs, attribute)
    figures = AttributeFigures(
        name=rows.names[attribute],
        rows=len(rows),
        pairs=len(leads),
        pair_test=float(np.where(np.abs(leads) < TIE, 0.5, leads > 0).mean()) if len(leads) else 0.5,
        class_guess=found.guessed(found.share),
        best_guess=found.guessed(found.belief),
        gain=found.gain(),
        sure=int(found.sure().sum()),
        right=found.right(),
    )
    return figures, found.sure()
