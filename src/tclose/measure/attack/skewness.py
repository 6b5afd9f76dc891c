"""Skewness (Li, Li & Venkatasubramanian 2007, section 3): a class in which a value is far likelier than in the table.

The gain of a value in a class is its share there over its share in the whole table. Rows count as affected when a
class makes a value an even bet or better, although the table does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Opened, Scene, Secret, classes_opened, nothing
from tclose.types import Bools
from tclose.words import columns, number, rows_of


def gains(scene: Scene, secret: Secret) -> tuple[NDArray[np.float64], Bools]:
    """Return the largest gain of each class, and whether it makes a value an even bet that is not one in the table."""
    counts, rows = scene.counts(secret.codes, secret.domain), len(secret.codes)
    sizes, prior = counts.per_entry(counts.sizes), secret.reference[counts.codes]
    gain = counts.counts / sizes * (rows / prior)
    believed = (2 * counts.counts >= sizes) & (2 * prior < rows)
    return np.maximum.reduceat(gain, counts.starts), np.logical_or.reduceat(believed, counts.starts)


def run(scene: Scene) -> Finding:
    """Find the largest gain, and the rows of classes that make a value an even bet or better."""
    if not scene.secrets:
        return nothing(scene, NO_SECRET)
    opened, best = [], (0.0, "", 0)
    for secret in scene.secrets:
        gain, believed = gains(scene, secret)
        words = [f"a value is {number(each)} times as likely as in the whole table" for each in gain]
        opened.append(Opened(secret, believed, words))
        best = max(best, (float(gain.max()), secret.name, int(gain.argmax()) + 1))
    figure, name, where = best
    likely = f"{number(figure)} times as likely (class {where:,}) as in the whole table"
    told = f"At most a value of {columns([name])} is {likely}"
    found = classes_opened(scene, figure, opened)
    if found.rows:
        told += f"; for {rows_of(found.rows, found.of)} a class makes a value an even bet that is not one in the table"
    return found.saying(f"{told}.")


ATTACK = Attack(
    "skewness",
    "values far likelier than in the table",
    "An adversary learns nothing for certain, and yet would bet on a value that is rare elsewhere.",
    "largest gain: share in a class over share in the table",
    "times",
    "lower",
    run,
)
