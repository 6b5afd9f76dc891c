"""Releases of several tables: how their files are called, what each is judged by, and how they hang together.

A release of projections (CODIP) has tables -1, -2, … that share out the sensitive attributes; each is judged like a
release of its own. An anatomy has a table of quasi-identifiers and, as -sensitive, one of sensitive values; a group
number joins them and is what a class is. Who publishes and who verifies must agree on this, so it stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tclose.policy import Policy, Quasi
from tclose.privacy.results import CheckResult, ModelFinding
from tclose.table.classes import classes_of

ANATOMY_MARKS = ("", "-sensitive")
EACH_ALONE = "each table is judged on its own; what several tables tell together about one person is not"
NO_IDENTITY = "quasi-identifiers are published exactly: who is in the table is not hidden, only what is sensitive"


def projection_marks(tables: int) -> tuple[str, ...]:
    """Return what the file names of so many projections end in."""
    return tuple(f"-{number}" for number in range(1, tables + 1))


def possible_marks(method: str, attributes: int) -> tuple[str, ...]:
    """Return the endings of all files that a method may write for so many sensitive attributes."""
    return {"projections": projection_marks(attributes), "anatomy": ANATOMY_MARKS}.get(method, ("",))


def sibling(path: Path, mark: str) -> Path:
    """Return the file of one table.

    >>> sibling(Path("out/release.csv"), "-sensitive").name
    'release-sensitive.csv'
    """
    return path.with_name(f"{path.stem}{mark}{path.suffix}")


def projection_policy(policy: Policy, names: Iterable[str], *, first: bool) -> Policy:
    """Return what one projection is asked for; an unlinkable column in two tables would link their rows."""
    sensitive = {name: policy.sensitive[name] for name in names}
    return replace(policy, sensitive=sensitive, unlinkable=policy.unlinkable if first else ())


def group_policy(policy: Policy, group: str) -> Policy:
    """Return what an anatomy's sensitive table is asked for: its groups are the classes."""
    return replace(policy, quasi={group: Quasi()}, keep=(), unlinkable=())


def join_problems(quasi: pl.DataFrame, sensitive: pl.DataFrame, policy: Policy, group: str) -> list[str]:
    """Say what is wrong about the two tables of an anatomy, other than the classes that the groups are."""
    expected = [*policy.visible, *policy.unlinkable, group]
    if sorted(quasi.columns) != sorted(expected) or group not in sensitive.columns:
        return ["the two tables do not have the columns that the policy gives them"]
    problems = []
    mine, theirs = (frame[group].cast(pl.String).alias("").value_counts(sort=False) for frame in (quasi, sensitive))
    if not mine.sort("").equals(theirs.sort("")):
        problems.append("the groups of the two tables do not have the same rows")
    if len(classes_of(quasi[[group, *policy.keep]])) != len(classes_of(quasi[[group]])):
        problems.append("a group has rows of different kept values")
    return problems


def combined(results: Sequence[CheckResult]) -> CheckResult:
    """Return what was found about several tables: of everything the least that any of them holds."""
    models = [found for result in results for found in result.models]
    alone = [found for found in models if found.attribute is None]
    return CheckResult(
        rows=min(result.rows for result in results),
        classes=min(result.classes for result in results),
        smallest_class=min(result.smallest_class for result in results),
        satisfied=all(result.satisfied for result in results),
        sensitive={name: found for result in results for name, found in result.sensitive.items()},
        models=(*_weakest(alone), *(found for found in models if found.attribute is not None)),
    )


def _weakest(found: Sequence[ModelFinding]) -> list[ModelFinding]:
    """Keep one finding of each model."""
    kept: dict[str, ModelFinding] = {}
    for one in sorted(found, key=lambda one: (one.satisfied, one.reached)):
        kept.setdefault(one.model, one)
    return list(kept.values())
