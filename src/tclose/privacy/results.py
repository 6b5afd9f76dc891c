"""What was found: the answers of check() and explain(), for people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tclose.messages import say
from tclose.policy.settings import spelled
from tclose.privacy import Level, requirement
from tclose.types import Claim
from tclose.words import counted, html_table, legible, number, rows_in_classes

if TYPE_CHECKING:
    from tclose.privacy.allowance import Allowance


@dataclass(frozen=True)
class AttributeFinding:
    """How close one sensitive attribute is, and whether that is close enough."""

    distance: str
    t: Fraction | None
    closeness: Fraction
    satisfied: bool
    worst_class: int  # counted from 1
    failing_classes: int

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "distance": self.distance,
            "t": json_number(self.t),
            "closeness": float(self.closeness),
            "closeness_exact": f"{self.closeness.numerator}/{self.closeness.denominator}",
            "satisfied": self.satisfied,
            "worst_class": self.worst_class,
            "failing_classes": self.failing_classes,
        }


@dataclass(frozen=True)
class ModelFinding:
    """The level that one model requires and the level that the table reaches."""

    model: str
    attribute: str | None
    required: Level | Mapping[str, Level]
    reached: Level
    satisfied: bool
    worst_class: int  # counted from 1; 0 where no class is meant
    failing_classes: int

    def cells(self) -> tuple[str, ...]:
        """Return what a notebook shows: attribute, model, the level required, the level reached, the verdict."""
        where = say(" in {classes}", classes=counted(self.failing_classes, "class")) if self.failing_classes else ""
        verdict = "holds" if self.satisfied else f"fails{where}"
        return self.attribute or "", self.title, self.asked, number(self.reached), verdict

    @property
    def title(self) -> str:
        """What people call the model."""
        return requirement(self.model).title

    @property
    def asked(self) -> str:
        """The required level in words, as in "≤ 0.15"."""
        return requirement(self.model).words(self.required)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        required = self.required
        return {
            "model": self.model,
            "attribute": self.attribute,
            "required": {name: json_number(level) for name, level in required.items()}
            if isinstance(required, Mapping)
            else json_number(required),
            "reached": self.reached if isinstance(self.reached, int) else _float(self.reached),
            "satisfied": self.satisfied,
            "failing_classes": self.failing_classes if self.worst_class else None,
        }


@dataclass(frozen=True)
class CheckResult:
    """Whether a table holds what a policy asks for."""

    rows: int
    classes: int
    smallest_class: int
    satisfied: bool
    sensitive: Mapping[str, AttributeFinding]
    models: tuple[ModelFinding, ...]
    withheld: int = 0
    joint: Mapping[str, AttributeFinding] = field(default_factory=dict)  # of attributes together
    notes: tuple[str, ...] = ()  # what the steward should know about the policy
    presence: Claim | None = None  # how likely anyone of the population is in the table, where the policy asks
    allows: Mapping[str, Allowance] = field(default_factory=dict)  # what each t means in shares, whatever the classes

    def with_presence(self, claim: Claim, more: tuple[ModelFinding, ...]) -> CheckResult:
        """Return the same with what was found about δ-presence."""
        satisfied = self.satisfied and claim.answer == "yes"
        return replace(self, models=(*self.models, *more), satisfied=satisfied, presence=claim)

    @property
    def attributes(self) -> Mapping[str, AttributeFinding]:
        """What was found about each sensitive attribute, then about attributes together."""
        return {**self.sensitive, **self.joint}

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        withheld = {"withheld": self.withheld} if self.withheld else {}
        return {
            "rows": self.rows,
            **withheld,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "satisfied": self.satisfied,
            "sensitive": self._with_allowances(self.sensitive),
            **({"joint": self._with_allowances(self.joint)} if self.joint else {}),
            "models": [finding.to_dict() for finding in self.models],
            **({} if self.presence is None else {"presence": self.presence.to_dict()}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def _with_allowances(self, findings: Mapping[str, AttributeFinding]) -> dict[str, Any]:
        allowed = {name: {"allows": each.to_dict()} for name, each in self.allows.items()}
        return {name: {**finding.to_dict(), **allowed.get(name, {})} for name, finding in findings.items()}

    def _repr_html_(self) -> str:
        size = rows_in_classes(self.rows, self.classes, smallest=self.smallest_class, withheld=self.withheld)
        verdict = "meets its policy" if self.satisfied else "does not meet its policy"
        rows = [finding.cells() for finding in self.models]
        headings = ("attribute", "model", "required", "reached", "")
        return html_table(say("{size}. The table {verdict}.", size=size, verdict=verdict), headings, rows)


@dataclass(frozen=True)
class Step:
    """One move of earth: how much, from which value to which, how far."""

    source: str
    target: str
    mass: Fraction
    distance: Fraction

    @property
    def cost(self) -> Fraction:
        """Return mass × distance."""
        return self.mass * self.distance

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "from": self.source,
            "to": self.target,
            "mass": str(self.mass),
            "distance": str(self.distance),
            "cost": str(self.cost),
        }


@dataclass(frozen=True)
class Explanation:
    """Why one class is as far from the table as it is: the cheapest moves that would make it alike."""

    attribute: str
    class_number: int
    rows: int
    distance: str
    moves: tuple[Step, ...]
    shows: Mapping[str, str] = field(default_factory=dict)  # the quasi-identifiers and kept values of the class
    bins: tuple[str, ...] = ()  # at most 20 groups of values; of single values where there are few
    moves_between_bins: tuple[Step, ...] = ()  # or within a bin; distances are means, and costs add up exactly
    notes: tuple[str, ...] = ()  # about models that are more than one distance: kl, average_t, t_by

    @property
    def grouped(self) -> bool:
        """Whether a bin holds several values, so that the moves between bins are fewer than all moves."""
        return bool(self.moves_between_bins) and self.moves_between_bins != self.moves

    @property
    def closeness(self) -> Fraction:
        """Return what all moves cost together: the earth mover's distance."""
        return sum((move.cost for move in self.moves), Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        closeness = self.closeness
        return {
            "attribute": self.attribute,
            "class": self.class_number,
            "rows": self.rows,
            "distance": self.distance,
            "closeness": float(closeness),
            "closeness_exact": f"{closeness.numerator}/{closeness.denominator}",
            "moves": [move.to_dict() for move in self.moves],
            "shows": dict(self.shows),
            "bins": list(self.bins),
            "moves_between_bins": [move.to_dict() for move in self.moves_between_bins],
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def _repr_html_(self) -> str:
        moves = self.moves_between_bins if self.grouped else self.moves
        rows = [(move.source, move.target, *map(number, (move.mass, move.distance, move.cost))) for move in moves]
        caption = say(
            "Class {class_number:,} of {rows} is {closeness} from the table in '{attribute}': the cheapest "
            "moves that make it alike",
            class_number=self.class_number,
            rows=counted(self.rows, "row"),
            closeness=number(self.closeness),
            attribute=legible(self.attribute),
        )
        return html_table(caption, ("from", "to", "share moved", "distance", "cost"), rows)


def json_number(level: Level | None) -> int | float | str | None:
    """Return a level as a JSON number where that is exact, else as text such as "1/3"."""
    if level is None or isinstance(level, int):
        return level
    return spelled(level) if isinstance(level, Fraction) else _float(level)


def _float(level: Level) -> float | str:
    return "infinite" if level == math.inf else float(level)
