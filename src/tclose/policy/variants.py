"""Policies made from other policies: for a part of the attributes, for groups, for k alone, with other thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tclose.policy.column_settings import Builder
from tclose.policy.model import LEVELS, Policy, Quasi, Sensitive
from tclose.policy.settings import spelled


def projection_policy(policy: Policy, names: Iterable[str], *, first: bool) -> Policy:
    """Return what one projection must satisfy; an unlinkable column in two tables would link their rows."""
    sensitive = {name: policy.sensitive[name] for name in names}
    joint = tuple(each for each in policy.joint if sensitive.keys() >= set(each.attributes))
    return replace(policy, sensitive=sensitive, joint=joint, unlinkable=policy.unlinkable if first else ())


def group_policy(policy: Policy, group: str) -> Policy:
    """Return what an anatomy's sensitive table must satisfy: its groups are the classes."""
    return replace(policy, quasi={group: Quasi()}, keep=(), unlinkable=())


def k_alone(policy: Policy, k: int) -> Policy:
    """Return the policy that asks for nothing but k: one value may make up all of a class (alpha = 1)."""
    sensitive = {name: asking(spec, alpha=Fraction(1)) for name, spec in policy.sensitive.items()}
    return replace(policy, k=k, sensitive=sensitive, joint=(), temper=None, presence=None, pseudonym=None)


def asking(spec: Sensitive, *, t: Fraction | None = None, alpha: Fraction | None = None) -> Sensitive:
    """Return settings that ask for these levels and nothing else."""
    levels = dict.fromkeys(name for name in LEVELS if name not in ("t", "alpha"))
    return replace(spec, t=t, alpha=alpha, **levels)


def scaled(policy: Policy, factor: Fraction) -> Policy:
    """Return the policy with every t multiplied by a factor, to 1 at most."""
    sensitive = {name: spec.scaled(factor) for name, spec in policy.sensitive.items()}
    joint = tuple(replace(each, t=min(each.t * factor, Fraction(1))) for each in policy.joint)
    return replace(policy, sensitive=sensitive, joint=joint)


def with_levels(policy: Policy, levels: Mapping[str, Fraction]) -> Policy:
    """Return the policy with another t for some attributes, or attributes together."""
    sensitive = {
        name: replace(spec, t=levels[name]) if name in levels else spec for name, spec in policy.sensitive.items()
    }
    joint = tuple(replace(each, t=levels.get(each.name, each.t)) for each in policy.joint)
    return replace(policy, sensitive=sensitive, joint=joint)


def cell_forms(policy: Policy) -> dict[str, Any]:
    """Return what the cells of each quasi-identifier are, which their text does not always tell, ready for JSON.

    They are values (also ranges and sets of values), class means, or labels: of a hierarchy by rule, the rule is named.

    >>> cell_forms(Policy(quasi={"age": {}, "zip": {"hierarchy": {"prefix": [3]}}, "pay": {"publish": "mean"}}, k=2))
    {'age': 'values', 'zip': {'prefix': [3]}, 'pay': 'means'}
    """
    return {name: _cell_form(spec) for name, spec in policy.quasi.items()}


def _cell_form(spec: Quasi) -> Any:
    rule = spec.hierarchy
    if rule is None:
        return "means" if spec.publish == "mean" else "values"
    if not isinstance(rule, Builder) or rule.kind == "rows":
        return "labels"
    return {rule.kind: [spelled(level) if isinstance(level, Fraction) else level for level in rule.levels]}
