"""What steps are given: tables and releases as frames or files, and the libraries that a page takes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from tclose.errors import SourceWarning
from tclose.policy import Policy, SourceSettings
from tclose.release.layouts.both import read_release
from tclose.table import read
from tclose.table.sources import read_plain, read_table
from tclose.table.sources.reading import sentence_of


def as_frame(table: Any, policy: Policy | None = None, *, drop: bool = False) -> Any:
    """Return a table as it was given, or read it from its file as the policy's [source] says.

    With `drop`, columns that the policy drops may be left out.
    """
    if not isinstance(table, str | Path):
        return table
    if policy is None:
        return read(table)
    only = dict(policy.columns()) if drop and policy.others == "drop" else ()
    return read(table, source=policy.source, missing=policy.missing, only=only)


def as_drafted(table: Any) -> tuple[Any, SourceSettings | None, tuple[str, ...]]:
    """Return a table for a draft, how its file is written where that was detected, and what the steward must decide."""
    if not isinstance(table, str | Path):
        return table, None, ()
    found = read_table(table)
    if (sentence := sentence_of(found)) is not None:
        warnings.warn(sentence, SourceWarning, 3)
    return found.frame, found.found, found.questions


def as_release(release: Any, policy: Policy) -> Any:
    """Return a release as it was given, or read it from its file, and the counts of exact values if it has any."""
    return read_release(release) if policy.both and isinstance(release, str | Path) else _as_published(release)


def _as_published(release: Any) -> Any:
    return read_plain(release) if isinstance(release, str | Path) else release


def check_report_libraries() -> None:
    """Say that an extra is missing before the work begins."""
    from tclose.report.charts import libraries

    libraries()
