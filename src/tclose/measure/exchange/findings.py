"""What the adversary's beliefs are worth: how often guesses are right, beside what the class alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.field import BINS, EXCHANGES, Field, field_of
from tclose.measure.exchange.kernels import sample_values
from tclose.measure.exchange.made import weights_of_made_tables
from tclose.measure.exchange.weights import Folds, Pairs
from tclose.partition.weave.splitmix import seeded
from tclose.types import Beat, Bools, Floats, Ints, still

SURE = 0.95  # a belief above this
CHAINS, SWEEPS, BURN = 4, 100, 40
TRUSTS = (1.0, 0.5, 0.2)  # factors of the weights: values that depend on each other in circles seem too certain
LEAST_ERRORS = 3.0  # standard errors; a gain of fewer may be chance
TIE = 1e-9  # of leads
SMOOTH = 0.01  # share of the class's own distribution in every belief


@dataclass(frozen=True)
class AttributeFigures:
    """What the adversary learns about one attribute; "correlation" is what is learned without the exchanges."""

    name: str
    rows: int
    pairs: int  # of rows of one class with different values
    pair_test: float  # share of pairs that exchanges alone tell apart when all other values are known; 0.5 is nothing
    correlation_pair_test: float
    class_guess: float  # share of rows whose value is the commonest of their class
    correlation_guess: float
    best_guess: float  # share of rows whose most believed value is right
    gain: float  # in bits per row: how much surer of the true value than without the exchanges
    sure: int  # rows with a belief above 95 %, and twice the doubt without the exchanges
    right: int  # of these


@dataclass(frozen=True)
class Inference:
    """What the adversary learns about each attribute, and the same with shuffled values, as a control."""

    rows: int
    classes: int
    figures: tuple[AttributeFigures, ...]
    control: tuple[AttributeFigures, ...]
    sure: int  # rows of whose value in some attribute the adversary is sure
    errors: float  # by how many standard errors the gain is above zero

    @property
    def gain(self) -> float:
        """How much surer of the true values the adversary is, on average over the attributes."""
        return float(np.mean([figures.gain for figures in self.figures]))


@dataclass(frozen=True, eq=False)
class Minds:
    """Two adversaries: weights per class, and beliefs per row and value; the plain one knows no exchanges."""

    weights: Floats
    beliefs: Floats
    plain_weights: Floats
    plain_beliefs: Floats

    @property
    def exchanges(self) -> Floats:
        """The weights of exchanges and moves, without those of correlations."""
        return np.where(np.arange(self.weights.shape[1]) < EXCHANGES, self.weights, 0.0)


def inferred(rows: AttackedRows, *, seed: int = 0, beat: Beat = still) -> Inference:
    """Let the adversary infer the values of some rows.

    The adversary knows the algorithm and how far to trust the field, but we may not: weights are learned on tables made
    by weave and on other classes of the same release, trusted more or less, and those count by which most is learned.
    """
    random, field = np.random.default_rng(seed), field_of(rows, beat)
    pairs, folds = Pairs.of(field, field.values.number, random), Folds.of(rows, random)
    plain = folds.correlations(field, random)
    plain_beliefs = believed(field, plain, random, beat)
    minds = [Minds(plain, plain_beliefs, plain, plain_beliefs)]
    for weights in _learned(rows, pairs, folds, plain, random, beat) if pairs.changes[:, :EXCHANGES].any() else ():
        for trust in TRUSTS:
            trusted = np.hstack([trust * weights[:, :EXCHANGES], weights[:, EXCHANGES:]])
            minds.append(Minds(weights, believed(field, trusted, random, beat), plain, plain_beliefs))
    shuffled = field.shuffled(random)
    control = Pairs.of(field, shuffled, random)
    nothing, *found = (_tried(field, pairs, mind, control, shuffled) for mind in minds)
    return max([nothing, *(one for one in found if one.errors > LEAST_ERRORS)], key=lambda one: one.gain)


def _learned(
    rows: AttackedRows, pairs: Pairs, folds: Folds, plain: Floats, random: np.random.Generator, beat: Beat
) -> Iterator[Floats]:
    """Yield weights per class, with those of exchanges learned on the release and on made tables."""
    yield folds.exchanges(pairs, plain)
    made = weights_of_made_tables(rows, random, beat)
    if made is not None:
        yield np.hstack([np.tile(made, (len(plain), 1)), plain[:, EXCHANGES:]])


def _tried(field: Field, pairs: Pairs, minds: Minds, control: Pairs, shuffled: Ints) -> Inference:
    """Judge what the adversary believes by the true values, and by shuffled ones."""
    rows, true = field.rows, field.values.number
    beliefs = [Beliefs.of(field, true, minds, number) for number in range(len(rows.names))]
    found = tuple(_figures(field, true, pairs, minds, number, each) for number, each in enumerate(beliefs))
    others = (Beliefs.of(field, shuffled, minds, number) for number in range(len(rows.names)))
    controls = tuple(_figures(field, shuffled, control, minds, number, each) for number, each in enumerate(others))
    sure = np.any([each.sure() for each in beliefs], axis=0)
    by_class = np.bincount(rows.labels, weights=np.mean([each.gains() for each in beliefs], axis=0))
    errors = float(by_class.sum() / max(np.sqrt((by_class**2).sum()), TIE))
    return Inference(len(rows), len(rows.sizes), found, controls, int(sure.sum()), errors)


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
    alone = (arrays.moves * weights[rows.labels[_owners(field)], BINS:]).sum(axis=1)
    for _ in range(CHAINS):
        value = field.shuffled(random)
        for sweep in range(BURN + SWEEPS):
            beat()
            noted = visits if sweep >= BURN else np.zeros_like(visits)
            sample_values(arrays, value, rows.order, starts, weights, alone, generator, noted)
    return visits / (CHAINS * SWEEPS)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per row and value that the row may have: what the class alone tells, correlations as well, and everything."""

    row: Ints  # sorted
    share: Floats
    plain: Floats
    belief: Floats
    true: Ints  # per row: where its true value is

    @classmethod
    def of(cls, field: Field, value: Ints, minds: Minds, attribute: int) -> Beliefs:
        """Add up the beliefs in all values that are equal in one attribute."""
        rows, values = field.rows, field.values
        start, owner = values.start[rows.labels], _owners(field)
        codes, domain = rows.codes[values.shown, attribute], len(rows.attributes[attribute].reference)
        cells, which = np.unique(owner * domain + codes[_places(field)], return_inverse=True)
        share = np.asarray(np.bincount(which, weights=shares_of_values(field)), dtype=np.float64)
        plain, belief = (
            (1 - SMOOTH) * np.bincount(which, weights=each) + SMOOTH * share
            for each in (minds.plain_beliefs, minds.beliefs)
        )
        true = np.searchsorted(cells, np.arange(len(rows)) * domain + codes[start + value])
        return cls(cells // domain, share, plain, belief, true)

    def guessed(self, chance: Floats) -> float:
        """Return the share of rows whose likeliest value is the true one; of several that are equally likely, any."""
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        likeliest = chance >= np.maximum.reduceat(chance, starts)[self.row] - TIE
        return float((likeliest[self.true] / np.add.reduceat(likeliest, starts)).mean())

    def certain(self) -> Bools:
        """Mark the values of which the adversary is sure, with less than half the doubt that is left otherwise."""
        otherwise = np.maximum(self.share, self.plain)
        return np.asarray((self.belief > SURE) & (otherwise <= SURE) & (1 - self.belief < (1 - otherwise) / 2))

    def sure(self) -> Bools:
        """Mark the rows of one of whose values the adversary is sure."""
        sure = np.zeros(len(self.true), dtype=bool)
        sure[self.row[self.certain()]] = True
        return sure

    def gains(self) -> Floats:
        """Return, per row, how much more likely the exchanges make the true value, in bits."""
        return np.asarray(np.log2(self.belief[self.true] / self.plain[self.true]))


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
    field: Field, value: Ints, pairs: Pairs, minds: Minds, attribute: int, beliefs: Beliefs
) -> AttributeFigures:
    """Judge pairs and beliefs about one attribute by the true values."""
    rows, values = field.rows, field.values
    codes = rows.codes[values.shown[values.start[rows.labels] + value], attribute]
    differ = codes[pairs.first] != codes[pairs.second]
    return AttributeFigures(
        name=rows.names[attribute],
        rows=len(rows),
        pairs=int(differ.sum()),
        pair_test=_told_apart(field, pairs, minds.exchanges, differ),
        correlation_pair_test=_told_apart(field, pairs, minds.plain_weights, differ),
        class_guess=beliefs.guessed(beliefs.share),
        correlation_guess=beliefs.guessed(beliefs.plain),
        best_guess=beliefs.guessed(beliefs.belief),
        gain=float(beliefs.gains().mean()),
        sure=int(beliefs.sure().sum()),
        right=int(beliefs.certain()[beliefs.true].sum()),
    )


def _told_apart(field: Field, pairs: Pairs, weights: Floats, chosen: Bools) -> float:
    """Return the share of some pairs whose true values are ahead of the swapped ones; a tie counts half."""
    leads = pairs.leads(weights[field.rows.labels[pairs.first]])[chosen]
    return float(np.where(np.abs(leads) < TIE, 0.5, leads > 0).mean()) if len(leads) else 0.5
