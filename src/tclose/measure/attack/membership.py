"""Membership (Nergiz, Atzori & Clifton 2007): who of a population is in the table at all."""

from __future__ import annotations

from tclose.measure.attack.base import Attack, Finding, Scene, not_applicable
from tclose.words import counted, number, rows_of


def run(scene: Scene) -> Finding:
    """Find how likely anyone of the population is in the table, and who surely is."""
    found = scene.presence
    if found is None:
        return not_applicable(scene, "This attack needs the population that the table is drawn from (--population).")
    alone = int(found.sizes[found.people == found.sizes].sum())
    chances = f"with a chance from {number(found.least)} to {number(found.largest)}"
    sentence = (
        f"Anyone of the population ({counted(found.population, 'row')}) is in the table {chances}, as far as one class "
        f"tells. The classes of {rows_of(alone, scene.rows)} fit only people who are in the table. "
        f"{counted(found.outside, 'row')} of the population fit no class and are surely not in it."
    )
    return Finding(float(found.largest), alone, scene.rows, sentence)


ATTACK = Attack(
    "membership",
    "membership attack",
    "The adversary has the population that the table is drawn from, such as all people of a town, and asks who is in "
    "the table. Rows count as affected if everyone of the population who fits their class is in the table.",
    "largest chance that anyone of the population is in the table",
    "share",
    "lower",
    run,
    cure="max in [presence]; a larger k",
    counts_people=True,
    needs_rows=True,
)
