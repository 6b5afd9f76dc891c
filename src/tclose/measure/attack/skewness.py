"""Skewness (Li, Li & Venkatasubramanian 2007, section 3): a class in which a value is far likelier than in the table.

The gain of a value in a class is its share there over its share in the whole table. Rows count as affected when a
value has at least half of their class, but less than half of the table.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tclose.measure.attack.base import NO_SECRET, Attack, Exposure, Finding, Scene, Secret, finding_of, not_applicable
from tclose.types import Bools
from tclose.words import columns, number, rows_of


def gains(scene: Scene, secret: Secret) -> tuple[NDArray[np.float64], Bools]:
    """Return the largest gain of each class, and whether a value has half of it, but less than half of the table."""
    counts, rows = scene.code_counts(secret), scene.rows
    sizes, prior = counts.per_entry(counts.sizes), secret.reference[counts.codes]
    gain = counts.counts / sizes * (rows / prior)
    believed = (2 * counts.counts >= sizes) & (2 * prior < rows)
    return np.maximum.reduceat(gain, counts.starts), np.logical_or.reduceat(believed, counts.starts)


def run(scene: Scene) -> Finding:
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
    sentence = f"In class {where:,}, a value of {columns([name])} is {number(figure)} times as likely as in the table"
    if finding.rows:
        affected = rows_of(finding.rows, finding.of)
        sentence += f"; {affected} are in classes where a value has at least half of the rows, unlike in the table"
    return finding.saying(f"{sentence}.")


def _lesson(gain: NDArray[np.float64], place: int) -> str:
    return f"a value is {number(gain[place])} times as likely as in the whole table"


ATTACK = Attack(
    "skewness",
    "skewness attack",
    "A value that is rare in the whole table may be frequent in a class. The adversary learns nothing for certain, but "
    "can guess the value with a better chance.",
    "largest gain: share of a value in a class, divided by its share in the table",
    "times",
    "lower",
    run,
    cure="a smaller t, or beta",
)
