"""Rare values: sensitive values are published as they are, and a value that few rows share identifies a person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, not_applicable
from tclose.types import Bools
from tclose.words import columns, rows_of

UNLINKED = "No row shows a sensitive value: the values of each class are counted apart from its rows."


def run(scene: Scene) -> Finding:
    """Find the rarest value, and the rows whose value fewer than k rows share."""
    secrets = [secret for secret in scene.secrets if secret.linked]
    if not secrets:
        return not_applicable(scene, UNLINKED if scene.secrets else NO_SECRET)
    shared = {secret.name: secret.shared for secret in secrets}
    fewest = {name: int(rows[rows > 0].min()) for name, rows in shared.items()}
    least, names = min(fewest.values()), [name for name, rows in fewest.items() if rows < scene.crowd]
    rows = _rows(scene, {name: shared[name] < scene.crowd for name in names}) if names else 0
    sentence = f"At least {least:,} rows share every sensitive value."
    if rows:
        sentence = (
            f"{rows_of(rows, scene.rows)} show a value of {columns(names)} that fewer than {scene.crowd:,} rows "
            "share: anyone who knows the value finds the row."
        )
    return Finding(least, rows, scene.rows, sentence)


def _rows(scene: Scene, rare: Mapping[str, Bools]) -> int:
    """Count the rows that show a rare value of some attribute."""
    rows = 0
    for classes in scene.some_classes():
        shown = [rare[secret.name][secret.cells] for secret in classes.secrets if secret.name in rare]
        rows += classes.number_of(np.any(shown, axis=0))
    return rows


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
