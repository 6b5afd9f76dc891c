"""The adversary's inference: weights are learned, beliefs are formed, and guesses are judged by the true values.

How much each kind of exchange that was left undone tells is learned by logistic regression on pairs of rows of one
class, where the values are known. One way is to make tables: the same people with their values dealt out at random, and
classes made by weave. To measure a release whose algorithm is not known, the weights are learned on classes of the
release other than those that are tried. Guesses are compared with what the class alone tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tclose.errors import Infeasible
from tclose.measure.exchange.field import BINS, EXCHANGES, RandomField, field_of
from tclose.measure.exchange.knowledge import AttackedRows, changes_of_swaps, sample_values, whole_classes
from tclose.partition import Problem
from tclose.partition.shared.axes import part_of
from tclose.partition.weave import partition
from tclose.partition.weave.state import seeded
from tclose.types import Beat, Bools, Floats, Ints, still

# Weights, learned on pairs of rows


MOST_PAIRS = 40_000
PENALTY = 1.0  # on squared weights: with few pairs, weights stay small
STEPS = 30
SMALL_STEP = 1e-4
FOLDS = 5


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows of one class with different values, and what a swap of the values would change (`Field`)."""

    first: Ints
    second: Ints
    changes: Floats  # pairs × bins

    @classmethod
    def of(cls, field: RandomField, value: Ints, random: np.random.Generator) -> RowPairs:
        """Take all pairs, or a random sample of very many; `value` is the number of each row's value in its class."""
        first, second = pairs_of_rows(field.rows, random)
        differ = value[first] != value[second]
        first, second = first[differ], second[differ]
        changes = np.zeros((len(first), BINS + field.arrays.moves.shape[1]))
        changes_of_swaps(field.arrays, value, first, second, changes)
        return cls(first, second, changes)

    def leads(self, weights: Floats) -> Floats:
        """Return by how much the true values are ahead of the swapped ones; weights per pair, or for all."""
        return np.asarray((self.changes * weights).sum(axis=1))


