"""What certificates of tclose 0.2 say about presence, and how their figures are counted again.

The rule took rows / people of each class as a chance. That is the chance to be in this class, and chances add up over
overlapping classes, so it bounds nothing. Such a certificate stays verifiable; `verify` says what it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tclose.errors import PolicyError
from tclose.policy import Policy
from tclose.policy.settings import exact
from tclose.release.boxes import counts_of
from tclose.release.population import Population
from tclose.table import CodedTable
from tclose.types import Claim
from tclose.words import counted, number

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
        return f"presence: from {least} to {largest} (asked for: {self.min} to {self.max}). {UNRELIABLE}."

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
            return self.open_claim, [f"presence cannot be judged as the certificate says: {error.sentence}"]
        chances = [
            Fraction(size, people) for size, people in zip(found.sizes.tolist(), found.people.tolist(), strict=True)
        ]
        least = Fraction(0) if found.outside else min(chances)
        actual = (ratio(least), ratio(max(chances)), found.population)
        same = f"presence is {actual[0]} to {actual[1]} in {counted(found.population, 'row')}"
        claimed = (self.least, self.largest, self.population_rows)
        problems = [] if actual == claimed else [f"{same}, which is not what the certificate says"]
        return self.open_claim, problems
