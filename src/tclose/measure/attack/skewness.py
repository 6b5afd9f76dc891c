"""Skewness attacks: a class in which a value, or a pair of values, is far likelier than in the table.

Skewness (Li, Li & Venkatasubramanian 2007, section 3): the gain of a value in a class is its share there over its share
in the whole table. Rows count as affected when a value has at least half of their class, but less than half of the
table.

Joint skewness: a class that is close to the table in each attribute may still be far from it in pairs of values. Li, Li
& Venkatasubramanian (2007, section 8) leave the joint distribution open; Bagai, Weber & Gowda (2023, section 2.4) put
pairs into lexicographic order, and so does this attack: pairs are as far apart as their ranks. That takes one sort per
pair of attributes, so it stays cheap on any table, which the transport of a policy's `product` would not. Values
without an order are sorted as their domain lists them, where possible only within equal values of an attribute that has
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Ordered, Ratios
from tclose.measure.attack.base import (
    NO_SECRET,
    Attack,
    Exposure,
    Finding,
    Scene,
    Secret,
    SomeClasses,
    finding_of,
    not_applicable,
)
from tclose.messages import joined, say
from tclose.types import Bools, Ints
from tclose.words import columns, number, rows_of

# Skewness attack on one attribute


def gains(scene: Scene, secret: Secret) -> tuple[NDArray[np.float64], Bools]:
    """Return the largest gain of each class, and whether a value has half of it, but less than half of the table."""
    counts, rows = scene.code_counts(secret), scene.rows
    sizes, prior = counts.per_entry(counts.sizes), secret.reference[counts.codes]
    gain = counts.counts / sizes * (rows / prior)
    believed = (2 * counts.counts >= sizes) & (2 * prior < rows)
    return np.maximum.reduceat(gain, counts.starts), np.logical_or.reduceat(believed, counts.starts)


def run_skewness(scene: Scene) -> Finding:
    """Find the largest gain, and the rows of classes in which a value has at least half of the rows."""
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    exposures, best = [], (0.0, "", 0)
    for secret in scene.secrets:
        gain, believed = gains(scene, secret)
        exposures.append(Exposure(secret.name, believed, partial(_lesson, gain)))
        best = max(best, (float(gain.max()), secret.name, int(gain.argmax()) + 1))
    figure, name, where = best
    finding = finding_of(scene, figure, exposures)
    sentence = say(
        "In class {where:,}, a value of {columns} is {figure} times as likely as in the table",
        where=where,
        columns=columns([name]),
        figure=number(figure),
    )
    if finding.rows:
        affected = rows_of(finding.rows, finding.of)
        sentence += say(
            "; {affected} are in classes where a value has at least half of the rows, unlike in the table",
            affected=affected,
        )
    return finding.saying(sentence + ".")


def _lesson(gain: NDArray[np.float64], place: int) -> str:
    return say("a value is {gain} times as likely as in the whole table", gain=number(gain[place]))


SKEWNESS = Attack(
    "skewness",
    "skewness attack",
    "A value that is rare in the whole table may be frequent in a class. The adversary learns nothing for certain, but "
    "can guess the value with a better chance.",
    "largest gain: share of a value in a class, divided by its share in the table",
    "times",
    "lower",
    run_skewness,
    cure="a smaller t, or beta",
)


# Joint skewness attack on pairs of attributes


MOST_PAIRS = 45  # of attributes: all pairs of ten


@dataclass(frozen=True, eq=False)
class Columns:
    """Two sensitive attributes as one: where they stand among all, sorted by one that has an order first."""

    name: str
    first: int
    second: int

    @classmethod
    def of(cls, secrets: Sequence[Secret], one: int, other: int) -> Columns:
        """Put two attributes together."""
        first, second = sorted((one, other), key=lambda place: secrets[place].positions is None)
        return cls(f"{secrets[one].name} + {secrets[other].name}", first, second)

    def keys(self, classes: SomeClasses) -> Ints:
        """Return a number for the pair of each row or group, in the order of the pairs."""
        first, second = classes.secrets[self.first], classes.secrets[self.second]
        return np.asarray(first.codes * second.domain + second.codes, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PairTally:
    """The pairs of some classes or of the table: their numbers, rising, and how many rows show each."""

    keys: Ints
    rows: Ints

    @classmethod
    def of(cls, keys: Ints, rows: Ints | None) -> PairTally:
        """Count pairs that each stand for so many rows; one, where `rows` does not say."""
        if rows is None:
            return cls(*np.unique(keys, return_counts=True))
        different, place = np.unique(keys, return_inverse=True)
        return cls(different, np.bincount(place, rows).astype(np.int64))

    def __add__(self, other: PairTally) -> PairTally:
        return PairTally.of(np.concatenate([self.keys, other.keys]), np.concatenate([self.rows, other.rows]))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sensitive attributes as one, and how far the pairs of each class are from those of the table."""

    name: str
    names: tuple[str, str]
    ratios: Ratios
    alone: Fraction  # the largest distance of a class in either attribute, by rank as well

    @property
    def exposure(self) -> Exposure:
        """The classes that are farther from the table in pairs than any class is in either attribute."""
        return Exposure(self.name, ~self.ratios.at_most(self.alone))

    def sentence(self) -> str:
        """Say how far the worst class is from the table, and how that is measured."""
        figure, where = self.ratios.largest()
        return say(
            "In class {where:,}, pairs of {columns} are {figure} away from the whole table's (by rank, "
            "sorted by the first, then by the second); in either attribute alone, no class is farther than "
            "{alone}",
            where=where + 1,
            columns=columns(self.names),
            figure=number(figure),
            alone=number(self.alone),
        )


