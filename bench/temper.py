"""What `temper` costs, and how much it helps against the simplest attack on a method that stops when no exchange pays.

The pair test: two rows of one class have different values, and the adversary knows all other values, everybody's class
and the method. For either way round, he adds up what the exchanges with rows of other classes would have saved that
were allowed and not made. The way round with less is his guess; 0.5 means that he learns nothing. How sure a guess is,
he learns on tables that he makes himself. The control shuffles the values within each class before the attack.

    python bench/temper.py [ROWS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Equal
from tclose.partition import Attribute, Problem
from tclose.partition.weave import partition
from tclose.partition.weave.temper import tempered
from tclose.types import Bools, Floats, Ints, silent

SETTINGS = ((0.3, 3), (0.3, 5))  # the share of "yes", k
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5)  # of the mean class loss; 0 for no temper
LEARNED_ON, TESTED_ON = range(100, 106), range(6)  # seeds of tables
T = Fraction(1, 5)
BINS = 20  # of scores, in which the adversary learns how often he is right
SURE = 0.95
EXCHANGE = 1e-12  # a saving below this is rounding


@dataclass(frozen=True, eq=False)
class PairTest:
    """Per pair of rows: how much more the wrong way round leaves unsaved than the right one."""

    lead: Floats

    @property
    def right(self) -> float:
        """The share of pairs that are told rightly; a tie counts half."""
        return float(np.where(np.abs(self.lead) <= EXCHANGE, 0.5, self.lead > 0).mean())


def made_table(rows: int, yes: float, k: int, seed: int) -> Problem:
    """Return rows with two uniform quasi-identifiers and an independent value of two."""
    random = np.random.default_rng(seed)
    codes = (random.random(rows) < yes).astype(np.int64)
    attribute = Attribute(codes, np.bincount(codes, minlength=2).astype(np.int64), Equal(), T)
    return Problem(random.random((rows, 2)), (attribute,), k)


def savings(points: Floats, labels: Ints) -> Floats:
    """Return what the exchange of any two rows would save; 0 for rows of one class and where it would cost."""
    sizes = np.bincount(labels)
    loss, low, high = np.empty(len(sizes)), np.empty_like(points), np.empty_like(points)
    for c in range(len(sizes)):
        members = np.flatnonzero(labels == c)
        ordered = np.sort(points[members], axis=0)
        loss[c] = sizes[c] * (ordered[-1] - ordered[0]).sum()
        low[members] = np.where(points[members] == ordered[0], ordered[1], ordered[0])
        high[members] = np.where(points[members] == ordered[-1], ordered[-2], ordered[-1])
    after = np.zeros((len(points), len(points)))
    for axis in range(points.shape[1]):
        other = points[None, :, axis]
        after += np.maximum(high[:, None, axis], other) - np.minimum(low[:, None, axis], other)
    after *= sizes[labels][:, None]
    saved = loss[labels][:, None] + loss[labels][None, :] - after - after.T
    saved[labels[:, None] == labels[None, :]] = 0.0
    return np.where(saved > EXCHANGE, saved, 0.0)


def unsaved(saved: Floats, labels: Ints, values: Ints, value: int) -> Floats:
    """Return, per row, what its allowed exchanges would have saved if the row had this value."""
    sizes, reference = np.bincount(labels)[labels], values.mean()
    yes = np.bincount(labels, weights=values)[labels]

    def within(size: Ints, count: Floats) -> Bools:
        return np.asarray(np.abs(count / size - reference) <= float(T) + EXCHANGE)

    own, others = yes[:, None] - value + values[None, :], yes[None, :] - values[None, :] + value
    return np.asarray((saved * (within(sizes[:, None], own) & within(sizes[None, :], others))).sum(axis=1))


def pair_test(points: Floats, labels: Ints, values: Ints) -> PairTest:
    """Try all pairs of rows of one class with different values."""
    saved = savings(points, labels)
    if_no, if_yes = (unsaved(saved, labels, values, value) for value in (0, 1))
    lead = [
        (if_no[a] + if_yes[b]) - (if_yes[a] + if_no[b])
        for c in range(labels.max() + 1)
        for a in np.flatnonzero((labels == c) & (values == 1))
        for b in np.flatnonzero((labels == c) & (values == 0))
    ]
    return PairTest(np.array(lead))


def shuffled(labels: Ints, values: Ints, seed: int) -> Ints:
    """Return the values in random order within each class."""
    random, result = np.random.default_rng(seed), np.empty_like(values)
    order = np.lexsort((random.random(len(labels)), labels))
    result[np.argsort(labels, kind="stable")] = values[order]
    return result


def sure(learned: Floats, tested: Floats) -> tuple[float, float]:
    """Return the share of pairs about which the adversary is sure, and how often he is right about these."""
    edges = np.quantile(np.abs(learned), np.linspace(0, 1, BINS + 1)[1:-1])
    bins = np.searchsorted(edges, np.abs(learned))
    hits = np.bincount(bins, weights=np.where(learned == 0, 0.5, learned > 0), minlength=BINS)
    belief = hits / np.maximum(np.bincount(bins, minlength=BINS), 1)
    certain = (belief > SURE)[np.searchsorted(edges, np.abs(tested))]
    return float(certain.mean()), float((tested[certain] > 0).mean()) if certain.any() else float("nan")


@dataclass(frozen=True)
class Run:
    """One table, with and without the attack's control."""

    loss: float
    seconds: float
    attack: PairTest
    control: PairTest


def runs(rows: int, yes: float, k: int, share: float, seeds: range) -> Iterator[Run]:
    """Yield what weave and temper make of each table."""
    for seed in seeds:
        problem = made_table(rows, yes, k, seed)
        labels, start = partition(problem, seed=seed), time.process_time()
        labels = tempered(problem, labels, share, seed, silent) if share else labels
        seconds, values = time.process_time() - start, problem.sensitive[0].codes
        sides = [np.ptp(problem.points[labels == c], axis=0).mean() for c in range(labels.max() + 1)]
        yield Run(
            float(np.bincount(labels) @ np.array(sides)) / rows,
            seconds,
            pair_test(problem.points, labels, values),
            pair_test(problem.points, labels, shuffled(labels, values, seed)),
        )


def main() -> None:
    """Print one line per setting and temperature."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(
        "| rows, k | temper | GCP | price | CPU s | pair test | sure | of these right | control |\n" + "|---" * 9 + "|"
    )
    for yes, k in SETTINGS:
        plain = 0.0
        for share in SHARES:
            learned = [*runs(rows, yes, k, share, LEARNED_ON)]
            tested = [*runs(rows, yes, k, share, TESTED_ON)]
            loss = float(np.mean([run.loss for run in tested]))
            plain = plain or loss
            leads = [np.concatenate([run.attack.lead for run in each]) for each in (learned, tested)]
            certain, right = sure(*leads)
            control = np.mean([run.control.right for run in tested])
            seconds = np.mean([run.seconds for run in tested])
            print(
                f"| {rows:,}, {k} | {share or 'off'} | {loss:.4f} | {loss / plain - 1:+.0%} | {seconds:.2f} "
                f"| {PairTest(leads[1]).right:.3f} | {certain:.1%} | {right:.1%} | {control:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
