"""Background knowledge (Machanavajjhala et al. 2006): an adversary who can exclude values for a person.

A class that shows few values falls to somebody who knows what a person does not have.
"""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Opened, Scene, classes_opened, names_of, nothing
from tclose.words import rows_of

EXCLUDED = 1  # values that the adversary knows a person not to have


def run(scene: Scene) -> Finding:
    """Find how few values have to be excluded, and the rows that fall when one is."""
    if not scene.secrets:
        return nothing(scene, NO_SECRET)
    opened, fewest = [], []
    for secret in scene.secrets:
        cells = np.unique(secret.cells)
        distinct = scene.counts(secret.cells, int(cells[-1]) + 1).distinct
        telling = len(cells) > EXCLUDED + 1  # else the whole table falls as easily
        opened.append(Opened(secret, (distinct <= EXCLUDED + 1) & telling))
        fewest.append(int(distinct.min()) - 1)
    found = classes_opened(scene, min(fewest), opened)
    if not found.rows:
        return found.saying("Nobody's value is certain, beyond what the table itself tells, once one is excluded.")
    return found.saying(f"For {rows_of(found.rows, found.of)} it is enough to exclude one value of {names_of(opened)}.")


ATTACK = Attack(
    "background_knowledge",
    "values excluded by an insider",
    "Somebody who knows what a person does not have is left with few values, or with one.",
    "fewest values to exclude before one is certain",
    "values",
    "higher",
    run,
)
