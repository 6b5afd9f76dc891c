"""The claim of δ-presence: what is refused at once, what `check` finds, what a certificate claims, who confirms it.

The definition is in `presence.py`, where the boxes of a release are counted as well.

Certificates of tclose 0.2 took rows / people of each class as a chance. That is the chance to be in this class, and
chances add up over overlapping classes, so it bounds nothing. Such a certificate stays verifiable; `verify` says what
it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.errors import Infeasible, PolicyError
from tclose.measure.pair import Population
from tclose.measure.presence import PresenceCounts, counts_of
from tclose.messages import joined, say
from tclose.policy import Builder, Policy, Presence, Quasi
from tclose.policy.settings import exact, spelled
from tclose.privacy.results import ModelFinding
from tclose.table import CodedTable
from tclose.types import Claim
from tclose.words import counted, number

# The claim of certificates of tclose 0.2


UNREADABLE = "what the certificate says about presence is not readable"
UNRELIABLE = (
    "What this certificate says about presence was computed by a rule that does not bound the chance of being in the "
    "table, so it cannot be relied on"
)
REMEDY = "a release that this version of tclose makes or checks with [presence]"


def ratio(level: Fraction) -> str:
    """Write a fraction exactly."""
    return f"{level.numerator}/{level.denominator}"


def read_again(said: Any, policy: Policy) -> Policy:
    """Return a policy with the settings by which a certificate says that published values are read."""
    quasi = Policy.from_dict({"quasi": said, "k": 2})
    if quasi.files:
        raise PolicyError("a certificate cannot name files")
    if set(quasi.quasi) != set(policy.quasi):
        raise PolicyError("its quasi-identifiers are not those of the policy")
    return replace(policy, quasi=quasi.quasi)


@dataclass(frozen=True)
class OldPresenceClaim:
    """The entry of a certificate, as tclose 0.2 wrote it."""

    min: Any
    max: Any
    least: Any  # as a fraction
    largest: Any
    population_rows: Any
    quasi: Any  # the settings by which published values are read

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> OldPresenceClaim:
        """Read the entry of a certificate."""
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return dict(vars(self))

    @property
    def words(self) -> str:
        """The same, for people."""
        least, largest = number(exact(self.least)), number(exact(self.largest))
        return say(
            "presence: from {least} to {largest} (asked for: {min} to {max}). {unreliable}.",
            least=least,
            largest=largest,
            min=self.min,
            max=self.max,
            unreliable=say(UNRELIABLE),
        )

    @property
    def open_claim(self) -> Claim:
        """What the entry is worth, whoever counts it again."""
        return Claim(answer="undecided", says=UNRELIABLE, needs=REMEDY)

    def problems(self, members: Any, withheld: Any) -> list[str]:
        """Compare the entry with itself: what is claimed must be within what was asked for."""
        try:
            levels = [exact(level) for level in (0, self.min, self.least, self.largest, self.max, 1)]
        except (ValueError, ArithmeticError):
            return [UNREADABLE]
        if type(self.population_rows) is not int or self.population_rows < 1:
            return [UNREADABLE]
        within = levels == sorted(levels)
        return [] if within else ["what the certificate says about presence is not within what it asks for"]

    def judged(self, population: Any, policy: Policy, published: CodedTable, withheld: int) -> tuple[Claim, list[str]]:
        """Count again, by a population; that the figures are the same does not make them a guarantee."""
        try:
            found = counts_of(Population.of(population, read_again(self.quasi, policy)), published)
        except PolicyError as error:
            return self.open_claim, [
                say("presence cannot be judged as the certificate says: {sentence}", sentence=error.sentence)
            ]
        chances = [
            Fraction(size, people) for size, people in zip(found.sizes.tolist(), found.people.tolist(), strict=True)
        ]
        least = Fraction(0) if found.outside else min(chances)
        actual = (ratio(least), ratio(max(chances)), found.population)
        same = say(
            "presence is {actual} to {actual_2} in {rows}",
            actual=actual[0],
            actual_2=actual[1],
            rows=counted(found.population, "row"),
        )
        claimed = (self.least, self.largest, self.population_rows)
        problems: list[str] = (
            [] if actual == claimed else [say("{same}, which is not what the certificate says", same=same)]
        )
        return self.open_claim, problems


# The claim of today


VERSION = 2  # of the entry in a certificate; the entries of tclose 0.2 have none
LIMIT = (
    "This takes the cuts between classes as given; they depend on the table, so somebody who knows the algorithm may "
    "learn more"
)
NEEDS = "the population (tclose verify --population FILE)"


def impossible(asked: Presence, members: int, persons: int) -> str | None:
    """Say why no release can keep the limits: everybody's chance is members / persons on average."""
    mean = Fraction(members, persons)
    if asked.min <= mean <= asked.max:
        return None
    name, limit, must = ("max", asked.max, "least") if asked.max < mean else ("min", asked.min, "most")
    return say(
        "{name} = {value} of presence cannot be reached: {members:,} of the {persons:,} persons of the "
        "population are in the table, so their mean chance is {in_words}, whatever is published; {name} "
        "must be at {must} {in_words}",
        name=name,
        value=spelled(limit),
        members=members,
        persons=persons,
        in_words=_in_words(mean),
        must=must,
    )


