"""Projections (CODIP): tables -1, -2, … that share out the sensitive attributes, each judged like a release of its own.

What several tables guarantee, and what they do not, is written in docs/decisions/020-several-tables.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InternalError, PolicyError
from tclose.measure.information_loss import MEASURES
from tclose.messages import say
from tclose.partition import DEFAULT_METHOD
from tclose.partition.split import problem_of
from tclose.policy import Policy
from tclose.policy.variants import projection_policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult, ModelFinding
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.claims import Claims
from tclose.release.layouts.base import LayoutEntry, LayoutFacts
from tclose.release.published_table import Options, PublishedTable, ReleaseInput, published_table
from tclose.release.verification import (
    CertifiedFiles,
    TableFindings,
    claim_problems,
    count_problems,
    prefixed,
    table_findings,
)
from tclose.types import Progress, stretch
from tclose.words import counted

EACH_ALONE = "each table is judged on its own; what several tables tell together about one person is not"
OWN_OPTIONS = ("tables", "related", "groups")  # the others are for the base method


def marks_of(tables: int) -> tuple[str, ...]:
    """Return what the file names of so many projections end in."""
    return tuple(f"-{number}" for number in range(1, tables + 1))


@dataclass(frozen=True, eq=False)
class Projections:
    """Tables that share out the sensitive attributes, each judged on its own."""

    tables: tuple[PublishedTable, ...]
    base: str
    comparable = False

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The projections."""
        return tuple(table.frame for table in self.tables)

    @property
    def marks(self) -> tuple[str, ...]:
        """Their numbers."""
        return marks_of(len(self.tables))

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge every projection, and that they have the same rows."""
        judged = tuple(
            table.judge.confirm(frame, stretch(progress, number / len(frames), (number + 1) / len(frames)))
            for number, (table, frame) in enumerate(zip(self.tables, frames, strict=True))
        )
        if len({each.result.rows for each in judged}) > 1:
            raise InternalError("the projections do not have the same rows, so nothing was released")
        return judged

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what holds for all tables, then table by table."""
        entries = [
            replace(file, measures=table.measures, claims=Claims.of(result))
            for table, result, file in zip(self.tables, results, files, strict=True)
        ]
        measures = mean_measures([table.measures for table in self.tables])
        lowered = about.with_loss([table.chosen_loss for table in self.tables])
        certificate = lowered.certificate(entries, combined(results), measures)
        return replace(certificate, layout="projections", base=self.base, scope=EACH_ALONE)


def make(given: ReleaseInput, method: str, options: Options) -> Projections:
    """Publish projections: attributes that belong together in one table, each table split by the base method."""
    rest = {name: setting for name, setting in options.items() if name not in OWN_OPTIONS}
    groups = _groups(given, options)
    tables = tuple(published_table(_projected(given, groups, i), method, rest) for i in range(len(groups)))
    return Projections(tables, rest.get("base", DEFAULT_METHOD))


def _groups(given: ReleaseInput, options: Options) -> Sequence[Sequence[str]]:
    """Return the attributes of each table, as asked for or by how strongly they are related."""
    from tclose.partition.projections import RELATED, projections

    names, groups = list(given.policy.sensitive), options.get("groups")
    if groups is None:
        sensitive, related = problem_of(given.table, given.policy).sensitive, options.get("related")
        shared_out = projections(
            sensitive, tables=options.get("tables"), related=RELATED if related is None else related
        )
        return [[names[i] for i in group] for group in shared_out]
    if sorted(name for group in groups for name in group) != sorted(names) or not all(groups):
        raise PolicyError("groups must name every sensitive attribute exactly once")
    chosen: Sequence[Sequence[str]] = groups
    return chosen


def _projected(given: ReleaseInput, groups: Sequence[Sequence[str]], index: int) -> ReleaseInput:
    """Return the input of one projection."""
    names = [name for name in given.policy.sensitive if name in groups[index]]
    policy = projection_policy(given.policy, names, first=index == 0)
    return replace(
        given,
        publishable=given.publishable.under(policy),
        policy=policy,
        progress=stretch(given.progress, index / len(groups), (index + 1) / len(groups)),
    )