def joint_gains(scene: Scene, columns_of_pairs: Sequence[Columns]) -> list[Pair]:
    """Measure pairs of attributes: the pairs of the table are counted first, then each class is compared with them."""
    tallies: list[PairTally] = []
    for classes in scene.some_classes():
        found = [PairTally.of(each.keys(classes), classes.rows) for each in columns_of_pairs]
        tallies = [one + other for one, other in zip(tallies, found, strict=True)] if tallies else found
    numbers, parts = [], []
    for classes in scene.some_classes():
        numbers.append(classes.numbers)
        pairs = zip(columns_of_pairs, tallies, strict=True)
        parts.append([_ratios_of_pairs(classes, each, tally) for each, tally in pairs])
    order = np.argsort(np.concatenate(numbers))
    places = sorted({place for each in columns_of_pairs for place in (each.first, each.second)})
    alone = {place: _ratios(scene, scene.secrets[place]).largest()[0] for place in places}
    return [
        Pair(
            each.name,
            (scene.secrets[each.first].name, scene.secrets[each.second].name),
            _in_order([part[number] for part in parts], order),
            max(alone[each.first], alone[each.second]),
        )
        for number, each in enumerate(columns_of_pairs)
    ]


def _ratios_of_pairs(classes: SomeClasses, each: Columns, table: PairTally) -> Ratios:
    codes, domain = np.searchsorted(table.keys, each.keys(classes)), len(table.keys)
    if classes.rows is None:
        order = np.argsort(classes.labels, kind="stable")
        counts = Counts.from_codes(classes.labels[order], codes[order], domain)
    else:
        counts = Counts.from_entries(classes.labels, codes, classes.rows, domain)
    return Ordered(domain).emd(counts, table.rows)


def _in_order(parts: Sequence[Ratios], order: Ints) -> Ratios:
    """Put the figures of some classes after those of others, and all in the order of the classes' numbers."""
    numerators = np.concatenate([part.numerators for part in parts])
    return Ratios(numerators[order], np.concatenate([part.sizes for part in parts])[order], parts[0].unit)


def _ratios(scene: Scene, secret: Secret) -> Ratios:
    return Ordered(secret.domain).emd(scene.code_counts(secret), secret.reference)


def run_joint_skewness(scene: Scene) -> Finding:
    """Find the largest distance in pairs of values, and the rows of classes that stand out in pairs alone."""
    shown = [place for place, secret in enumerate(scene.secrets) if secret.linked]
    if len(shown) < 2:
        return not_applicable(scene, "Rows show fewer than two sensitive attributes, so there are no pairs.")
    every = list(combinations(shown, 2))
    pairs = joint_gains(scene, [Columns.of(scene.secrets, *two) for two in every[:MOST_PAIRS]])
    worst = max(pairs, key=lambda pair: pair.ratios.largest()[0])
    finding = finding_of(scene, float(worst.ratios.largest()[0]), [pair.exposure for pair in pairs])
    sentence = worst.sentence()
    if finding.rows:
        sentence += say("; {rows} are in classes that only pairs show", rows=rows_of(finding.rows, finding.of))
    if len(every) <= MOST_PAIRS:
        return finding.saying(sentence + ".")
    left_out = say("Only the first {most_pairs} of {count} pairs were tried.", most_pairs=MOST_PAIRS, count=len(every))
    return replace(finding, sentence=joined(". ", [sentence, left_out]), needs=left_out)


JOINT_SKEWNESS = Attack(
    "joint_skewness",
    "joint skewness attack",
    "A class can be close to the whole table in every sensitive attribute and still hold pairs of values that are "
    "rare in the table. The adversary guesses two values of a person together, or one from the other.",
    "largest distance of pairs of sensitive values in a class from the whole table, by rank, from 0 to 1",
    "distance",
    "lower",
    run_joint_skewness,
    cure="[[joint]] with the two attributes",
)
