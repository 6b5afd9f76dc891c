"""Background knowledge (Machanavajjhala et al. 2006): the adversary can exclude values for a person.

Anyone who knows which values a person does not have is left with few values, if the person's class shows few.
"""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Exposure, Finding, Scene, finding_of, names_of, not_applicable
from tclose.words import rows_of

EXCLUDED = 1  # values that the adversary knows a person not to have
NOTHING = (
    "Excluding one value leaves at least two values in every class, for every sensitive attribute that has three "
    "values or more."
)


def run(scene: Scene) -> Finding:
    """Find how few values must be excluded, and the rows whose value is certain when one is."""
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    exposures, fewest = [], []
    for secret in scene.secrets:
        distinct = scene.cell_counts(secret).distinct
        telling = len(np.unique(secret.cells)) > EXCLUDED + 1  # else the whole table reveals as much
        exposures.append(Exposure(secret.name, (distinct <= EXCLUDED + 1) & telling))
        fewest.append(int(distinct.min()) - 1)
    finding = finding_of(scene, min(fewest), exposures)
    if not finding.rows:
        return finding.saying(NOTHING)
    affected = rows_of(finding.rows, finding.of)
    return finding.saying(f"For {affected}, excluding one value of {names_of(exposures)} leaves a single value.")


ATTACK = Attack(
    "background_knowledge",
    "background knowledge attack",
    "The adversary knows a value that the person does not have, and excludes it. If the class shows two values only, "
    "the other one is certain.",
    "fewest values to exclude until one is certain",
    "values",
    "higher",
    run,
    cure="l = 3, or a smaller t",
)
