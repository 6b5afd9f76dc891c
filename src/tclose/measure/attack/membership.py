"""Membership (Nergiz, Atzori & Clifton 2007): who of a population is in the table at all."""

from __future__ import annotations

from tclose.measure.attack.base import Attack, Finding, Scene, not_applicable
from tclose.measure.presence import Membership
from tclose.words import counted, number


def run(scene: Scene) -> Finding:
    """Find how likely anyone of the population is in the table, and who surely is."""
    found = scene.presence
    if found is None:
        return not_applicable(scene, "This attack needs the population that the table is drawn from (--population).")
    sentences = (_chances(found), _certain(found), _outside(found))
    return Finding(float(found.at_least), found.certain, scene.rows, " ".join(filter(None, sentences)))


def _chances(found: Membership) -> str:
    counts = found.counts
    population = f"population ({counted(counts.population, 'row')})"
    if not found.exact:
        return f"Some persons of the {population} are in the table with a chance of at least {number(found.at_least)}."
    least, largest = counts.least, counts.largest
    chance = f"of exactly {number(least)}" if least == largest else f"from {number(least)} to {number(largest)}"
    return f"Everybody of the {population} fits exactly one class and is in the table with a chance {chance}."


def _certain(found: Membership) -> str:
    if not found.certain:
        return "Nobody was found who is certainly in the table."
    persons, least = counted(found.certain, "person"), "" if found.exact else "At least "
    why = (
        "all who fit their class are in the table, or only they have a value that their class publishes as the end of "
        "a range, in a set or as missing"
    )
    verb = "is" if found.certain == 1 else "are"
    return f"{least}{persons} {verb} certainly in the table: {'all who fit their class are' if found.exact else why}."


def _outside(found: Membership) -> str:
    outside = found.counts.outside
    verb = "fits no class and is" if outside == 1 else "fit no class and are"
    return f"{counted(outside, 'person')} of the population {verb} certainly not in it." if outside else ""


ATTACK = Attack(
    "membership",
    "membership attack",
    "The adversary has the population that the table is drawn from, such as all people of a town, and asks who is in "
    "the table. Rows count as affected if their persons are certainly in it: everybody who fits their class is, or "
    "nobody else has a value that their class publishes as the end of a range, in a set or as missing.",
    "largest chance that anyone of the population is in the table, or a bound below it",
    "share",
    "lower",
    run,
    cure="max in [presence]; a larger k",
    counts_people=True,
    needs_rows=True,
)