def pairs_of_rows(rows: AttackedRows, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return all pairs of rows of one class, or a random sample."""
    size = np.bincount(rows.labels)
    start = np.cumsum(size) - size
    partners = size[rows.labels[rows.order]] - 1 - (np.arange(len(rows)) - start[rows.labels[rows.order]])
    if partners.sum() <= MOST_PAIRS:
        first = np.repeat(np.arange(len(rows)), partners)
        ahead = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners) + 1
    else:
        first = np.sort(random.choice(len(rows), MOST_PAIRS, p=partners / partners.sum()))
        ahead = 1 + (random.random(MOST_PAIRS) * partners[first]).astype(np.int64)
    return rows.order[first], rows.order[first + ahead]


def learned_weights(changes: Floats, leads: Floats | float = 0.0) -> Floats:
    """Return the weights by which the true values of pairs are most likely (Newton's method, a ridge penalty).

    `leads` is by how much the true values are ahead already.
    """
    weights = np.zeros(changes.shape[1])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(np.clip(leads + changes @ weights, -30, 30)))  # of the swapped values
        slope = changes.T @ chance - PENALTY * weights
        curve = (changes * (chance * (1 - chance))[:, None]).T @ changes + PENALTY * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max(initial=0.0) < SMALL_STEP:
            break
    return weights


@dataclass(frozen=True, eq=False)
class Folds:
    """The classes in some parts; what is tried on one part is learned on the others."""

    of_class: Ints
    of_row: Ints

    @classmethod
    def of(cls, rows: AttackedRows, random: np.random.Generator) -> Folds:
        """Put the classes into parts at random."""
        of_class = random.permutation(len(rows.sizes)) % FOLDS
        return cls(of_class, of_class[rows.labels])

    def correlations(self, field: RandomField, random: np.random.Generator) -> Floats:
        """Return the weights for each class of an adversary who knows correlations and no exchanges."""
        by_fold = []
        for fold in range(FOLDS):
            changes = field.products.changes(np.flatnonzero(self.of_row != fold), random)
            by_fold.append(np.append(np.zeros(EXCHANGES), learned_weights(changes)))
        return np.stack(by_fold)[self.of_class]

    def exchanges(self, pairs: RowPairs, given: Floats) -> Floats:
        """Return the weights for each class, with those of exchanges learned; the others are given."""
        by_fold = given[np.searchsorted(self.of_class, np.arange(FOLDS), sorter=np.argsort(self.of_class))]
        for fold, weights in enumerate(by_fold):
            others = pairs.changes[self.of_row[pairs.first] != fold]
            weights[:EXCHANGES] = learned_weights(others[:, :EXCHANGES], others @ weights)
        return np.asarray(by_fold[self.of_class])


# Weights, learned on tables that the adversary makes


MADE_ROWS = 2000  # of all tables together, about
MOST_TABLES = 6


def weights_of_made_tables(rows: AttackedRows, random: np.random.Generator, beat: Beat) -> Floats | None:
    """Learn the weights of exchanges on made tables, which have no correlations; None where none can be made."""
    changes, made = [], 0
    for number in range(MOST_TABLES):
        for zone in np.unique(rows.zone):
            people = np.flatnonzero(rows.zone[rows.labels] == zone)
            if made < MADE_ROWS and len(people) >= 2 * rows.k:
                changes += _changes(rows, people, random, number, beat)
                made += len(people)
    return learned_weights(np.concatenate(changes)[:, :EXCHANGES]) if changes else None


def _changes(rows: AttackedRows, people: Ints, random: np.random.Generator, seed: int, beat: Beat) -> list[Floats]:
    """Make one table of some people; return what the swaps of values would change, or nothing if weave refuses."""
    codes = rows.codes[random.permutation(people)]
    problem = Problem(
        rows.points[rows.rows[people]],
        tuple(replace(one, codes=column) for one, column in zip(rows.attributes, codes.T.copy(), strict=True)),
        rows.k,
        tuple(part_of(axis, rows.rows[people]) for axis in rows.axes),
    )
    try:
        labels = partition(problem, seed=seed, progress=lambda share, phase="": beat())
    except Infeasible:
        return []
    made = whole_classes(problem, labels, rows.names)
    field = field_of(made, beat)
    return [RowPairs.of(field, field.values.number, random).changes]


# Beliefs, and how often guesses are right


SURE = 0.95  # a belief above this
CHAINS, SWEEPS, BURN = 4, 100, 40
TRUSTS = (1.0, 0.5, 0.2)  # factors of the weights: values that depend on each other in circles seem too certain
LEAST_ERRORS = 3.0  # standard errors; a gain of fewer may be chance
TIE = 1e-9  # of leads
SMOOTH = 0.01  # share of the class's own distribution in every belief


@dataclass(frozen=True)
class AttributeInference:
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
    figures: tuple[AttributeInference, ...]
    control: tuple[AttributeInference, ...]
    sure: int  # rows of whose value in some attribute the adversary is sure
    errors: float  # by how many standard errors the gain is above zero

    @property
    def gain(self) -> float:
        """How much surer of the true values the adversary is, on average over the attributes."""
        return float(np.mean([figures.gain for figures in self.figures]))


@dataclass(frozen=True, eq=False)
class Adversaries:
    """Two adversaries: weights per class, and beliefs per row and value; the plain one knows no exchanges."""

    weights: Floats
    beliefs: Floats
    plain_weights: Floats
    plain_beliefs: Floats

    @property
    def exchanges(self) -> Floats:
        """The weights of exchanges and moves, without those of correlations."""
        return np.where(np.arange(self.weights.shape[1]) < EXCHANGES, self.weights, 0.0)


def inference_of(rows: AttackedRows, *, seed: int = 0, beat: Beat = still) -> Inference:
    """Let the adversary infer the values of some rows.

    The adversary knows the algorithm and how far to trust the field, but we may not: weights are learned on tables made
    by weave and on other classes of the same release, trusted more or less, and those count by which most is learned.
    """
    random, field = np.random.default_rng(seed), field_of(rows, beat)
    pairs, folds = RowPairs.of(field, field.values.number, random), Folds.of(rows, random)
    plain = folds.correlations(field, random)
    plain_beliefs = believed(field, plain, random, beat)
    minds = [Adversaries(plain, plain_beliefs, plain, plain_beliefs)]
    for weights in _learned(rows, pairs, folds, plain, random, beat) if pairs.changes[:, :EXCHANGES].any() else ():
        for trust in TRUSTS:
            trusted = np.hstack([trust * weights[:, :EXCHANGES], weights[:, EXCHANGES:]])
            minds.append(Adversaries(weights, believed(field, trusted, random, beat), plain, plain_beliefs))
    shuffled = field.shuffled(random)
    control = RowPairs.of(field, shuffled, random)
    nothing, *found = (_tried(field, pairs, mind, control, shuffled) for mind in minds)
    # the plain adversary counts unless another gains more than chance could
    return max([nothing, *(one for one in found if one.errors > LEAST_ERRORS)], key=lambda one: one.gain)


def _learned(
    rows: AttackedRows, pairs: RowPairs, folds: Folds, plain: Floats, random: np.random.Generator, beat: Beat
) -> Iterator[Floats]:
    """Yield weights per class, with those of exchanges learned on the release and on made tables."""
    yield folds.exchanges(pairs, plain)
    made = weights_of_made_tables(rows, random, beat)
    if made is not None:
        yield np.hstack([np.tile(made, (len(plain), 1)), plain[:, EXCHANGES:]])


def _tried(field: RandomField, pairs: RowPairs, minds: Adversaries, control: RowPairs, shuffled: Ints) -> Inference:
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


def shares_of_values(field: RandomField) -> Floats:
    """Return, per row and value of its class, the share of the value in the class."""
    rows, values = field.rows, field.values
    frequency = np.bincount(values.start[rows.labels] + values.number) / np.bincount(rows.labels)[_class_of(field)]
    return np.asarray(frequency[_places(field)])


def believed(field: RandomField, weights: Floats, random: np.random.Generator, beat: Beat) -> Floats:
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
    def of(cls, field: RandomField, value: Ints, minds: Adversaries, attribute: int) -> Beliefs:
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


def _owners(field: RandomField) -> Ints:
    """Return the row of each pair of a row and a value of its class."""
    return np.repeat(np.arange(len(field.rows)), field.values.width[field.rows.labels])


def _places(field: RandomField) -> Ints:
    """Return which value of which class each pair of a row and a value of its class is about."""
    owner = _owners(field)
    return np.asarray((field.values.start[field.rows.labels] - field.arrays.first)[owner] + np.arange(len(owner)))


def _class_of(field: RandomField) -> Ints:
    """Return the class of each value of a class."""
    return np.repeat(np.arange(len(field.values.width)), field.values.width)


def _figures(
    field: RandomField, value: Ints, pairs: RowPairs, minds: Adversaries, attribute: int, beliefs: Beliefs
) -> AttributeInference:
    """Judge pairs and beliefs about one attribute by the true values."""
    rows, values = field.rows, field.values
    codes = rows.codes[values.shown[values.start[rows.labels] + value], attribute]
    differ = codes[pairs.first] != codes[pairs.second]
    return AttributeInference(
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


def _told_apart(field: RandomField, pairs: RowPairs, weights: Floats, chosen: Bools) -> float:
    """Return the share of some pairs whose true values are ahead of the swapped ones; a tie counts half."""
    leads = pairs.leads(weights[field.rows.labels[pairs.first]])[chosen]
    return float(np.where(np.abs(leads) < TIE, 0.5, leads > 0).mean()) if len(leads) else 0.5
