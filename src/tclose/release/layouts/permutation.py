"""Permutation: one table of exact quasi-identifiers, with sensitive values permuted at random within numbered groups.

The groups are the classes. All sensitive values of a row move together, so that what they tell about each other stays
true. What this guarantees, and what it does not, is written in docs/decisions/080-permutation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
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
from tclose.release.verification import NO_IDENTITY, Verified, examined
from tclose.types import Ints, Progress

STREAM = 1  # of random numbers: another one than that of the groups' numbers


@dataclass(frozen=True, eq=False)
class Permutation:
    """A table whose sensitive values were permuted within groups."""

    frame: pl.DataFrame
    judge_of_groups: Judge
    policy: Policy
    group: str
    cost: GroupCost
    marks = ("",)
    comparable = False

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The table."""
        return (self.frame,)

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """The groups and their sensitive values, which are judged."""
        judged, cost = self.frame[_judged_columns(self.policy, self.group)], self.cost
        return (PublishedTable(judged, self.judge_of_groups, cost.measures, cost.losses, cost.chosen_loss),)

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge the groups."""
        rows = _checked(frames[0], self.policy, self.group)
        if kept_values_problems(rows, self.policy.keep, self.group):
            raise InternalError("a group has rows of different kept values, so nothing was released")
        return (self.judge_of_groups.confirm(rows[_judged_columns(self.policy, self.group)], progress),)

    def certificate(self, about: About, results: Sequence[CheckResult], files: Sequence[WrittenFile]) -> Certificate:
        """Say what was found about the groups, and the fingerprint."""
        return Certificate(
            **vars(about),
            layout="permutation",
            identity_protected=False,
            scope=NO_IDENTITY,
            group=self.group,
            measures=self.cost.measures,
            claims=Claims.of(results[0]),
            files=tuple(CertifiedFile(file.name, file.rows, file.sha256) for file in files),
        )


def make(given: ReleaseInput, method: str, options: Options) -> Permutation:
    """Publish quasi-identifiers as they are, and permute the sensitive values of each group."""
    policy = given.policy
    rows, labels, group = grouped(given, method, options)
    source = permuted(labels, given.seed)
    columns = [rows[name][source] if name in policy.sensitive else rows[name] for name in rows.columns]
    frame, order = ordered(pl.DataFrame([*columns, pl.Series(group, labels + 1)]))
    judge = Judge(group_policy(given.own_policy, group), given.persons(source[order]))
    return Permutation(frame, judge, given.own_policy, group, group_cost(given, rows, labels))


def permuted(labels: Ints, seed: int) -> Ints:
    """Return the row from which each row gets its sensitive values: a random row of its group, each row once."""
    chance = np.random.default_rng([seed, len(labels), STREAM])
    source = np.empty(len(labels), dtype=np.int64)
    source[np.argsort(labels, kind="stable")] = np.lexsort((chance.random(len(labels)), labels))
    return source


def _judged_columns(policy: Policy, group: str) -> list[str]:
    return [group, *policy.sensitive]


def _checked(rows: pl.DataFrame, policy: Policy, group: str) -> pl.DataFrame:
    """Return published rows; refuse those that lack a column, or have one too many."""
    if sorted(rows.columns) != sorted([*policy.visible, *policy.unlinkable, *policy.sensitive, group]):
        raise InputError("the table does not have the columns that the policy gives it")
    return rows


def verify(promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
    """Judge the groups."""
    group = str(promised.group)
    problems: list[str] = []

    def groups() -> pl.DataFrame:
        policy = promised.policy
        rows = _checked(files.frame(*promised.files), policy, group)
        problems.extend(kept_values_problems(rows, policy.keep, group))
        return rows[_judged_columns(policy, group)]

    def policy_of() -> Policy:
        return group_policy(promised.policy, group)

    table = examined(groups, policy_of, promised.claims, promised.measures, promised, progress)
    problems += [*table.problems, *error_problems(promised, table)]
    if promised.identity_protected:
        problems.append("the certificate does not say that identity is not protected")
    return Verified(problems, table.result)


ENTRY = LayoutEntry(
    "permutation",
    "exact quasi-identifiers in one table, sensitive values permuted within groups",
    lambda _: ("",),
    make,
    verify,
    exact_quasi=True,
    scope=NO_IDENTITY,
)
