"""The population of a table: who of it fits which class of a release, and classes that δ-presence admits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.errors import Infeasible, InputError, PolicyError, Unsuited
from tclose.measure.presence import PresenceCounts
from tclose.policy import Builder, Policy, Presence, Quasi
from tclose.policy.settings import exact, spelled
from tclose.privacy.results import ModelFinding
from tclose.release.beside import coverings, linked
from tclose.table import CodedTable, encode_quietly, to_polars
from tclose.table.sources import read
from tclose.types import Beat, still
from tclose.words import counted, number

BELONGS = "the release does not belong to the table: "
UNREADABLE = "what the certificate says about presence is not readable"


@dataclass(frozen=True, eq=False)
class Population:
    """The rows of a population, coded by the quasi-identifiers and kept columns of a policy."""

    table: CodedTable

    @classmethod
    def of(cls, given: Any, policy: Policy, like: CodedTable | None = None) -> Population:
        """Take a frame, or read a file, with numbers where the table has them; further columns are ignored."""
        asked = Policy(quasi=policy.quasi, keep=policy.keep, k=2, missing=policy.missing, others="drop")
        try:
            frame = to_polars(read(given, missing=policy.missing) if isinstance(given, str | Path) else given)
            population = cls(encode_quietly(frame, asked, ignore_others=True))
            if like is not None:
                population._check_like(like)
            _ = population.table.quasi  # codes them, so that mistakes are found now
        except (InputError, PolicyError) as error:
            sentence = error.sentence.replace("the table has no column", "it has no column")
            raise InputError(f"the population cannot be used: {sentence}", detail=error.detail) from None
        return population

    def _check_like(self, table: CodedTable) -> None:
        """Refuse a population with text where the table has numbers or dates."""
        for name in table.policy.visible:
            kind = table.values(name).kind
            if kind in ("number", "date") and self.table.values(name).kind != kind:
                raise InputError(f"its column '{name}' is not all {kind}s, as the table's is")

    def counted(self, published: CodedTable, beat: Beat = still) -> PresenceCounts:
        """Count who fits each class of a published table; a population that cannot hold the table is refused."""
        try:
            links = linked(coverings(self.table, published, beat=beat), published.classes.sizes, beat)
        except InputError as error:
            raise InputError(
                f"the population does not hold the table: {error.sentence.removeprefix(BELONGS)} of it",
                detail=error.detail,
            ) from None
        found = PresenceCounts.of(links)
        if found.lacking:
            classes = counted(len(found.sizes), "class")
            raise InputError(
                f"the population does not hold the table: {found.lacking:,} of {classes} with more rows than the "
                "population has people who fit"
            )
        return found


def check_presence(layout: str, method: str) -> None:
    """Refuse δ-presence for a method that publishes no table of classes, or several tables."""
    if layout != "one table":
        raise Unsuited(
            f"presence is judged for one table of classes, which '{method}' does not publish: choose another"
        )


def presence_findings(asked: Presence, found: PresenceCounts) -> tuple[ModelFinding, ...]:
    """Return what `check` says about δ-presence."""
    levels = (("presence_min", asked.min, found.least), ("presence_max", asked.max, found.largest))
    return tuple(
        ModelFinding(name, None, required, reached, asked.min <= reached <= asked.max, 0, 0)
        for name, required, reached in levels
    )


def refused(asked: Presence, found: PresenceCounts) -> Infeasible:
    """Return what to say where no classes were found that δ-presence admits."""
    wanted = f"presence from {number(asked.min)} to {number(asked.max)}"
    reached = f"merged classes reach {number(found.least)} to {number(found.largest)}"
    return Infeasible(f"no partition was found for {wanted}: {reached}")


@dataclass(frozen=True)
class PresenceClaim:
    """What a certificate says about δ-presence: what was asked for, what is reached, and how to judge it again."""

    min: Any
    max: Any
    least: Any  # as a fraction
    largest: Any
    population_rows: Any
    quasi: Any  # the settings by which published values are read

    @classmethod
    def of(cls, asked: Presence, found: PresenceCounts, table: CodedTable) -> PresenceClaim:
        """Claim what was found."""
        return cls(
            spelled(asked.min),
            spelled(asked.max),
            _ratio(found.least),
            _ratio(found.largest),
            found.population,
            Policy(quasi=_written_down(table), k=2).to_dict()["quasi"],
        )

    @classmethod
    def from_dict(cls, said: Any) -> PresenceClaim | None:
        """Read the entry of a certificate; None where it has none."""
        if said is None:
            return None
        if not isinstance(said, Mapping):
            raise ValueError("not an entry about presence")
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return dict(vars(self))

    @property
    def words(self) -> str:
        """The same, for people."""
        least, largest = number(exact(self.least)), number(exact(self.largest))
        return (
            f"presence: anyone of a population of {self.population_rows:,} rows is in the table with a chance from "
            f"{least} to {largest}, as far as one class tells (asked for: {self.min} to {self.max}). To "
            "judge this again, the population is needed (tclose verify --population)."
        )

    def problems(self) -> list[str]:
        """Compare the entry with itself: what is claimed must be within what was asked for."""
        try:
            levels = [exact(level) for level in (0, self.min, self.least, self.largest, self.max, 1)]
        except (ValueError, ArithmeticError):
            return [UNREADABLE]
        if type(self.population_rows) is not int or self.population_rows < 1:
            return [UNREADABLE]
        within = levels == sorted(levels)
        return [] if within else ["what the certificate says about presence is not within what it asks for"]

    def problems_with(self, population: Any, policy: Policy, published: CodedTable) -> list[str]:
        """Judge presence again, by a population."""
        try:
            quasi = Policy.from_dict({"quasi": self.quasi, "k": 2})
            if quasi.files:
                raise PolicyError("a certificate cannot name files")
            if set(quasi.quasi) != set(policy.quasi):
                raise PolicyError("its quasi-identifiers are not those of the policy")
            found = Population.of(population, replace(policy, quasi=quasi.quasi)).counted(published)
        except PolicyError as error:
            return [f"presence cannot be judged as the certificate says: {error.sentence}"]
        actual = (_ratio(found.least), _ratio(found.largest), found.population)
        claimed = (self.least, self.largest, self.population_rows)
        same = f"presence is {actual[0]} to {actual[1]} in {counted(found.population, 'row')}"
        return [] if actual == claimed else [f"{same}, which is not what the certificate says"]


@dataclass(frozen=True, eq=False)
class PresenceJudge:
    """Judges δ-presence from published values, and compares with what is claimed."""

    population: Population
    asked: Presence
    claim: PresenceClaim

    def confirms(self, published: CodedTable) -> bool:
        """Tell whether δ-presence holds, as it is claimed."""
        found = self.population.counted(published)
        holds = not found.failing(self.asked.min, self.asked.max).any()
        return holds and (_ratio(found.least), _ratio(found.largest)) == (self.claim.least, self.claim.largest)


def _written_down(table: CodedTable) -> dict[str, Quasi]:
    """Return how quasi-identifiers are published, with the rows of hierarchies in place of their files."""
    return {
        name: replace(spec, hierarchy=Builder("rows", tuple(table.hierarchies[name].rows())))
        if name in table.hierarchies
        else spec
        for name, spec in table.policy.quasi.items()
    }


def _ratio(level: Fraction) -> str:
    return f"{level.numerator}/{level.denominator}"