def mean_measures(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each measure's mean over tables, all of which publish every row; of sizes the ends, and the middle."""
    means: dict[str, Any] = {}
    for measure in MEASURES:
        if measure.optional and not any(measure.name in table for table in tables):
            continue
        figures = [table[measure.name] for table in tables if table[measure.name] is not None]
        means[measure.name] = round(float(np.mean(figures)), 4) if figures else None
    sizes = [table["class_sizes"] for table in tables]
    means["class_sizes"] = {
        "smallest": min(each["smallest"] for each in sizes),
        "median": float(np.median([each["median"] for each in sizes])),
        "largest": max(each["largest"] for each in sizes),
    }
    return means


def combined(results: Sequence[CheckResult]) -> CheckResult:
    """Return what was found about several tables: of everything the least that any of them holds."""
    models = [finding for result in results for finding in result.models]
    of_classes = [finding for finding in models if finding.attribute is None]
    return CheckResult(
        rows=min(result.rows for result in results),
        classes=min(result.classes for result in results),
        smallest_class=min(result.smallest_class for result in results),
        satisfied=all(result.satisfied for result in results),
        sensitive={name: finding for result in results for name, finding in result.sensitive.items()},
        models=(*_weakest(of_classes), *(finding for finding in models if finding.attribute is not None)),
    )


def _weakest(findings: Sequence[ModelFinding]) -> list[ModelFinding]:
    """Keep the weakest finding of each model."""
    kept: dict[str, ModelFinding] = {}
    for finding in sorted(findings, key=lambda finding: (finding.satisfied, finding.reached)):
        kept.setdefault(finding.model, finding)
    return list(kept.values())


def verify(promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
    """Judge each projection on its own, then compare what all hold with the promise."""
    problems, results, count = [], [], len(promised.files)
    for number, file in enumerate(promised.files):
        if files.has(file):
            claims = file.claims or Claims.from_dict({})
            read, policy_of = partial(files.frame, file), partial(_policy_of, promised, number)
            part = stretch(progress, number / count, (number + 1) / count)
            table = table_findings(read, policy_of, claims, file.measures or {}, promised, part)
            problems += prefixed(str(file.name), table.problems)
            results += [] if table.result is None else [table.result]
    if len(results) < len(promised.files):
        return TableFindings(problems, None)
    if sorted(name for result in results for name in result.sensitive) != sorted(promised.policy.sensitive):
        problems.append("the tables do not hold every sensitive attribute exactly once")
    if len({result.rows for result in results}) > 1:
        problems.append("the tables do not have equally many rows")
    whole = combined(results)
    problems += [*count_problems(promised.claims, whole), *claim_problems(promised.claims, whole, promised)]
    problems += _mean_problems(promised)
    return TableFindings(problems, whole)


def _mean_problems(promised: Certificate) -> list[str]:
    """Compare the measures of the whole release with the means of those of its tables."""
    try:
        means = mean_measures([file.measures or {} for file in promised.files])
    except (KeyError, TypeError, ValueError):
        return ["what the certificate says about the measures of its tables is not readable"]
    differing = [name for name, mean in means.items() if promised.measures.get(name) != mean]
    return [say("{name} of all tables is not the mean of those of each table", name=name) for name in differing]


def _policy_of(promised: Certificate, number: int) -> Policy:
    """Return what one projection must satisfy, as the certificate says."""
    claims, policy = promised.files[number].claims, promised.policy
    names = list(claims.sensitive) if claims is not None else []
    if unknown := [name for name in names if name not in policy.sensitive]:
        raise PolicyError("{attributes} of the table not in the policy", attributes=counted(len(unknown), "attribute"))
    return projection_policy(policy, names, first=number == 0)


ENTRY = LayoutEntry(
    "projections",
    "several tables that share out the sensitive attributes, each judged on its own",
    marks_of,
    make,
    verify,
    scope=EACH_ALONE,
)
