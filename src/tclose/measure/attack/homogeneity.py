"""Homogeneity (Machanavajjhala et al. 2006): a class in which everyone has the same value reveals it for everyone."""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import (
    NO_SECRET,
    Attack,
    Exposure,
    Finding,
    Scene,
    Secret,
    exposed_for_any,
    finding_of,
    names_of,
    not_applicable,
)
from tclose.types import Bools
from tclose.words import counted, rows_of


def run(scene: Scene) -> Finding:
    """Count the classes that show one value of an attribute, where the whole table shows several."""
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    exposures = [Exposure(secret.name, _alike(scene, secret)) for secret in scene.secrets]
    classes = int(exposed_for_any(exposures).sum())
    finding = finding_of(scene, classes, exposures)
    if not classes:
        return finding.saying("Every class shows at least two values of every sensitive attribute that has two.")
    affected, where = rows_of(finding.rows, finding.of), counted(classes, "class")
    return finding.saying(f"{affected} are in {where} where everyone has the same value of {names_of(exposures)}.")


def _alike(scene: Scene, secret: Secret) -> Bools:
    alike = scene.cell_counts(secret).distinct == 1
    if (linked := scene.linked) is not None:  # a value that everyone has, perhaps beside others
        alike |= linked.shown_by_all(secret.cells)
    return np.asarray(alike & bool(np.ptp(secret.cells)))  # one value in the whole table is no news about a class


ATTACK = Attack(
    "homogeneity",
    "homogeneity attack",
    "If everyone in a class has the same value, anyone who knows a person's class learns that value for certain.",
    "classes that show one value only",
    "classes",
    "lower",
    run,
    cure="l = 2, or a smaller t",
)
