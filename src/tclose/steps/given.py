"""What steps are given: tables and releases as frames or files, and the libraries that a page takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclose.errors import ProfileWarning
from tclose.policy import Policy, SourceSettings
from tclose.policy.source import source_settings
from tclose.run.study import ReleaseStudy, Study
from tclose.table import CodedTable, read
from tclose.table.sources import checked, read_table, told
from tclose.table.sources.base import Labels


def as_frame(table: Any, policy: Policy | None = None) -> Any:
    """Return a table as it was given, or read it from its file as the policy's [source] says."""
    if not isinstance(table, str | Path):
        return table
    return read(table) if policy is None else Study(table, policy).given


def as_labelled(table: Any, policy: Policy) -> tuple[Any, Labels | None]:
    """Return a table for a release, and the labels of columns whose cells are published as they are.

    Columns that the policy drops may be left out.
    """
    if not isinstance(table, str | Path):
        return table, None
    only = _columns(policy) if policy.others == "drop" else ()
    found = checked(read_table(table, only=only, source=policy.source, missing=policy.not_numbers), policy.source)
    return found.frame, found.labels.only([*policy.keep, *policy.unlinkable, *policy.sensitive])


def _columns(policy: Policy) -> set[str]:
    """Return the columns that a release needs: those with a role, and sampling weights, which have none."""
    weight = None if policy.context is None else policy.context.sampling_weight
    return {name for name, _ in policy.columns()} | (set() if weight is None else {weight})


@dataclass(frozen=True, eq=False)
class Drafted:
    """A table that a draft is made of."""

    frame: Any
    source: SourceSettings | None = None  # how its file is written, where that was detected
    questions: tuple[str, ...] = ()  # what the steward must decide about the file
    described: Mapping[str, str] = field(default_factory=dict)  # what SPSS or Stata say about columns


def as_drafted(table: Any, source: SourceSettings | None = None, *, detect: bool = False) -> Drafted:
    """Return a table for a draft; with `detect`, what `source` does not say is detected."""
    if not isinstance(table, str | Path):
        return Drafted(table)
    found = told(read_table(table, source=source, detect=detect or source is None))
    written = source or found.found
    if source is not None and detect:
        written = source_settings({**found.found.to_dict(), **source.to_dict()}, "source")
    return Drafted(found.frame, written, found.questions, found.labels.columns)


def as_release(release: Any, policy: Policy) -> Any:
    """Return a release as it was given, or read it from its file, and the counts of exact values if it has any."""
    tables = ReleaseStudy(release, policy).tables
    return tables if len(tables) > 1 else tables[0]


def check_report_libraries() -> None:
    """Say that an extra is missing before the work begins."""
    from tclose.report.charts import libraries

    libraries()


def check_population(profile: str | None, original: CodedTable) -> None:
    """Find mistakes in the sampling weights of `[context]` before the work begins."""
    if profile is not None:
        from tclose.report.profiles import population_of

        population_of(original)


def warn_of_profile(profile: str | None, frames: Sequence[Any], original: CodedTable) -> None:
    """Say what a profile will lack, before the release is written."""
    if profile is not None:
        from tclose.report.profiles import Said, profile_named, published_columns

        said = Said(original.policy, lambda: published_columns(frames, original))
        if (warning := profile_named(profile).warning_before(said)) is not None:
            warnings.warn(warning, ProfileWarning, stacklevel=4)


def missing_in_profile(profile: str, policy: Policy) -> tuple[str, ...]:
    """Return what a profile asks for and a policy does not say, as far as the policy alone tells it."""
    from tclose.report.profiles import Said, profile_named

    return profile_named(profile).missing_before(Said(policy))
