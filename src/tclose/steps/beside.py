"""A release beside its table: what became of each column, and what bounds a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.policy import Policy, PolicyLike
from tclose.release.certificate import load
from tclose.steps.given import as_frame, as_release
from tclose.table import to_polars
from tclose.table.before_after import ColumnChange, before_and_after
from tclose.types import Progress, silent

if TYPE_CHECKING:
    from tclose.engine.class_limits import AttributeLimit


def column_changes(release: Any, table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[ColumnChange]:
    """Return what became of every visible column of a release of one table; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    whole = to_polars(as_frame(table, asked))
    progress(0.5, "comparing columns")
    return before_and_after(whole, to_polars(as_release(release, asked)), asked.visible, asked.missing)


def query_error(release: Any, table: Any, policy: PolicyLike, *, seed: int = 0) -> float | None:
    """Return the median relative error of random counts that a reader of a release makes; None without any to ask.

    The same seed asks the same counts of every release of a table. The figure stays with the steward.
    """
    from tclose.engine import memory

    asked = Policy.of(policy)
    return memory.query_error(as_release(release, asked), original=as_frame(table, asked), policy=asked, seed=seed)


def class_limits(
    release: Any, certificate: str | Path, *, class_number: int, progress: Progress = silent
) -> list[AttributeLimit]:
    """Return how near a class comes to the t of each attribute, the nearest first, judged as the certificate says."""
    from tclose.engine.class_limits import class_limits as limits

    asked = load(certificate).certificate.policy
    progress(0.0, "measuring the class")
    return limits(as_release(release, asked), asked, class_number)
