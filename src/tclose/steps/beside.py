"""A release beside its table: what became of each column, which classes are worst, and what bounds a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy, PolicyLike
from tclose.release.before_after import ColumnChange, before_and_after
from tclose.release.beside import check_no_groups
from tclose.release.certificate import load
from tclose.release.class_list import ClassList, ClassReasons, list_classes, reasons_of
from tclose.run.study import ReleaseStudy, Study
from tclose.steps.given import as_release
from tclose.types import Floats, Progress, silent

if TYPE_CHECKING:
    from tclose.engine.class_limits import AttributeLimit


def column_changes(release: Any, table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[ColumnChange]:
    """Return what became of every published column of a release of one table; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    whole, published = Study(table, asked).frame, ReleaseStudy(release, asked)
    apart = published.apart
    progress(0.5, "comparing columns")
    return before_and_after(whole, published.frame, asked, apart)


def class_list(
    release: Any, table: Any, policy: PolicyLike, certificate: str | Path, *, progress: Progress = silent
) -> ClassList:
    """List the classes of a release of one table, the worst first in each order; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    published = ReleaseStudy(release, asked).frame
    progress(0.2, "measuring the classes")
    used = _shares_of_t(release, certificate)
    progress(0.7, "comparing the classes with the table")
    return list_classes(published, Study(table, asked).frame, asked, used)


def class_reasons(
    release: Any, table: Any, policy: PolicyLike, *, class_number: int, progress: Progress = silent
) -> ClassReasons:
    """Return why a class of a release of one table is as it is; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "comparing the class with the table")
    published = ReleaseStudy(release, asked).frame
    check_no_groups(published, asked, "the release")
    return reasons_of(published, Study(table, asked).frame, asked, class_number)


def query_error(release: Any, table: Any, policy: PolicyLike, *, seed: int = 0) -> float | None:
    """Return the median relative error of random counts that a reader of a release makes; None without any to ask.

    The same seed asks the same counts of every release of a table. The figure stays with the steward.
    """
    from tclose.engine import memory

    asked = Policy.of(policy)
    return memory.query_error(as_release(release, asked), original=Study(table, asked), policy=asked, seed=seed)


def class_limits(
    release: Any, certificate: str | Path, *, class_number: int, progress: Progress = silent
) -> list[AttributeLimit]:
    """Return how near a class comes to the t of each attribute, the nearest first, judged as the certificate says."""
    from tclose.engine.class_limits import class_limits as limits

    asked = load(certificate).certificate.policy
    progress(0.0, "measuring the class")
    published = ReleaseStudy(release, asked)
    check_no_groups(published.frame, asked, "the release")
    return limits(published.coded, class_number)


def _shares_of_t(release: Any, certificate: str | Path) -> Floats | None:
    """Return the share of its t that each class uses; None where the release has groups instead of classes."""
    from tclose.engine.class_limits import shares_of_t

    try:
        asked = load(certificate).certificate.policy
        published = ReleaseStudy(release, asked)
        check_no_groups(published.frame, asked, "the release")
        return shares_of_t(published.coded)
    except (InputError, PolicyError):
        return None
