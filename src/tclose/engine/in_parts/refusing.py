"""Which releases cannot be made in parts: each is refused in one sentence, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.errors import InputError
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.policy import MODELS, Policy
from tclose.privacy.registry import requirement

LOSSES = ("gcp", "discernibility")
IN_MEMORY = "use the engine memory"
ALL_AT_ONCE = "looks at all classes at once"


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
    if policy.loss not in LOSSES or any(spec.publish == "mean" for spec in policy.quasi.values()):
        return f"in parts, only the losses {' and '.join(LOSSES)} are lowered, and no class means are published"
    return _of_models(policy)


def _of_models(policy: Policy) -> str | None:
    """Say which model or stage needs all classes; classes of several parts that publish the same are one class."""
    specs = policy.sensitive.values()
    stages = {
        "presence": policy.presence is not None,
        "temper": policy.temper is not None,
        "both": bool(policy.both),
        "pseudonym": policy.pseudonym is not None,
        "t_by": any(spec.t_by is not None for spec in specs),
        "average_t": any(spec.average_t is not None for spec in specs),
    }
    for name, asked in stages.items():
        if asked:
            return f"{name} {ALL_AT_ONCE}"
    if policy.person is not None:
        by_person = [name for name in MODELS if not requirement(name).persons_imply_rows]
        for name in by_person:
            if any(getattr(spec, name) is not None for spec in specs):
                return f"{name} of persons {ALL_AT_ONCE}"
    return None
