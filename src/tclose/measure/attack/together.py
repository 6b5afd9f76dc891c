"""Joint skewness: a class that is close to the table in each attribute may still be far from it in pairs of values.

Li, Li & Venkatasubramanian (2007, section 8) leave the joint distribution open; Bagai, Weber & Gowda (2023, section
2.4) put pairs into lexicographic order, and so does this attack: pairs are as far apart as their ranks. That takes one
sort per pair of attributes, so it stays cheap on any table, which the transport of a policy's `product` would not.
Values without an order are sorted as their domain lists them, where possible only within equal values of an attribute
that has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from tclose.distance import Ordered, Ratios
from tclose.measure.attack.base import Attack, Exposure, Finding, Scene, Secret, finding_of, not_applicable
from tclose.words import columns, number, rows_of

MOST_PAIRS = 45  # of attributes: all pairs of ten


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sensitive attributes as one, and how far the pairs of each class are from those of the table."""

    names: tuple[str, str]
    secret: Secret
    ratios: Ratios
    alone: Fraction  # the largest distance of a class in either attribute, by rank as well

    @classmethod
    def of(cls, scene: Scene, one: Secret, other: Secret) -> Pair:
        """Measure the pairs of two attributes, sorted by one that has an order first."""
        first, second = sorted((one, other), key=lambda secret: secret.positions is None)
        pairs, numbers = np.unique(first.codes * second.domain + second.codes, return_inverse=True)
        codes = numbers.astype(np.int64)
        secret = Secret(f"{one.name} + {other.name}", codes, codes, len(pairs))
        alone = max(_ratios(scene, each).largest()[0] for each in (first, second))
        return cls((first.name, second.name), secret, _ratios(scene, secret), alone)

    @property
    def exposure(self) -> Exposure:
        """The classes that are farther from the table in pairs than any class is in either attribute."""
        return Exposure(self.secret, ~self.ratios.at_most(self.alone))

    def sentence(self) -> str:
        """Say how far the worst class is from the table, and how that is measured."""
        figure, where = self.ratios.largest()
        return (
            f"In class {where + 1:,}, pairs of {columns(self.names)} are {number(figure)} away from the whole table's "
            f"(by rank, sorted by the first, then by the second); in either attribute alone, no class is farther than "
            f"{number(self.alone)}"
        )


def _ratios(scene: Scene, secret: Secret) -> Ratios:
    return Ordered(secret.domain).emd(scene.counts(secret.codes, secret.domain), secret.reference)


def run(scene: Scene) -> Finding:
    """Find the largest distance in pairs of values, and the rows of classes that stand out in pairs alone."""
    shown = [secret for secret in scene.secrets if secret.linked]
    if len(shown) < 2:
        return not_applicable(scene, "Rows show fewer than two sensitive attributes, so there are no pairs.")
    every = list(combinations(shown, 2))
    pairs = [Pair.of(scene, *two) for two in every[:MOST_PAIRS]]
    worst = max(pairs, key=lambda pair: pair.ratios.largest()[0])
    finding = finding_of(scene, float(worst.ratios.largest()[0]), [pair.exposure for pair in pairs])
    sentence = worst.sentence()
    if finding.rows:
        sentence += f"; {rows_of(finding.rows, finding.of)} are in classes that only pairs show"
    left_out = f" Only the first {MOST_PAIRS} of {len(every)} pairs were tried." if len(every) > MOST_PAIRS else ""
    return finding.saying(f"{sentence}.{left_out}")


ATTACK = Attack(
    "joint_skewness",
    "joint skewness attack",
    "A class can be close to the whole table in every sensitive attribute and still hold pairs of values that are "
    "rare in the table. The adversary guesses two values of a person together, or one from the other.",
    "largest distance of pairs of sensitive values in a class from the whole table, by rank, from 0 to 1",
    "distance",
    "lower",
    run,
    cure="[[joint]] with the two attributes",
)
