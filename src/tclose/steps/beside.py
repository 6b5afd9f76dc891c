"""A release beside its table: what became of each column, which classes are worst, and what bounds a class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy, PolicyLike
from tclose.recode.counts import cells_apart
from tclose.release.before_after import ColumnChange, before_and_after
from tclose.release.beside import check_no_groups
from tclose.release.certificate import load
from tclose.release.class_list import ClassList, ClassReasons, list_classes, reasons_of
from tclose.steps.given import as_frame, as_release
from tclose.table import to_polars
from tclose.types import Floats, Progress, silent

if TYPE_CHECKING:
    from tclose.engine.class_limits import AttributeLimit


def column_changes(release: Any, table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[ColumnChange]:
    """Return what became of every published column of a release of one table; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    whole = to_polars(as_frame(table, asked))
    published, apart = _published(release, asked)
    progress(0.5, "comparing columns")
    return before_and_after(whole, published, asked, apart)


def class_list(
    release: Any, table: Any, policy: PolicyLike, certificate: str | Path, *, progress: Progress = silent
) -> ClassList:
    """List the classes of a release of one table, the worst first in each order; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    published, apart = _published(release, asked)
    progress(0.2, "measuring the classes")
    used = _shares_of_t(published, certificate, apart)
    progress(0.7, "comparing the classes with the table")
    return list_classes(published, to_polars(as_frame(table, asked)), asked, used)


def class_reasons(
    release: Any, table: Any, policy: PolicyLike, *, class_number: int, progress: Progress = silent
) -> ClassReasons:
    """Return why a class of a release of one table is as it is; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "comparing the class with the table")
    published, _ = _published(release, asked)
    check_no_groups(published, asked, "the release")
    return reasons_of(published, to_polars(as_frame(table, asked)), asked, class_number)


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
    published, apart = _published(release, asked)
    check_no_groups(published, asked, "the release")
    return limits(published, asked, class_number, apart)


def _shares_of_t(published: Any, certificate: str | Path, apart: Mapping[str, Any]) -> Floats | None:
    """Return the share of its t that each class uses; None where the release has groups instead of classes."""
    from tclose.engine.class_limits import shares_of_t

    try:
        asked = load(certificate).certificate.policy
        check_no_groups(published, asked, "the release")
        return shares_of_t(published, asked, apart)
    except (InputError, PolicyError):
        return None


def _published(release: Any, policy: Policy) -> tuple[Any, dict[str, Any]]:
    """Return the table of a release, and the exact cells that it counts by class, if it does."""
    given = as_release(release, policy)
    if not isinstance(given, tuple):
        return to_polars(given), {}
    table, counts = map(to_polars, given)
    return table, cells_apart(table, counts, policy)
