"""What every privacy model can do: judge all classes of a table at once.

A model can also say which level can be asked for instead of one that cannot be reached, rounded so that asking for it
works. And it can demand something of one class's counts alone, for methods that judge classes while they form them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.messages import say
from tclose.table.hierarchies import spell
from tclose.types import Ints
from tclose.words import figure

# Levels that can be asked for


Level = int | float | Fraction
NO_LEVEL = say("no level can be")


def at_least(reached: Level) -> str:
    """Say which level can be asked for where classes must reach at least a level.

    >>> at_least(Fraction(7, 3))
    '2.3333 can be'
    """
    return say("{level} can be", level=rounded_down(reached))


def at_most(reached: Level) -> str:
    """Say which level can be asked for where classes may reach at most a level.

    >>> at_most(Fraction(1, 3)), at_most(math.inf)
    ('0.3334 can be', 'no level can be')
    """
    return NO_LEVEL if reached == math.inf else say("{level} can be", level=rounded_up(reached))


def below(reached: Level) -> str:
    """Say which level can be asked for where classes must stay below a level.

    >>> below(Fraction(1, 3))
    'anything above 0.3334 can be'
    """
    return NO_LEVEL if reached == math.inf else say("anything above {level} can be", level=rounded_up(reached))


def rounded_up(level: Level) -> str:
    """Spell a level with four decimals, rounded up."""
    return figure(spell(Fraction(math.ceil(Fraction(level) * 10_000), 10_000)))


def rounded_down(level: Level) -> str:
    """Spell a level with four decimals, rounded down."""
    return figure(spell(Fraction(math.floor(Fraction(level) * 10_000), 10_000)))


# What a model demands of one class's counts alone


FINE = 2**40  # an irrational share is rounded to a multiple of 1 / FINE, to the strict side
NEAR = 1e-12  # relative; the error of a logarithm or a power in floats is smaller


@dataclass(frozen=True)
class Rule:
    """Limits on a class: a class that keeps them is admitted by the model. Merging two such classes keeps them.

    `most` and `least` hold the largest and the smallest share of a class per value; empty means no limit.
    """

    most: tuple[Fraction, ...] = ()
    least: tuple[Fraction, ...] = ()
    distinct: int = 0  # the least number of different values
    entropy: float = 0.0  # the least entropy, in nats
    divergence: float = math.inf  # the largest Σ p·ln(p/q) from the whole table, in nats
    surprisal: tuple[float, ...] = ()  # with a divergence: −ln q of every value
    recursive: tuple[Fraction, int] | None = None  # c and l of recursive (c,l)-diversity
    exact: bool = True  # whether the model admits only these classes; rounding makes a rule a little stricter

    @property
    def linear(self) -> bool:
        """Whether the rule only limits shares of values, so that a linear programme can hold it."""
        all_values = self.distinct or self.entropy or self.divergence < math.inf
        return not all_values and self.recursive is None


def combined(rules: Iterable[Rule]) -> Rule:
    """Return the rule that demands what all of the rules demand; at most one of them may be recursive."""
    given = list(rules)
    recursive = [rule.recursive for rule in given if rule.recursive is not None]
    return Rule(
        most=tuple(map(min, zip(*(rule.most for rule in given if rule.most), strict=True))),
        least=tuple(map(max, zip(*(rule.least for rule in given if rule.least), strict=True))),
        distinct=max((rule.distinct for rule in given), default=0),
        entropy=max((rule.entropy for rule in given), default=0.0),
        divergence=min((rule.divergence for rule in given), default=math.inf),
        surprisal=max((rule.surprisal for rule in given), default=(), key=len),
        recursive=recursive[0] if recursive else None,
        exact=all(rule.exact for rule in given),
    )


# A privacy model


Sign = Literal["≥", "≤", "<"]  # how the level that is reached compares with the level that is required


@dataclass(frozen=True, eq=False)
class Judgement:
    """Which classes a model admits, the level that the table reaches, and the class that sets this level."""

    admitted: NDArray[np.bool_]
    reached: Level  # exact where it can be; math.inf where no level would do
    worst_class: int

    @property
    def satisfied(self) -> bool:
        """Whether every class is admitted."""
        return bool(self.admitted.all())


class OneLevel:
    """A model that asks for one number: what can be asked for is what is reached, rounded to the safe side."""

    sign: ClassVar[Sign]

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return {"≥": at_least, "≤": at_most, "<": below}[self.sign](reached)


class Model(Protocol):
    """A privacy model at its required level."""

    @property
    def name(self) -> str:
        """The key in a policy, in JSON and in a certificate."""

    @property
    def title(self) -> str:
        """What people call it: one title for terminal and page."""

    @property
    def sign(self) -> Sign:
        """How the level that a class reaches must compare with the required level."""

    @property
    def counts_persons(self) -> bool:
        """Whether it counts persons, not rows, where the policy names persons."""

    @property
    def alone(self) -> bool:
        """Whether a class is judged without the rest of the table."""

    @property
    def persons_imply_rows(self) -> bool:
        """Whether a class that is admitted by its persons is admitted by its rows, too."""

    @property
    def merging_keeps(self) -> bool:
        """Whether a class that is merged from two admitted classes is admitted."""

    @property
    def required(self) -> Level | Mapping[str, Level]:
        """The level that a policy asks for."""

    def rule(self, shares: Sequence[Fraction]) -> Rule | None:
        """Return the limits on one class's counts; nothing where a method has to leave the model to merging.

        `shares` holds the share of each value in the whole table.
        """

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class against the reference counts of the whole table."""

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say, as the end of a sentence, which level these classes can be asked for; they reach `reached`."""
