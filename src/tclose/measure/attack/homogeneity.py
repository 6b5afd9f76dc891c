"""Attacks on classes of one, few or similar values: homogeneity, background knowledge, similarity.

Homogeneity (Machanavajjhala et al. 2006): a class in which everyone has the same value reveals it for everyone.

Background knowledge (Machanavajjhala et al. 2006): the adversary can exclude values for a person. Anyone who knows
which values a person does not have is left with few values, if the person's class shows few.

Similarity (Li, Li & Venkatasubramanian 2007, section 3): a class whose values differ and yet mean the same. All values
of the class lie under one inner node of the attribute's hierarchy, or within a quarter of its ordered domain (by rank
or by value, as the attribute's distance has it), or within a quarter of the largest cost of its matrix. What holds for
the whole table is no news about a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
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
from tclose.messages import say
from tclose.types import Bools, Ints
from tclose.words import class_numbers, columns, counted, rows_of

# Homogeneity attack


def run_homogeneity(scene: Scene) -> Finding:
    """Count the classes that show one value of an attribute, where the whole table shows several."""
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    exposures = [Exposure(secret.name, _same_value(scene, secret)) for secret in scene.secrets]
    classes = int(exposed_for_any(exposures).sum())
    finding = finding_of(scene, classes, exposures)
    if not classes:
        return finding.saying("Every class shows at least two values of every sensitive attribute that has two.")
    affected, where = rows_of(finding.rows, finding.of), counted(classes, "class")
    return finding.saying(
        say(
            "{rows} are in {classes} where everyone has the same value of {columns}.",
            rows=affected,
            classes=where,
            columns=names_of(exposures),
        )
    )


def _same_value(scene: Scene, secret: Secret) -> Bools:
    alike = scene.cell_counts(secret).distinct == 1
    if (linked := scene.linked) is not None:  # a value that everyone has, perhaps beside others
        alike |= linked.shown_by_all(secret.cells)
    return np.asarray(alike & bool(np.ptp(secret.cells)))  # one value in the whole table is no news about a class


HOMOGENEITY = Attack(
    "homogeneity",
    "homogeneity attack",
    "If everyone in a class has the same value, anyone who knows a person's class learns that value for certain.",
    "classes that show one value only",
    "classes",
    "lower",
    run_homogeneity,
    cure="l = 2, or a smaller t",
)


# Background knowledge attack


EXCLUDED = 1  # values that the adversary knows a person not to have
NOTHING = (
    "Excluding one value leaves at least two values in every class, for every sensitive attribute that has three "
    "values or more."
)


def run_background(scene: Scene) -> Finding:
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
    return finding.saying(
        say(
            "For {rows}, excluding one value of {columns} leaves a single value.",
            rows=affected,
            columns=names_of(exposures),
        )
    )


BACKGROUND = Attack(
    "background_knowledge",
    "background knowledge attack",
    "The adversary knows a value that the person does not have, and excludes it. If the class shows two values only, "
    "the other one is certain.",
    "fewest values to exclude until one is certain",
    "values",
    "higher",
    run_background,
    cure="l = 3, or a smaller t",
)


# Similarity attack


QUARTER = 4
NOTION = "a hierarchy, an order or a matrix for every sensitive attribute"


def run_similarity(scene: Scene) -> Finding:
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
        say(
            "{rows} are in {classes} whose values of {columns} are alike: {numbers}.",
            rows=affected,
            classes=where,
            columns=attributes,
            numbers=class_numbers(numbers),
        )
    )


def _nothing_alike(finding: Finding, left_out: Sequence[str]) -> Finding:
    """Say that nothing is alike, and which attributes were not looked at."""
    nothing = say("In no class are all values alike, unless they are alike in the whole table.")
    if not left_out:
        return finding.saying(nothing)
    return replace(
        finding,
        sentence=say(
            "{nothing} Not looked at, without an order: {columns}.", nothing=nothing, columns=columns(left_out)
        ),
        needs=NOTION,
    )


def _comparable(secret: Secret) -> bool:
    return len(secret.levels) > 2 or secret.positions is not None or secret.costs is not None


def _exposure(scene: Scene, secret: Secret) -> Exposure:
    alike, lessons = _similar_values(scene.code_counts(secret), secret)
    return Exposure(secret.name, alike, lessons.__getitem__)


def _similar_values(counts: Counts, secret: Secret) -> tuple[Bools, Sequence[str]]:
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
            lessons[number] = say("all under '{node}'", node=secret.nodes[height][low[number]])
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


SIMILARITY = Attack(
    "similarity",
    "similarity attack",
    "A class may show several values that mean nearly the same: all are stomach diseases, or all salaries are low.",
    "classes whose values are alike",
    "classes",
    "lower",
    run_similarity,
    cure="a smaller t",
)
