"""A release beside its table: what became of each column, which classes are worst, and what bounds a class.

Anyone who compares a release with its table asks `ReleasePair`, which a study makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tclose.distance import Counts
from tclose.errors import InputError, PolicyError
from tclose.measure.class_list import ClassList, ClassReasons, ReleasedClasses
from tclose.measure.pair import TablePair, check_no_groups, in_population, read_published
from tclose.measure.queries import error_of_counts
from tclose.measure.reconstruction import ColumnChange, before_and_after
from tclose.messages import say
from tclose.policy import Policy, PolicyLike
from tclose.privacy.judge import counts_of, distance_of
from tclose.release.certificate import load
from tclose.release.release import Release
from tclose.run.study import Key, ReleaseStudy, Study, as_release, class_members, computed_once
from tclose.table import CodedTable
from tclose.table.coded import check_columns
from tclose.types import Beat, Floats, Progress, silent, still

# The pair of a table and its release


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ReleasePair:
    """A release and its table. Each thing that takes both is made when it is asked for, and once."""

    study: Study
    release: ReleaseStudy
    key: Key | None = None  # of the content of both, under which a process keeps what it made; None for frames
    _made: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def original(self) -> CodedTable:
        """The table as its release codes it; a table that was given in codes stays as it is."""
        return self._once("original", self._coded_original, keep=False)

    @property
    def published(self) -> CodedTable:
        """The release in codes, read as any reader reads it."""
        return self._once("published", self._coded_release)

    @property
    def classes(self) -> ReleasedClasses:
        """The classes of the release, with the columns of the table."""
        return self._once("classes", self._released_classes)

    def in_codes(self, beat: Beat = still) -> TablePair:
        """Return both in codes, and which people of the table fit which class; refuse the release of another table.

        `beat` is called between columns and blocks of rows, now and whenever people and classes are compared later.
        """

        def make() -> TablePair:
            made = TablePair.of(self.original, self.published, self.release.name, beat=beat)
            return made.with_beat(still)  # what is kept serves other work than this

        return self._once("in codes", make).with_beat(beat)

    def changes(self) -> list[ColumnChange]:
        """Return what became of every published column."""
        return before_and_after(self.study.frame, self.release.frame, self.study.policy, self.release.apart)

    def query_error(self, seed: int) -> float | None:
        """Return how wrong the counts are that a reader makes, in the median; None without any to ask."""
        original = self.original
        error = error_of_counts(self.study.frame, original, [self.published], seed)
        return None if error is None else error.median

    def check_classes(self) -> None:
        """Refuse a release that has groups instead of classes."""
        check_no_groups(self.release.frame, self.study.policy, self.release.name)

    def _once(self, part: str, make: Callable[[], T], *, keep: bool = True) -> T:
        if part not in self._made:
            key = None if self.key is None or not keep else (part, *self.key)
            self._made[part] = computed_once(key, make)
        made: T = self._made[part]  # type: ignore[assignment]
        return made

    def _coded_original(self) -> CodedTable:
        if isinstance(self.study.table, CodedTable):
            return self.study.table
        check_columns(self.study.frame, self.study.policy)
        return in_population(self.study.coded)

    def _coded_release(self) -> CodedTable:
        given, name = self.release.release, self.release.name
        if isinstance(given, CodedTable):
            return given
        tables = _tables_of(given) if isinstance(given, Release) else self.release.tables
        if len(tables) > 2:
            raise InputError("{name} has {count} tables: take one of them at a time", name=name, count=len(tables))
        return read_published(tables[0], self.original, name, counts=tables[1] if len(tables) > 1 else None)

    def _released_classes(self) -> ReleasedClasses:
        release = self.release.frame
        return ReleasedClasses(release, self.study.frame, self.study.policy)


def _tables_of(release: Release) -> tuple[object, ...]:
    """Return the tables of a release that can be compared with its original."""
    if not release.layout.comparable:
        many = len(release.layout.frames)
        why = (
            say("has {many} tables: take one of its .tables at a time", many=many)
            if many > 1
            else "publishes no classes"
        )
        raise InputError("this release {why}", why=why)
    return release.layout.frames


# How near one class of a release comes to what its policy allows, attribute by attribute


@dataclass(frozen=True)
class AttributeLimit:
    """The distance of one attribute in one class, and the t that it must not exceed."""

    name: str
    distance: float
    t: float

    @property
    def used(self) -> float:
        """The share of t that the class uses."""
        return self.distance / self.t if self.t else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "used": self.used}


def limits_of_class(table: CodedTable, class_number: int) -> list[AttributeLimit]:
    """Return every attribute that has a t, the one nearest to its limit first; classes are counted from 1."""
    members, found = class_members(table, class_number), []
    for name, column in table.sensitive.items():
        if (t := table.policy.sensitive[name].t) is not None:
            counts = np.bincount(column.codes[members], minlength=len(column.reference))
            distance = distance_of(column).emd(Counts.from_dense([counts]), column.reference)[0]
            found.append(AttributeLimit(name, float(distance), float(t)))
    return sorted(found, key=lambda limit: -limit.used)


def shares_of_t(table: CodedTable) -> Floats | None:
    """Return the largest share of its t that any attribute of each class uses; None where no attribute has a t."""
    shares = [
        _share_of(distance_of(column).emd(counts_of(column, table.classes), column.reference).floats(), float(t))
        for name, column in table.sensitive.items()
        if (t := table.policy.sensitive[name].t) is not None
    ]
    return np.max(shares, axis=0) if shares else None


def _share_of(distances: Floats, t: float) -> Floats:
    return distances / t if t else np.ones(len(distances))


# The commands


def column_changes(release: Any, table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[ColumnChange]:
    """Return what became of every published column of a release of one table; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    pair = Study(table, asked).beside(release)
    _ = pair.study.frame, pair.release.apart  # are read
    progress(0.5, "comparing columns")
    return pair.changes()