def check_possible(asked: Presence, members: int, population: Population) -> None:
    """Refuse limits that no release can keep."""
    if (sentence := impossible(asked, members, len(population.table))) is not None:
        raise Infeasible(sentence)


def presence_claim(asked: Presence, found: PresenceCounts) -> Claim:
    """Say whether a release keeps the limits of δ-presence."""
    if (sentence := impossible(asked, found.members, found.population)) is not None:
        return Claim(answer="no", says=sentence)
    if found.faults:
        return Claim(answer="no", says=_faults(found))
    holds = asked.min <= found.least and found.largest <= asked.max
    return Claim(
        answer="yes" if holds else "no",
        says=say(
            "{chances} (asked for: {asked}). {limit}", chances=_chances(found), asked=_asked(asked), limit=say(LIMIT)
        ),
    )


def _faults(found: PresenceCounts) -> str:
    """Say why nobody's chance can be computed."""
    if found.outside or found.several:
        parts = ((found.outside, "{count:,} fit no class"), (found.several, "{count:,} fit several classes"))
        fits = joined(" and ", [say(template, count=count) for count, template in parts if count])
        return say(
            "no chance can be computed: of the {population:,} persons of the population {fits}, but each "
            "must fit exactly one",
            population=found.population,
            fits=fits,
        )
    return say(
        "no chance can be computed: the ranges of {loose:,} of {classes} are not those of all persons of "
        "the population who fit them, so their ends may tell who is in the table",
        loose=found.loose,
        classes=counted(len(found.sizes), "class"),
    )


def _chances(found: PresenceCounts) -> str:
    each = say(
        "each of the {population:,} persons of the population fits exactly one class and is in the table with",
        population=found.population,
    )
    withheld = (
        say(" ({rows} may be in any class)", rows=counted(found.withheld, "withheld row")) if found.withheld else ""
    )
    return say(
        "{each} a chance {chance}{withheld}", each=each, chance=_chance(found.least, found.largest), withheld=withheld
    )


def _chance(least: Fraction, largest: Fraction) -> str:
    if least == largest:
        return say("of exactly {in_words}", in_words=_in_words(least))
    return say("from {in_words} to {in_words_2}", in_words=_in_words(least), in_words_2=_in_words(largest))


def _asked(asked: Presence) -> str:
    return say("{value} to {value_2}", value=spelled(asked.min), value_2=spelled(asked.max))


def _in_words(level: Fraction) -> str:
    """Write a fraction exactly, and as a number where that is something else."""
    return str(level) if level.denominator == 1 else f"{level} ({number(level)})"


def presence_findings(asked: Presence, found: PresenceCounts) -> tuple[ModelFinding, ...]:
    """Return what `check` says about δ-presence: with faults in the boxes, there is no chance to compare."""
    boxes = ModelFinding("presence_boxes", None, 0, found.faults, not found.faults, 0, 0)
    if found.faults:
        return (boxes,)
    levels = (
        ("presence_min", asked.min, found.least, found.least >= asked.min),
        ("presence_max", asked.max, found.largest, found.largest <= asked.max),
    )
    chances = (ModelFinding(name, None, required, reached, holds, 0, 0) for name, required, reached, holds in levels)
    return (boxes, *chances)


