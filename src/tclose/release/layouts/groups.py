"""Layouts that publish exact quasi-identifiers, and sensitive values by group only: anatomy and permutation.

Anatomy: a table of exact quasi-identifiers and, as -sensitive, one of sensitive values, joined by a group number. The
groups are the classes. What this guarantees, and what it does not, is written in
docs/decisions/020-several-tables.md.

Permutation: one table of exact quasi-identifiers, with sensitive values permuted at random within numbered groups. The
groups are the classes. All sensitive values of a row move together, so that what they tell about each other stays true.
What this guarantees, and what it does not, is written in docs/decisions/080-permutation.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError, LeakWarning, PolicyError, Unsuited
from tclose.measure.information_loss import (
    DIGITS,
    MEASURES,
    MeasuredPartition,
    chosen_loss,
    class_sizes,
    measures_of,
    reconstruction_error,
)
from tclose.measure.pair import GROUP
from tclose.messages import say
from tclose.policy import Policy
from tclose.policy.variants import group_policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.frame import new_name, ordered, recoded
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.layouts.base import LayoutEntry, LayoutFacts
from tclose.release.published_table import Judge, Options, PublishedTable, ReleaseInput, losses_of, partition_of
from tclose.release.verification import NO_IDENTITY, CertifiedFiles, TableFindings, prefixed, table_findings
from tclose.table import CodedTable
from tclose.table.classes import classes_of
from tclose.types import Ints, Progress

# What both layouts share


ERROR = "reconstruction_error"
OF_SIZES = {measure.name for measure in MEASURES if measure.of_sizes}


@dataclass(frozen=True, eq=False)
class GroupCost:
    """What it costs to publish sensitive values by group."""

    measures: Mapping[str, Any]
    losses: Mapping[str, float]
    chosen_loss: float


def _renumbered(labels: Ints, seed: int) -> Ints:
    """Give groups random numbers: how they came about must not show in their numbers."""
    random = np.random.default_rng([seed, len(labels)])
    return np.asarray(random.permutation(int(labels.max()) + 1)[labels])


def grouped(given: ReleaseInput, method: str, options: Options) -> tuple[pl.DataFrame, Ints, str]:
    """Warn that identity is not protected; return the rows, the group of each, and the name of the groups' column."""
    if not given.policy.sensitive:
        raise Unsuited("{method} parts sensitive values from their rows, and the policy names none", method=method)
    warnings.warn(NO_IDENTITY, LeakWarning, stacklevel=5)
    labels = _renumbered(given.split(method, options).labels, given.seed)
    rows = recoded(given.table, given.policy, beat=given.recoding)
    return rows, labels, new_name(GROUP, given.table.frame.columns)


def group_cost(given: ReleaseInput, rows: pl.DataFrame, labels: Ints) -> GroupCost:
    """Measure what published rows cost whose sensitive values belong to groups."""
    policy = given.policy
    cells = classes_of(rows[list(policy.quasi) or list(policy.visible)])
    partition = partition_of(given, cells)
    measures = _measures(given, partition, labels)
    loss = chosen_loss(given.table, policy, cells, partition)
    loss = measures["discernibility"] if policy.loss == "discernibility" else round(loss, DIGITS)  # of the groups
    return GroupCost(measures, losses_of(given, partition), loss)


def _measures(given: ReleaseInput, partition: MeasuredPartition, labels: Ints) -> dict[str, Any]:
    """Measure detail on quasi-identifiers as they stand, sizes on groups, and what the parting itself costs."""
    groups = replace(partition, sizes=np.bincount(labels), labels=labels, losses=[], weights=())
    of_cells, of_groups = measures_of(partition), measures_of(groups)
    return {
        **{name: (of_groups if name in OF_SIZES else of_cells)[name] for name in of_cells},
        "class_sizes": class_sizes(groups),
        ERROR: _mean_error(labels, given.table),
    }


