"""What the parts of a query are called: CTEs, and the columns that form a class."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.policy import Policy, Sensitive


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute of the policy, and its number in the query."""

    number: int
    name: str
    spec: Sensitive
    keys: str  # the columns that form a class, as in "q1, q2"

    def cte(self, what: str) -> str:
        """Return the name of a CTE of this attribute, as in counts_1."""
        return f"{what}_{self.number}"

    @property
    def missing_is_value(self) -> bool:
        """Whether a missing value is a value of its own."""
        return self.spec.missing == "value"


def keys_of(policy: Policy) -> list[str]:
    """Return what the query calls the columns that form a class: q1, q2 and so on."""
    return [f"q{number}" for number in range(1, len(policy.visible) + 1)]


def attributes_of(policy: Policy) -> list[Attribute]:
    """Return the sensitive attributes in the order of the policy."""
    keys = ", ".join(keys_of(policy))
    return [Attribute(number, name, spec, keys) for number, (name, spec) in enumerate(policy.sensitive.items(), 1)]
