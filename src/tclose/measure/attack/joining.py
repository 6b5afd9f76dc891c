"""Background join (Fang et al., as described in Weber's thesis, section 2.4): one sensitive value reveals the others.

Sensitive values are published as they are. Anyone who knows a person's class and one of the person's values looks up
the rows of the class that show it; where these rows agree on another attribute, that value is known, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.distance import Counts
from tclose.measure.attack.base import Attack, Finding, Scene, Secret, SomeClasses, not_applicable
from tclose.measure.linked_persons import RowsOfPersons
from tclose.types import Bools, Ints
from tclose.words import columns, percent, rows_of


def run(scene: Scene) -> Finding:
    """Find the rows for which one known value reveals another, and the share of rows that it singles out."""
    rows, secrets = scene.rows, [secret for secret in scene.secrets if secret.linked]
    if len(secrets) < 2 and (scene.linked is None or not secrets):
        return not_applicable(
            scene, "This attack needs two sensitive attributes: one that the adversary knows, and one to learn."
        )
    telling = {secret.name for secret in secrets if np.ptp(secret.cells)}
    singled_out, affected = dict.fromkeys((secret.name for secret in secrets), 0), 0
    for classes in scene.some_classes():
        learnt = np.zeros(len(classes.labels), dtype=bool)
        for known in classes.linked:
            group = _groups(classes, known)
            singled_out[known.name] += classes.number_of(np.bincount(group, classes.rows)[group] == 1)
            for other in classes.linked:
                if other is not known and other.name in telling:
                    learnt |= _agree(group, other)
        affected += classes.number_of(_with_persons(scene.linked, learnt, secrets))
    share, name = max((number / rows, name) for name, number in singled_out.items())
    sentence = (
        f"Anyone who knows a person's class and {columns([name])} singles out {percent(share)} of the rows; for "
        f"{rows_of(affected, rows)}, the class and one known value reveal another value."
    )
    return Finding(share, affected, rows, sentence)


def _with_persons(linked: RowsOfPersons | None, learnt: Bools, secrets: Sequence[Secret]) -> Bools:
    """Mark also what the other rows of a person tell, where pseudonyms link them."""
    if linked is None:
        return learnt
    learnt = linked.all_rows(learnt)
    for known in secrets:
        learnt |= linked.revealed_by(known.name, {secret.name: secret.cells for secret in secrets})
    return learnt


def _groups(classes: SomeClasses, known: Secret) -> Ints:
    """Give numbers to the rows of each class that show the same known value."""
    key = classes.labels * (int(known.cells.max()) + 1) + known.cells
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _agree(group: Ints, secret: Secret) -> Bools:
    """Tell for each row whether its group shows one value only."""
    distinct = Counts.from_codes(group, secret.cells, int(secret.cells.max()) + 1).distinct
    return np.asarray((distinct == 1)[group])


ATTACK = Attack(
    "background_join",
    "background join attack",
    "Anyone who knows a person's class and one sensitive value, such as a salary, looks up the person's other values.",
    "largest share of rows singled out by one known value",
    "share",
    "lower",
    run,
    cure='bins and publish = "bin", wider bins where there are some, or --method projections',
)
