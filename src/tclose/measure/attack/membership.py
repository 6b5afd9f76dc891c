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
    return Finding(float(found.at_least), found.certain, scene.rows, _sentences(found))


def _sentences(found: Membership) -> str:
    if found.counts.everybody:
        people = counted(found.counts.population, "row")
        return f"Everybody of the population ({people}) is certainly in the table: it has as many rows."
    return (_exactly(found) if found.exact else _at_least(found)) + _outside(found)


def _exactly(found: Membership) -> str:
    counts = found.counts
    least, largest = number(counts.least), number(counts.largest)
    chance = f"of exactly {least}" if counts.least == counts.largest else f"from {least} to {largest}"
    verb = "is" if found.certain == 1 else "are"
    certain = f"{counted(found.certain, 'person')} {verb}" if found.certain else "Nobody is"
    return (
        f"Everybody of the population ({counted(counts.population, 'row')}) fits exactly one class and is in the table "
        f"with a chance {chance}. {certain} certainly in the table."
    )


def _at_least(found: Membership) -> str:
    population = f"of the population ({counted(found.counts.population, 'row')})"
    if not found.certain:
        chance = number(found.at_least)
        return (
            f"Somebody {population} is in the table with a chance of at least {chance}. Nobody was found who is "
            "certainly in it."
        )
    verb = "is" if found.certain == 1 else "are"
    return (
        f"At least {counted(found.certain, 'person')} {population} {verb} certainly in the table: everybody who fits "
        "their class is, or nobody else has a value that their class publishes as the end of a range, in a set or as "
        "missing."
    )


def _outside(found: Membership) -> str:
    outside, withheld = found.counts.outside, found.counts.withheld
    if not outside:
        return ""
    fits = f" {counted(outside, 'person')} {'fits' if outside == 1 else 'fit'} no class"
    if withheld:  # nobody sees what withheld rows show
        return f"{fits}: of these, at most {withheld:,} can be in the table, in withheld rows."
    return f"{fits} and {'is' if outside == 1 else 'are'} certainly not in it."


ATTACK = Attack(
    "membership",
    "membership attack",
    "The adversary has the population that the table is drawn from, such as all people of a town, and asks who is in "
    "the table. Rows count as affected if their persons are certainly in it: everybody who fits their class is, or "
    "nobody else has a value that their class publishes as the end of a range, in a set or as missing.",
    "largest chance that anyone of the population is in the table; where classes overlap, at least this",
    "share",
    "lower",
    run,
    cure="max in [presence]; a larger k",
    counts_people=True,
    needs_rows=True,
)
