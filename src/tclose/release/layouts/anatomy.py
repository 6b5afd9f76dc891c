"""Anatomy: a table of exact quasi-identifiers and, as -sensitive, one of sensitive values, joined by a group number.

The groups are the classes. What this guarantees, and what it does not, is written in
docs/decisions/020-several-tables.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from tclose.errors import InputError, InternalError, PolicyError
from tclose.policy import Policy
from tclose.policy.derived import group_policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.frame import ordered
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.claims import Claims
from tclose.release.layouts.base import About, LayoutEntry, WrittenFile
from tclose.release.layouts.groups import GroupCost, error_problems, group_cost, grouped, kept_values_problems
from tclose.release.published import Judge, Options, PublishedTable, ReleaseInput
from tclose.release.published_files import FilesOf
from tclose.release.verification import NO_IDENTITY, Verified, examined, prefixed
from tclose.types import Progress

MARKS = ("", "-sensitive")
HOLDS = ("quasi-identifiers", "sensitive values")


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A table of exact quasi-identifiers and one of sensitive values, joined by a group."""

    frames: tuple[pl.DataFrame, pl.DataFrame]
    judge_of_groups: Judge  # of the sensitive table, whose classes are the groups
    policy: Policy
    group: str
    cost: GroupCost
    marks = MARKS
    comparable = False

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """The sensitive table, whose classes are the groups."""
        cost = self.cost
        judged = self.frames[1], self.judge_of_groups
        return (PublishedTable(*judged, cost.measures, cost.losses, cost.chosen_loss),)

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge the groups, and that the tables fit together."""
        if join_problems(frames[0], frames[1], self.policy, self.group):
            raise InternalError("the two tables do not fit together, so nothing was released")
        return (self.judge_of_groups.confirm(frames[1], progress),)

    def certificate(self, about: About, results: Sequence[CheckResult], files: Sequence[WrittenFile]) -> Certificate:
        """Say what was found about the groups, and name the two files."""
        held = zip(files, HOLDS, strict=True)
        entries = [CertifiedFile(file.name, file.rows, file.sha256, holds=what) for file, what in held]
        return Certificate(
            **vars(about),
            layout="anatomy",
            identity_protected=False,
            scope=NO_IDENTITY,
            group=self.group,
            measures=self.cost.measures,
            claims=Claims.of(results[0]),
            files=tuple(entries),
        )


def make(given: ReleaseInput, method: str, options: Options) -> Anatomy:
    """Publish quasi-identifiers as they are and sensitive values apart from them, by group."""
    policy = given.policy
    rows, labels, group = grouped(given, method, options)
    numbers, sensitive = pl.Series(group, labels + 1), list(policy.sensitive)
    others = [name for name in rows.columns if name not in policy.sensitive]  # `drop` takes ^x$ for a pattern
    first, _ = ordered(rows[others].hstack([numbers]))
    second, order = ordered(numbers.to_frame().hstack(rows[sensitive]))
    judge = Judge(group_policy(given.own_policy, group), given.persons(order))
    return Anatomy((first, second), judge, given.own_policy, group, group_cost(given, rows, labels))


def join_problems(quasi: pl.DataFrame, sensitive: pl.DataFrame, policy: Policy, group: str) -> list[str]:
    """Say what is wrong about the two tables of an anatomy, other than the classes that the groups are."""
    expected = [*policy.visible, *policy.unlinkable, group]
    if sorted(quasi.columns) != sorted(expected) or group not in sensitive.columns:
        return ["the two tables do not have the columns that the policy gives them"]
    problems = []
    first, second = (frame[group].cast(pl.String).alias("").value_counts(sort=False) for frame in (quasi, sensitive))
    if not first.sort("").equals(second.sort("")):
        problems.append("the groups of the two tables do not have the same rows")
    return problems + kept_values_problems(quasi, policy.keep, group)


def verify(promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
    """Judge the groups, and whether both tables have them."""
    if len(promised.files) != 2 or not all(files.has(file) for file in promised.files) or promised.group is None:
        return Verified(["the groups cannot be judged: they take two tables"], None)
    first, second = promised.files
    group = promised.group
    read = partial(files.frame, second)

    def policy_of() -> Policy:
        return group_policy(promised.policy, group)

    table = examined(read, policy_of, promised.claims, promised.measures, promised, progress)
    problems = prefixed(str(second.name), [*table.problems, *error_problems(promised, table)])
    if promised.identity_protected:
        problems.append("the certificate does not say that identity is not protected")
    try:
        problems += join_problems(files.frame(first), files.frame(second), promised.policy, group)
    except (InputError, PolicyError) as error:
        problems.append(f"the tables cannot be joined: {error.sentence}")
    return Verified(problems, table.result)


ENTRY = LayoutEntry(
    "anatomy",
    "exact quasi-identifiers and sensitive values in two tables, joined by a group",
    lambda _: MARKS,
    make,
    verify,
    exact_quasi=True,
    scope=NO_IDENTITY,
    holds=HOLDS,
)