def class_list(
    release: Any, table: Any, policy: PolicyLike, certificate: str | Path, *, progress: Progress = silent
) -> ClassList:
    """List the classes of a release of one table, the worst first in each order; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    pair = Study(table, asked).beside(release)
    _ = pair.release.frame  # is read
    progress(0.2, "measuring the classes")
    used = _shares_of_t(release, certificate)
    progress(0.7, "comparing the classes with the table")
    return pair.classes.listed(used)


def class_reasons(
    release: Any, table: Any, policy: PolicyLike, *, class_number: int, progress: Progress = silent
) -> ClassReasons:
    """Return why a class of a release of one table is as it is; the figures stay with the steward."""
    asked = Policy.of(policy)
    progress(0.0, "comparing the class with the table")
    pair = Study(table, asked).beside(release)
    pair.check_classes()
    return pair.classes.reasons(class_number)


def query_error(release: Any, table: Any, policy: PolicyLike, *, seed: int = 0) -> float | None:
    """Return the median relative error of random counts that a reader of a release makes; None without any to ask.

    The same seed asks the same counts of every release of a table. The figure stays with the steward.
    """
    asked = Policy.of(policy)
    return Study(table, asked).beside(as_release(release, asked)).query_error(seed)


def class_limits(
    release: Any, certificate: str | Path, *, class_number: int, progress: Progress = silent
) -> list[AttributeLimit]:
    """Return how near a class comes to the t of each attribute, the nearest first, judged as the certificate says."""
    asked = load(certificate).certificate.policy
    progress(0.0, "measuring the class")
    published = ReleaseStudy(release, asked)
    check_no_groups(published.frame, asked, "the release")
    return limits_of_class(published.coded, class_number)


def _shares_of_t(release: Any, certificate: str | Path) -> Floats | None:
    """Return the share of its t that each class uses; None where the release has groups instead of classes."""
    try:
        asked = load(certificate).certificate.policy
        published = ReleaseStudy(release, asked)
        check_no_groups(published.frame, asked, "the release")
        return shares_of_t(published.coded)
    except (InputError, PolicyError):
        return None
