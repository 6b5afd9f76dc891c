"""What is guessed about a column: its role, why, how it is published, and what its steward should know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclose.policy.draft.profile import Kind
from tclose.policy.draft.roles import Role


@dataclass(frozen=True)
class Guess:
    """The role that a column seems to play, why, what is set for it, and what its steward should know."""

    column: str
    role: Role
    kind: Kind
    why: str
    missing: int
    settings: Mapping[str, Any] = field(default_factory=dict)  # keys of its table in the policy
    remarks: tuple[str, ...] = ()
    by_name: bool = False  # whether the name alone decided
    person: int = 0  # how well it can serve as `person`; 0: it cannot

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "column": self.column,
            "role": self.role,
            "kind": self.kind,
            "why": self.why,
            "missing": self.missing,
            "settings": plain(self.settings),
            "remarks": list(self.remarks),
        }


def plain(value: Any) -> Any:
    """Return a setting as JSON has it."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, str | int | list):
        return value
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True)
class Draft:
    """A first draft of a policy, as TOML, and the guess about each column that it rests on."""

    policy: str
    columns: tuple[Guess, ...]
    person: str | None = None  # the identifier of a person, where it repeats

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the steward must decide, since no role settles it."""
        return tuple(filter(None, [self._without_sensitive()]))

    def _without_sensitive(self) -> str:
        if not self.columns or any(each.role == "sensitive" for each in self.columns):
            return ""
        return (
            "the draft has no sensitive column, so nothing limits what a class tells about a person: which column must "
            "nobody learn? Make it [sensitive.COLUMN] and give it a t"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "policy": self.policy,
            "columns": [guess.to_dict() for guess in self.columns],
            "person": self.person,
            "warnings": list(self.warnings),
        }
