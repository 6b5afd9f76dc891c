"""Columns that are both quasi-identifier and sensitive: what a policy must say of them, and what it must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose.policy.settings import join

CODED = ("step", "top", "bottom", "below")  # settings that make a published number less exact


def second_role(column: str, first: str, second: str, both: tuple[str, ...]) -> str | None:
    """Say what is wrong about a second role of a column, given the places of both; None where it may have two."""
    may_be_both = (first, second) == (join("quasi", column), join("sensitive", column))
    if may_be_both and column in both:
        return None
    alternative = ", or list it in both" if may_be_both else ""
    return f"column '{column}' has a role already, in {first}: name it once{alternative}"


def mistakes_of_both(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about the columns that are both; `roles` holds the settings that can be read."""
    both = roles.get("both", ())
    for column in both:
        absent = [f"[{join(role, column)}]" for role in ("quasi", "sensitive") if column not in roles.get(role, ())]
        if absent:
            yield "both", f"column '{column}' is both quasi-identifier and sensitive: add {' and '.join(absent)}"
        else:
            yield from _coded_in_vain(column, roles)
    if both and roles.get("person") is not None:
        yield "both", "which value belongs to which person is not published, so both does not go with person"


def _coded_in_vain(column: str, roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Refuse steps and tails of a column whose exact values are published as counts."""
    if not all(isinstance(roles[role], Mapping) for role in ("quasi", "sensitive")):  # it has mistakes of its own
        return
    quasi, sensitive = roles["quasi"][column], roles["sensitive"][column]
    given = [name for name in CODED if getattr(quasi, name) is not None]
    if given and sensitive.publish != "bin":
        yield (
            join("quasi", column),
            f"exact values of '{column}' are published as counts, so {' and '.join(given)} would hide nothing: "
            f'leave it out, or say bins and publish = "bin" in [{join("sensitive", column)}]',
        )
