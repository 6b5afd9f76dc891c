"""Background join (Fang et al., as told in Weber's thesis, section 2.4): one sensitive value gives away the others.

Sensitive values are published as they are. Whoever knows somebody's class and one of the values looks up the rows of
the class that show it; where these agree on another attribute, that one is known, too.
"""

from __future__ import annotations

import numpy as np

from tclose.distance import Counts
from tclose.measure.attack.base import Attack, Finding, Scene, Secret, nothing
from tclose.types import Bools, Ints
from tclose.words import columns, percent, rows_of


def run(scene: Scene) -> Finding:
    """Find the rows for which one known value gives another away, and the share that it singles out."""
    rows = len(scene.labels)
    if len(scene.secrets) < 2:
        return nothing(scene, "It takes two sensitive attributes: one that the adversary knows, and another to learn.")
    learnt, best = np.zeros(rows, dtype=bool), (-1.0, "")
    for known in scene.secrets:
        group = _groups(scene, known)
        single = np.bincount(group)[group] == 1
        best = max(best, (float(single.mean()), known.name))
        for other in scene.secrets:
            if other is not known and np.ptp(other.cells):
                learnt |= _agree(group, other)
    share, name = best
    told = (
        f"Anyone who knows a person's class and {columns([name])} singles out {percent(share)} of the rows; for "
        f"{rows_of(int(learnt.sum()), rows)} the class and one known value give away another."
    )
    return Finding(share, int(learnt.sum()), rows, told)


def _groups(scene: Scene, known: Secret) -> Ints:
    """Give numbers to the rows of each class that show the same known value."""
    key = scene.labels * (int(known.cells.max()) + 1) + known.cells
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _agree(group: Ints, secret: Secret) -> Bools:
    """Tell for each row whether its group shows one value only."""
    distinct = Counts.from_codes(group, secret.cells, int(secret.cells.max()) + 1).distinct
    return np.asarray((distinct == 1)[group])


ATTACK = Attack(
    "background_join",
    "one known value gives away the rest",
    "Somebody who knows a person's class and one sensitive value, such as a salary, looks up the others.",
    "largest share of rows singled out by one known value",
    "share",
    "lower",
    run,
)
