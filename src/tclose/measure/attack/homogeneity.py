"""Homogeneity (Machanavajjhala et al. 2006): a class in which everyone has the same value tells it of everyone."""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import (
    NO_SECRET,
    Attack,
    Finding,
    Opened,
    Scene,
    Secret,
    classes_opened,
    names_of,
    nothing,
    open_for_any,
)
from tclose.types import Bools
from tclose.words import counted, rows_of


def run(scene: Scene) -> Finding:
    """Count the classes that show one value of an attribute, where the whole table shows several."""
    if not scene.secrets:
        return nothing(scene, NO_SECRET)
    opened = [Opened(secret, _alike(scene, secret)) for secret in scene.secrets]
    classes = int(open_for_any(opened).sum())
    found = classes_opened(scene, classes, opened)
    if not classes:
        return found.saying("Every class shows at least two values of every sensitive attribute that has two.")
    where = counted(classes, "class")
    return found.saying(f"{rows_of(found.rows, found.of)} stand in {where} where all have the same {names_of(opened)}.")


def _alike(scene: Scene, secret: Secret) -> Bools:
    cells = int(secret.cells.max()) + 1
    alike = scene.counts(secret.cells, cells).distinct == 1
    return np.asarray(alike & bool(np.ptp(secret.cells)))  # what the whole table tells, no class tells


ATTACK = Attack(
    "homogeneity",
    "same value in a whole class",
    "Anyone known to be in such a class has that value: being one of many does not help.",
    "classes that show one value only",
    "classes",
    "lower",
    run,
)
