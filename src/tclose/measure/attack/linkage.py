"""Linkage with a register: who can be found again; the figures are those of `measure/risk.py`."""

from __future__ import annotations

from tclose.measure import risk
from tclose.measure.attack.base import Attack, Finding, Scene
from tclose.words import percent, rows_of


def run_prosecutor(scene: Scene) -> Finding:
    """Look for somebody who is known to be in the table."""
    rows, least = len(scene.labels), int(scene.sizes.min())
    chance = risk.prosecutor(scene.sizes)
    found = Finding(chance, int(scene.sizes[scene.sizes < scene.crowd].sum()), rows, "")
    if least == 1:
        alone = rows_of(int((scene.sizes == 1).sum()), rows)
        return found.saying(f"Somebody known to be in the table may be found for certain: {alone} are alone.")
    return found.saying(
        f"A person known to be in the table hides among at least {least:,} rows: a chance of {percent(chance)}."
    )


def run_journalist(scene: Scene) -> Finding:
    """Look for anybody, by way of the register."""
    crowds = risk.crowds(scene.sizes, scene.people)
    small = (crowds > 0) & (crowds < scene.crowd)
    chance = risk.journalist(scene.sizes, scene.people)
    found = Finding(chance, int(scene.sizes[small].sum()), len(scene.labels), "")
    if not chance:
        return found.saying("The register knows nobody who fits a class.")
    fewest = int(crowds[crowds > 0].min())
    return found.saying(f"The row that is easiest to link fits {fewest:,} people, a chance of {percent(chance)}.")


def run_marketer(scene: Scene) -> Finding:
    """Link as many rows as possible."""
    share, whole = risk.marketer(scene.sizes, scene.people), len(scene.labels)
    right = round(share * whole)
    told = f"Linking every row to anybody of the register who fits is right for about {rows_of(right, whole)}."
    return Finding(share, right, whole, told)


def run_uniqueness(scene: Scene) -> Finding:
    """Count rows that fit one person, where that person fits no other row of the class."""
    rows, whole = int(risk.unique(scene.sizes, scene.people).sum()), len(scene.labels)
    return Finding(rows / whole, rows, whole, f"{rows_of(rows, whole)} fit one person of the register and nobody else.")


PROSECUTOR = Attack(
    "prosecutor",
    "finding a known participant",
    "The adversary knows that a person is in the table and looks for the row; small classes count as affected.",
    "chance of finding the most exposed row",
    "share",
    "lower",
    run_prosecutor,
    counts_people=True,
)
JOURNALIST = Attack(
    "journalist",
    "finding anybody with a register",
    "The adversary holds a register and would be content with anybody; a crowd smaller than k counts as affected.",
    "chance of linking the most exposed row",
    "share",
    "lower",
    run_journalist,
    counts_people=True,
)
MARKETER = Attack(
    "marketer",
    "linking as many as possible",
    "The adversary links every row to somebody who fits; some of these links are right.",
    "share of rows linked rightly",
    "share",
    "lower",
    run_marketer,
    counts_people=True,
)
UNIQUENESS = Attack(
    "uniqueness",
    "rows that fit one person only",
    "A row that fits one person of the register, and that person no other row, is that person's.",
    "share of rows that are unique",
    "share",
    "lower",
    run_uniqueness,
    counts_people=True,
)
