"""Similarity (Li, Li & Venkatasubramanian 2007, section 3): a class whose values differ and yet mean the same.

All values of the class lie under one inner node of the attribute's hierarchy, or within a quarter of its ordered
domain (by rank or by value, as the attribute's distance has it), or within a quarter of the largest cost of its matrix.
What holds for the whole table is no news about a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.measure.attack.base import (
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
from tclose.types import Bools, Ints
from tclose.words import class_numbers, columns, counted, rows_of

QUARTER = 4
NOTION = "a hierarchy, an order or a matrix for every sensitive attribute"


def run(scene: Scene) -> Finding:
    """Find the classes whose values are alike."""
    exposures = [_exposure(scene, secret) for secret in scene.secrets if _comparable(secret)]
    if not exposures:
        return not_applicable(
            scene,
            "No sensitive attribute has a hierarchy, an order or costs, so no two values are alike.",
            needs=NOTION,
        )
    numbers = (np.flatnonzero(exposed_for_any(exposures)) + 1).tolist()
    finding = finding_of(scene, len(numbers), exposures)
    if not numbers:
        return _nothing_alike(finding, [secret.name for secret in scene.secrets if not _comparable(secret)])
    affected, where = rows_of(finding.rows, finding.of), counted(len(numbers), "class")
    attributes = names_of(exposures)
    return finding.saying(
        f"{affected} are in {where} whose values of {attributes} are alike: {class_numbers(numbers)}."
    )


def _nothing_alike(finding: Finding, left_out: Sequence[str]) -> Finding:
    """Say that nothing is alike, and which attributes were not looked at."""
    nothing = "In no class are all values alike, unless they are alike in the whole table."
    if not left_out:
        return finding.saying(nothing)
    return replace(finding, sentence=f"{nothing} Not looked at, without an order: {columns(left_out)}.", needs=NOTION)


def _comparable(secret: Secret) -> bool:
    return len(secret.levels) > 2 or secret.positions is not None or secret.costs is not None


def _exposure(scene: Scene, secret: Secret) -> Exposure:
    alike, lessons = _alike(scene.code_counts(secret), secret)
    return Exposure(secret.name, alike, lessons.__getitem__)


def _alike(counts: Counts, secret: Secret) -> tuple[Bools, Sequence[str]]:
    if secret.levels:
        return _under_one_node(counts, secret)
    if secret.costs is not None:
        return _near(counts, secret.costs, np.unique(secret.codes)), ["all near each other"] * len(counts)
    assert secret.positions is not None
    return _on_a_line(counts, secret.positions, np.unique(secret.codes))


def _under_one_node(counts: Counts, secret: Secret) -> tuple[Bools, list[str]]:
    """Look one step below the lowest node that covers the whole table."""
    shown = np.unique(secret.codes)
    inner = [height for height, level in enumerate(secret.levels) if height and np.ptp(level[shown])]
    alike, lessons = np.zeros(len(counts), dtype=bool), [""] * len(counts)
    for height in reversed(inner):
        node = secret.levels[height][counts.codes]
        low, high = np.minimum.reduceat(node, counts.starts), np.maximum.reduceat(node, counts.starts)
        alike |= low == high
        for number in np.flatnonzero(low == high).tolist():  # the lowest node comes last and stays
            lessons[number] = f"all under '{secret.nodes[height][low[number]]}'"
    return alike, lessons


def _on_a_line(counts: Counts, positions: NDArray[np.float64], shown: Ints) -> tuple[Bools, list[str]]:
    """Look at the values on the line; a missing value beside it is like no other."""
    whole, missing = positions[-1] - positions[0], len(positions)
    place = np.append(positions, positions[0])[counts.codes]
    low = np.minimum.reduceat(np.where(counts.codes == missing, positions[-1], place), counts.starts)
    high = np.maximum.reduceat(place, counts.starts)
    with_missing = counts.count_of(missing) > 0
    telling = QUARTER * np.ptp(positions[shown[shown < missing]]) > whole if shown[0] < missing else False
    lessons = np.full(len(counts), "all within a quarter of the range", dtype=object)
    lessons[QUARTER * (high - positions[0]) <= whole] = "all low: within the lowest quarter of the range"
    lessons[QUARTER * (positions[-1] - low) <= whole] = "all high: within the highest quarter of the range"
    lessons[with_missing] = "all missing"
    near = (QUARTER * (high - low) <= whole) & telling
    return np.where(with_missing, (counts.distinct == 1) & (len(shown) > 1), near), lessons.tolist()


def _near(counts: Counts, costs: NDArray[np.float64], shown: Ints) -> Bools:
    """Look for values that are far apart; where all values of the table are near each other, that is no news."""
    far = (QUARTER * costs > costs.max()).astype(np.float32)
    if not far[np.ix_(shown, shown)].any():
        return np.zeros(len(counts), dtype=bool)
    shows = np.zeros((len(counts), counts.domain_size), dtype=np.float32)
    shows[counts.per_entry(np.arange(len(counts))), counts.codes] = 1
    return np.asarray(((shows @ far) * shows).sum(axis=1) == 0)


ATTACK = Attack(
    "similarity",
    "similarity attack",
    "A class may show several values that mean nearly the same: all are stomach diseases, or all salaries are low.",
    "classes whose values are alike",
    "classes",
    "lower",
    run,
    cure="a smaller t",
)
