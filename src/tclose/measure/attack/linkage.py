"""Linkage with a register: which rows can be linked to a person; the figures are those of `measure/risk.py`."""

from __future__ import annotations

from tclose.measure import risk
from tclose.measure.attack.base import Attack, Finding, Scene, not_applicable
from tclose.words import percent, rows_of

NOBODY = (
    "No person of the register fits any class, so nothing could be linked. This attack needs a register of people of "
    "the table, spelled as the table is."
)


def run_prosecutor(scene: Scene) -> Finding:
    """Look for a person who is known to be in the table."""
    rows, least = scene.rows, int(scene.sizes.min())
    chance = risk.prosecutor(scene.sizes)
    finding = Finding(chance, int(scene.sizes[scene.sizes < scene.crowd].sum()), rows, "")
    if least == 1:
        alone = rows_of(int((scene.sizes == 1).sum()), rows)
        return finding.saying(f"{alone} are alone in their class: anyone who looks for these people finds their rows.")
    return finding.saying(
        f"Every person shares a class of at least {least:,} rows, so a guess is right with a chance of at most "
        f"{percent(chance)}."
    )


def run_journalist(scene: Scene) -> Finding:
    """Look for any person of the register."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    crowds = risk.crowds(scene.sizes, scene.people)
    small = (crowds > 0) & (crowds < scene.crowd)
    chance = risk.journalist(scene.sizes, scene.people)
    finding = Finding(chance, int(scene.sizes[small].sum()), scene.rows, "")
    fewest = int(crowds[crowds > 0].min())
    crowd = "fits 1 person and is alone in its class" if fewest == 1 else f"hides among {fewest:,} rows or people"
    return finding.saying(f"The most exposed row {crowd}: a link is right with a chance of {percent(chance)}.")


def run_marketer(scene: Scene) -> Finding:
    """Link as many rows as possible."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    share, whole = risk.marketer(scene.sizes, scene.people), scene.rows
    right = round(share * whole)
    sentence = f"If every row is linked to a person of the register who fits, about {rows_of(right, whole)} are right."
    return Finding(share, right, whole, sentence)


def run_uniqueness(scene: Scene) -> Finding:
    """Count rows that are alone in their class and fit exactly one person."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    rows, whole = int(risk.unique(scene.sizes, scene.people).sum()), scene.rows
    sentence = f"{rows_of(rows, whole)} are alone in their class and fit exactly one person of the register."
    return Finding(rows / whole, rows, whole, sentence)


PROSECUTOR = Attack(
    "prosecutor",
    "prosecutor attack",
    "The adversary knows that a person is in the table and looks for the person's row. Rows in classes of fewer than k "
    "rows count as affected.",
    "chance of finding the most exposed row",
    "share",
    "lower",
    run_prosecutor,
    cure="a larger k",
    counts_people=True,
)
JOURNALIST = Attack(
    "journalist",
    "journalist attack",
    "The adversary has a register and looks for any person in it. A row hides among the rows of its class or the "
    "people who fit it, whichever are more. Rows that fit a person and hide among fewer than k count as affected.",
    "chance of linking the most exposed row",
    "share",
    "lower",
    run_journalist,
    cure="a larger k",
    counts_people=True,
)
MARKETER = Attack(
    "marketer",
    "marketer attack",
    "The adversary links every row to a person of the register who fits. Some of these links are right.",
    "share of rows linked to the right person",
    "share",
    "lower",
    run_marketer,
    cure="a larger k",
    counts_people=True,
)
UNIQUENESS = Attack(
    "uniqueness",
    "uniqueness",
    "If a row is alone in its class and fits exactly one person of the register, the adversary links it to this "
    "person.",
    "share of rows that are alone in their class and fit exactly one person",
    "share",
    "lower",
    run_uniqueness,
    cure="a larger k",
    counts_people=True,
)