def _mean_error(labels: Ints, table: CodedTable) -> float:
    errors = [reconstruction_error(labels, column.codes) for column in table.sensitive.values()]
    return round(float(np.mean(errors)), DIGITS)


def error_problems(promised: Certificate, verified: TableFindings) -> list[str]:
    """Compare the error of a reader who tells which value belongs to which row."""
    if verified.table is None:
        return []
    error, claimed = _mean_error(verified.table.classes.labels_by_row(), verified.table), promised.measures.get(ERROR)
    same = isinstance(claimed, int | float) and abs(claimed - error) <= 10**-DIGITS  # sums of floats in another order
    return [] if same else [say("{error} is {why}, which is not what the certificate says", error=ERROR, why=error)]


def kept_values_problems(rows: pl.DataFrame, keep: tuple[str, ...], group: str) -> list[str]:
    """Say that a group has rows of different kept values, if one has."""
    apart = len(classes_of(rows[[group, *keep]])) == len(classes_of(rows[[group]]))
    return [] if apart else ["a group has rows of different kept values"]


# Anatomy


MARKS = ("", "-sensitive")
HOLDS = ("quasi-identifiers", "sensitive values")


@dataclass(frozen=True, eq=False, repr=False)
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

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found about the groups, and name the two files."""
        held = [replace(file, holds=what) for file, what in zip(files, HOLDS, strict=True)]
        certificate = about.certificate(held, results[0], self.cost.measures)
        return replace(certificate, layout="anatomy", identity_protected=False, scope=NO_IDENTITY, group=self.group)


def make_anatomy(given: ReleaseInput, method: str, options: Options) -> Anatomy:
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


def verify_anatomy(promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
    """Judge the groups, and whether both tables have them."""
    if len(promised.files) != 2 or not all(files.has(file) for file in promised.files) or promised.group is None:
        return TableFindings(["the groups cannot be judged: they take two tables"], None)
    first, second = promised.files
    group = promised.group
    read = partial(files.frame, second)

    def policy_of() -> Policy:
        return group_policy(promised.policy, group)

    table = table_findings(read, policy_of, promised.claims, promised.measures, promised, progress)
    problems = prefixed(str(second.name), [*table.problems, *error_problems(promised, table)])
    if promised.identity_protected:
        problems.append("the certificate does not say that identity is not protected")
    try:
        problems += join_problems(files.frame(first), files.frame(second), promised.policy, group)
    except (InputError, PolicyError) as error:
        problems.append(say("the tables cannot be joined: {sentence}", sentence=error.sentence))
    return TableFindings(problems, table.result)


ANATOMY_ENTRY = LayoutEntry(
    "anatomy",
    "exact quasi-identifiers and sensitive values in two tables, joined by a group",
    lambda _: MARKS,
    make_anatomy,
    verify_anatomy,
    exact_quasi=True,
    scope=NO_IDENTITY,
    holds=HOLDS,
)


# Permutation


STREAM = 1  # of random numbers: another one than that of the groups' numbers


@dataclass(frozen=True, eq=False, repr=False)
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

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found about the groups, and the fingerprint."""
        certificate = about.certificate(files, results[0], self.cost.measures)
        return replace(certificate, layout="permutation", identity_protected=False, scope=NO_IDENTITY, group=self.group)


def make_permutation(given: ReleaseInput, method: str, options: Options) -> Permutation:
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


def verify_permutation(promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
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

    table = table_findings(groups, policy_of, promised.claims, promised.measures, promised, progress)
    problems += [*table.problems, *error_problems(promised, table)]
    if promised.identity_protected:
        problems.append("the certificate does not say that identity is not protected")
    return TableFindings(problems, table.result)


PERMUTATION_ENTRY = LayoutEntry(
    "permutation",
    "exact quasi-identifiers in one table, sensitive values permuted within groups",
    lambda _: ("",),
    make_permutation,
    verify_permutation,
    exact_quasi=True,
    scope=NO_IDENTITY,
)
