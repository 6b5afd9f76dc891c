"""Rare values: sensitive values are published as they are, and one that few rows share names its holder."""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, nothing
from tclose.words import columns, rows_of


def run(scene: Scene) -> Finding:
    """Find the rarest value, and the rows whose value fewer than a crowd share."""
    if not scene.secrets:
        return nothing(scene, NO_SECRET)
    rare, least, names = np.zeros(len(scene.labels), dtype=bool), len(scene.labels), []
    for secret in scene.secrets:
        shared = np.bincount(secret.cells)[secret.cells]
        least = min(least, int(shared.min()))
        if (shared < scene.crowd).any():
            rare |= shared < scene.crowd
            names.append(secret.name)
    rows = int(rare.sum())
    told = f"Every sensitive value is shared by {least:,} rows at least."
    if rows:
        told = (
            f"{rows_of(rows, len(scene.labels))} show a value of {columns(names)} that fewer than {scene.crowd:,} rows "
            "share: anyone who knows the value finds the row."
        )
    return Finding(least, rows, len(scene.labels), told)


ATTACK = Attack(
    "rarity",
    "values so rare that they identify",
    "A rare disease or an exact salary that the neighbours know leads to the row, whatever its class.",
    "rows that share the rarest value",
    "rows",
    "higher",
    run,
    counts_people=True,
)
