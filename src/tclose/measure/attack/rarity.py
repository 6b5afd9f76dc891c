"""Rare values: sensitive values are published as they are, and a value that few rows share identifies a person."""

from __future__ import annotations

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, not_applicable
from tclose.words import columns, rows_of

UNLINKED = "No row shows a sensitive value: the values of each class are counted apart from its rows."


def run(scene: Scene) -> Finding:
    """Find the rarest value, and the rows whose value fewer than k rows share."""
    secrets = [secret for secret in scene.secrets if secret.linked]
    if not secrets:
        return not_applicable(scene, UNLINKED if scene.secrets else NO_SECRET)
    rare, least, names = np.zeros(len(scene.labels), dtype=bool), len(scene.labels), []
    for secret in secrets:
        shared = np.bincount(secret.cells)[secret.cells]
        least = min(least, int(shared.min()))
        if (shared < scene.crowd).any():
            rare |= shared < scene.crowd
            names.append(secret.name)
    rows = int(rare.sum())
    sentence = f"At least {least:,} rows share every sensitive value."
    if rows:
        sentence = (
            f"{rows_of(rows, len(scene.labels))} show a value of {columns(names)} that fewer than {scene.crowd:,} rows "
            "share: anyone who knows the value finds the row."
        )
    return Finding(least, rows, len(scene.labels), sentence)


ATTACK = Attack(
    "rarity",
    "rare value attack",
    "Anyone who knows a person's rare disease or exact salary finds the person's row, whatever its class.",
    "rows that share the rarest value",
    "rows",
    "higher",
    run,
    cure='bins and publish = "bin"',
    counts_people=True,
)
