"""What steps are given: tables and releases as frames or files, and the libraries that a page takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.policy import Policy
from tclose.release.layouts.both import read_release
from tclose.table import read

if TYPE_CHECKING:
    pass


def as_frame(table: Any, policy: Policy | None = None) -> Any:
    """Return a table as it was given, or read it from its file; columns that the policy drops may be left out."""
    if not isinstance(table, str | Path):
        return table
    dropping = policy is not None and policy.others == "drop"
    return read(table, only=dict(policy.columns()) if policy is not None and dropping else ())


def as_release(release: Any, policy: Policy) -> Any:
    """Return a release as it was given, or read it from its file, and the counts of exact values if it has any."""
    return read_release(release) if policy.both and isinstance(release, str | Path) else as_frame(release)


def check_report_libraries() -> None:
    """Say that an extra is missing before the work begins."""
    from tclose.report.charts import libraries

    libraries()
