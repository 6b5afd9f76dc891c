"""Which releases cannot be made in parts: each is refused in one sentence, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.errors import InputError
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.policy import Policy
from tclose.run.places import refusal_in_parts

IN_MEMORY = "use the engine memory"


def check_in_parts(policy: Policy, method: str, options: Mapping[str, Any]) -> None:
    """Refuse what needs all rows at once."""
    if (why := refusal(policy, method, options)) is not None:
        raise InputError(f"{why}: {IN_MEMORY}")


def refusal(policy: Policy, method: str, options: Mapping[str, Any]) -> str | None:
    """Say why a release cannot be made in parts; None where it can."""
    if method != DEFAULT_METHOD or set(options) - {METHODS[DEFAULT_METHOD].option}:
        return f"tables are split in parts by {DEFAULT_METHOD} and its efforts only"
    if not policy.quasi:
        return "without quasi-identifiers there is nothing to cut a table into parts by"
    return refusal_in_parts(policy)