@dataclass(frozen=True)
class PresenceClaim:
    """What a certificate says about δ-presence: what was asked for, what is reached, and how to judge it again."""

    min: Any
    max: Any
    least: Any  # as a fraction
    largest: Any
    population_rows: Any
    boxes: Any  # how many there are
    quasi: Any  # the settings by which published values are read

    @classmethod
    def of(cls, asked: Presence, found: PresenceCounts, table: CodedTable) -> PresenceClaim:
        """Claim what was found."""
        return cls(
            spelled(asked.min),
            spelled(asked.max),
            ratio(found.least),
            ratio(found.largest),
            found.population,
            len(found.sizes),
            Policy(quasi=_written_down(table), k=2).to_dict()["quasi"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return {"version": VERSION, **vars(self)}

    @property
    def words(self) -> str:
        """The same, for people."""
        chance = _chance(exact(self.least), exact(self.largest))
        return say(
            "presence: each of the {population_rows:,} persons of the population fits exactly one of "
            "{classes} and is in the table with a chance {chance} (asked for: {min} to {max}). {limit}. To "
            "judge this again, the population is needed (tclose verify --population).",
            population_rows=self.population_rows,
            classes=counted(self.boxes, "class"),
            chance=chance,
            min=self.min,
            max=self.max,
            limit=say(LIMIT),
        )

    @property
    def open_claim(self) -> Claim:
        """What can be said without the population."""
        chance = _chance(exact(self.least), exact(self.largest))
        says = say(
            "by the certificate, everybody of the population is in the table with a chance {chance}", chance=chance
        )
        return Claim(answer="undecided", says=says, needs=NEEDS)

    def problems(self, members: Any, withheld: Any) -> list[str]:
        """Compare the entry with itself, and with the number of rows: the mean chance lies within it."""
        numbers = (self.population_rows, self.boxes, members, withheld)
        try:
            levels = [exact(level) for level in (0, self.min, self.least, self.largest, self.max, 1)]
        except (ValueError, ArithmeticError):
            return [UNREADABLE]
        if any(type(each) is not int for each in numbers) or self.population_rows < 1 or self.boxes < 1:
            return [UNREADABLE]
        if levels != sorted(levels):
            return ["what the certificate says about presence is not within what it asks for"]
        least, largest = levels[2], levels[3]
        published, all_of_them = (Fraction(rows, self.population_rows) for rows in (members, members + withheld))
        if not (least <= published and all_of_them <= largest):
            return ["what the certificate says about presence is impossible: the mean chance lies outside it"]
        return []

    def judged(self, population: Any, policy: Policy, published: CodedTable, withheld: int) -> tuple[Claim, list[str]]:
        """Judge presence again, by a population; return the answer, and what is wrong."""
        try:
            found = counts_of(Population.of(population, read_again(self.quasi, policy)), published, withheld)
        except PolicyError as error:
            sentence = say("presence cannot be judged as the certificate says: {sentence}", sentence=error.sentence)
            return Claim(answer="no", says=sentence), [sentence]
        claim = presence_claim(Presence(Path(), min=exact(self.min), max=exact(self.max)), found)
        return claim, self._differences(found, claim)

    def _differences(self, found: PresenceCounts, claim: Claim) -> list[str]:
        if claim.answer == "no":
            return [claim.says]
        actual = (ratio(found.least), ratio(found.largest), found.population, len(found.sizes))
        if actual == (self.least, self.largest, self.population_rows, self.boxes):
            return []
        return [
            say(
                "{chances}, in {classes}, which is not what the certificate says",
                chances=_chances(found),
                classes=counted(len(found.sizes), "class"),
            )
        ]


AnyPresenceClaim = PresenceClaim | OldPresenceClaim


def presence_claim_from(said: Any) -> AnyPresenceClaim | None:
    """Read the entry of a certificate; None where it has none."""
    if said is None:
        return None
    if not isinstance(said, Mapping):
        raise ValueError("not an entry about presence")
    if "version" not in said:
        return OldPresenceClaim.from_dict(said)
    if said["version"] != VERSION:
        raise ValueError("an entry about presence of another version")
    return PresenceClaim(*(said.get(name) for name in PresenceClaim.__match_args__))


@dataclass(frozen=True, eq=False)
class PresenceJudge:
    """Judges δ-presence from published values, and compares with what is claimed."""

    population: Population
    asked: Presence
    claim: PresenceClaim
    withheld: int

    def confirms(self, published: CodedTable) -> bool:
        """Tell whether δ-presence holds, as it is claimed."""
        found = counts_of(self.population, published, self.withheld)
        if presence_claim(self.asked, found).answer != "yes":
            return False
        return (ratio(found.least), ratio(found.largest)) == (self.claim.least, self.claim.largest)


def presence_judge(population: Population, asked: Presence, release: CodedTable, withheld: int) -> PresenceJudge:
    """Return who confirms δ-presence of published rows; refuse rows that readers could take for something else."""
    found = counts_of(population, release, withheld)
    claim = presence_claim(asked, found)
    if claim.answer != "yes":
        raise Infeasible("no boxes were found for presence: {says}", says=claim.says)
    return PresenceJudge(population, asked, PresenceClaim.of(asked, found, population.table), withheld)


def _written_down(table: CodedTable) -> dict[str, Quasi]:
    """Return how quasi-identifiers are published, with the rows of hierarchies in place of their files."""
    return {
        name: replace(spec, hierarchy=Builder("rows", tuple(table.hierarchies[name].rows())))
        if name in table.hierarchies
        else spec
        for name, spec in table.policy.quasi.items()
    }
