"""A table under a policy: it is read once and coded once, whatever is asked of it.

A process that keeps what it read codes a table again only when its files or their roles change. A command works once
and ends, so it keeps nothing; the studio's process for a project uses `tables_kept()`.
"""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, TcloseError, did_you_mean
from tclose.policy import Policy, PolicyLike, SourceSettings
from tclose.policy.source import source_settings
from tclose.policy.variants import k_alone
from tclose.privacy.allowance import with_policy_notes
from tclose.privacy.explanation import ValueGroups, class_notes
from tclose.privacy.judge import check_groups, distance_of, judge
from tclose.privacy.results import CheckResult, Explanation, Step
from tclose.table import CodedTable, encode, encode_quietly, read, to_polars
from tclose.table.coded import check_columns
from tclose.table.sources import is_folder, read_plain, read_table, told
from tclose.table.sources.databases import files_of
from tclose.table.sources.folder import visible_names
from tclose.types import Progress, silent, stretch

if TYPE_CHECKING:
    from tclose.run.release_pair import ReleasePair

# What a process has read and coded, kept while the files stay as they are


T = TypeVar("T")
Key = tuple[Hashable, ...]
MOST = 12  # things that are kept: a table and some releases, as they were read, coded and brought together
_kept: OrderedDict[Key, object] | None = None


@contextmanager
def tables_kept() -> Iterator[None]:
    """Keep what is read until the block ends."""
    global _kept
    before, _kept = _kept, OrderedDict()
    try:
        yield
    finally:
        _kept = before


def forget_files() -> None:
    """Make room: drop everything that is kept."""
    if _kept is not None:
        _kept.clear()


def computed_once(key: Key | None, make: Callable[[], T]) -> T:
    """Return what was made before with this key, or make it; without a key, nothing is kept."""
    if _kept is None or key is None:
        return make()
    if key not in _kept:
        _kept[key] = make()
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found: T = _kept[key]  # type: ignore[assignment]
    return found


def state_of(table: object) -> Key | None:
    """Tell one content of a table's files from another; None for what has no file, or cannot be looked at."""
    if not isinstance(table, str | Path) or str(table) == "-":
        return None
    try:
        return str(table), states([part for file in files_of(table) for part in _parts(file)])
    except (OSError, ValueError):
        return None  # whoever reads it says what is wrong


def states(files: Sequence[Path]) -> Key:
    """Tell one content of some files from another: also of one that was written twice within a tick of the clock."""
    found = [(str(file), file.stat()) for file in files]
    return tuple((name, each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino) for name, each in found)


def _parts(file: Path) -> list[Path]:
    return [file, *(file / name for name in visible_names(file))] if is_folder(file) else [file]


# A table under a policy, and a release of it


RELEASE, SECOND = "the release", "the second release"  # what messages call them
MOST_BINS = 20  # in which an explanation puts the values of a long domain


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A table, given as a frame or a file, under a policy.

    A table that is coded already can be given to bring a release beside it; then `frame` lacks the withheld rows.
    """

    table: Any
    policy: Policy

    @cached_property
    def given(self) -> Any:
        """The table as it was given, or read from its file as [source] of the policy says."""
        if isinstance(self.table, CodedTable):
            return self.table.frame
        if not isinstance(self.table, str | Path):
            return self.table
        missing = self.policy.not_numbers
        return computed_once(self._key_of_frame, lambda: read(self.table, source=self.policy.source, missing=missing))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return to_polars(self.given)

    @cached_property
    def coded(self) -> CodedTable:
        """The table in codes, without warnings; columns that the policy does not name play no role."""
        return self.table if isinstance(self.table, CodedTable) else self._learned[0].under(self.policy)

    def beside(self, release: Any) -> ReleasePair:
        """Bring a release together with the table; what is made of both is kept as long as both stay as they are.

        The release is given as a frame, as its tables, as a file, in codes, as a `Release` or as a `ReleaseStudy`.
        """
        from tclose.run.release_pair import ReleasePair

        given = release if isinstance(release, ReleaseStudy) else ReleaseStudy(release, self.policy)
        return ReleasePair(self, given, self._key_beside(given))

    def coded_with_warnings(self) -> CodedTable:
        """Return the table in codes, and give the warnings of coding again."""
        coded = self.coded
        _warn(self._learned[1])
        return coded

    def check(self, *, ignore_others: bool = False, progress: Progress = silent) -> CheckResult:
        """Say whether the table holds what the policy asks for; it is judged as it is, nothing is changed."""
        progress(0.0, "reading")
        check_columns(self.frame, self.policy, ignore_others=ignore_others)
        table = self.coded_with_warnings()
        check_groups(table.domain, self.policy)
        progress(0.5, "judging")
        result = judge(table, self.policy, stretch(progress, 0.5, 1.0)).result
        return with_policy_notes(self._with_presence(result, table), table, self.policy)

    def explain(self, attribute: str, class_number: int, *, progress: Progress = silent) -> Explanation:
        """Return the cheapest moves that turn one class's distribution into the whole table's."""
        progress(0.0, "reading")
        table = self.coded_with_warnings()
        if attribute not in table.judged:
            hint = did_you_mean(attribute, table.judged)
            raise InputError(
                "'{attribute}' is no sensitive attribute of the policy{hint}", attribute=attribute, hint=hint
            )
        progress(0.5, "forming classes")
        members = class_members(table, class_number)
        column = table.judged[attribute]
        progress(0.7, "finding the cheapest moves")
        counts = np.bincount(column.codes[members], minlength=len(column.reference)).astype(np.int64)
        plan = distance_of(column).plan(counts, column.reference)
        progress(0.9, "adding up the moves")
        groups = ValueGroups.of(column, MOST_BINS)
        moves = tuple(
            Step(column.labels[move.source], column.labels[move.target], move.mass, move.distance) for move in plan
        )
        between = tuple(
            Step(groups.names[move.source], groups.names[move.target], move.mass, move.cost / move.mass)
            for move in groups.moves(plan)
        )
        return Explanation(
            attribute=attribute,
            class_number=class_number,
            rows=len(members),
            distance=column.distance,
            moves=moves,
            shows=table.shown_by(int(members[0])),
            bins=groups.names,
            moves_between_bins=between if len(groups.names) < np.count_nonzero(column.reference) else moves,
            notes=tuple(class_notes(table, self.policy, column, members)),
        )

    def _with_presence(self, result: CheckResult, table: CodedTable) -> CheckResult:
        """Add what is found about presence, if the policy asks for it."""
        if self.policy.presence is None:
            return result
        from tclose.measure.pair import population_of
        from tclose.measure.presence import counts_of
        from tclose.measure.presence_claim import presence_claim, presence_findings

        population = population_of(table, self.policy)
        if population is None:
            return result
        found = counts_of(population, table, table.withheld)
        asked = self.policy.presence
        return result.with_presence(presence_claim(asked, found), presence_findings(asked, found))

    @cached_property
    def _learned(self) -> tuple[CodedTable, tuple[Warning, ...]]:
        return computed_once(self._key_of_codes, self._encoded)

    def _encoded(self) -> tuple[CodedTable, tuple[Warning, ...]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LeakWarning)
            try:
                table = encode(self.frame, self.policy, ignore_others=True)
            except TcloseError as error:
                refused: TcloseError | None = error
            else:
                refused = None
        given = tuple(each.message for each in caught if isinstance(each.message, Warning))
        if refused is not None:
            _warn(given)
            raise refused
        return table, given

    @cached_property
    def _key_of_frame(self) -> Key | None:
        state = state_of(self.table)
        return None if state is None else ("frame", state, str(self.policy.source), self.policy.not_numbers)

    @property
    def _key_of_codes(self) -> Key | None:
        """What the codes depend on: the levels that are asked for play no role."""
        frame = self._key_of_frame
        try:
            return None if frame is None else ("codes", frame, *_coding(self.policy))
        except OSError:  # a file that the policy names; reading it says what is wrong
            return None

    def _key_beside(self, release: ReleaseStudy) -> Key | None:
        """Return what the results for the table and a release depend on."""
        frame, published = self._key_of_frame, release.key
        try:
            return None if frame is None or published is None else (frame, published, *_whole(self.policy))
        except OSError:
            return None


def _warn(given: Iterable[Warning]) -> None:
    for warning in given:
        warnings.warn(warning, stacklevel=4)


def _coding(policy: Policy) -> Key:
    joint = [(each.name, each.attributes, each.distance) for each in policy.joint]
    return json.dumps([k_alone(policy, 2).to_dict(), joint], default=str, sort_keys=True), states(policy.files)


def _whole(policy: Policy) -> Key:
    return json.dumps(policy.to_dict(), default=str, sort_keys=True), states(policy.files)


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseStudy:
    """A release of one table, given as a frame or a file, read by a policy; its classes may count exact values.

    `guarded` says that apostrophes were put before what a spreadsheet would run: they are taken away.
    """

    release: Any
    policy: Policy
    name: str = RELEASE
    guarded: bool = False

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        """The table and, for a policy with `both`, the counts of exact values, as they were given or read."""
        if isinstance(self.release, str | Path):
            return computed_once(self.key, lambda: self._unguarded(self._read()))
        return self._unguarded(self.release if isinstance(self.release, tuple) else (self.release,))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return to_polars(self.tables[0])

    @cached_property
    def apart(self) -> Mapping[str, pl.Series]:
        """The exact cells that the release counts by class, if it does."""
        from tclose.recode.frame import cells_apart

        return cells_apart(self.frame, to_polars(self.tables[1]), self.policy) if len(self.tables) > 1 else {}

    @cached_property
    def coded(self) -> CodedTable:
        """The release in codes, without warnings."""
        key = None if self.key is None else (*self.key, *_coding(self.policy))

        def make() -> CodedTable:
            return encode_quietly(self.frame, self.policy, ignore_others=True, apart=self.apart)

        return computed_once(key, make).under(self.policy)

    def _read(self) -> tuple[pl.DataFrame, ...]:
        from tclose.release.layouts.one_table import read_release

        return read_release(self.release) if self.policy.both else (read_plain(self.release),)

    def _unguarded(self, tables: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self.guarded:
            return tables
        from tclose.recode.frame import GUARDS, NEWEST

        return tuple(GUARDS[NEWEST].restored(to_polars(table)) for table in tables)

    @cached_property
    def key(self) -> Key | None:
        """What the tables depend on; None for a release that has no file."""
        state = state_of(self.release)
        return None if state is None else ("release", state, bool(self.policy.both), self.guarded)


def class_members(table: CodedTable, class_number: int) -> Any:
    """Return the rows of a class; classes are counted from 1, in the order in which the table shows them first."""
    classes = table.classes
    if not 1 <= class_number <= len(classes):
        raise InputError(
            "there is no class {class_number:,}: the table has classes 1 to {count:,}",
            class_number=class_number,
            count=len(classes),
        )
    return classes.members(class_number - 1)


def check(
    frame: Any, policy: PolicyLike, *, ignore_others: bool = False, progress: Progress | None = None
) -> CheckResult:
    """Say whether a table holds what a policy asks for; the table is judged as it is, nothing is changed.

    `frame` is a pandas, polars or pyarrow frame; `policy` a `Policy`, a mapping or the path of a TOML file. Rows that
    show equal quasi-identifiers and kept columns form a class. With `ignore_others`, columns that the policy does not
    name play no role.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
    >>> check(table, Policy(quasi=["zone"], sensitive={"salary": {"t": 0.1}}, k=2)).satisfied
    True
    """
    asked = Policy.of(policy)
    return Study(to_polars(frame), asked).check(ignore_others=ignore_others, progress=progress or silent)


def explain(
    frame: Any, policy: PolicyLike, *, attribute: str, class_number: int, progress: Progress | None = None
) -> Explanation:
    """Return the cheapest moves that turn one class's distribution into the whole table's.

    Classes are counted from 1 in the order in which the table shows them first. Where there are many values, the moves
    are also added up between at most 20 bins.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "b"], "salary": [3, 4]})
    >>> policy = Policy(quasi=["zone"], sensitive={"salary": {"t": 0.5}})
    >>> explain(table, policy, attribute="salary", class_number=1).closeness
    Fraction(1, 2)
    """
    asked = Policy.of(policy)
    return Study(to_polars(frame), asked).explain(attribute, class_number, progress=progress or silent)


# What commands are given: tables and releases as frames or files, and the libraries that a page takes


def as_frame(table: Any, policy: Policy | None = None) -> Any:
    """Return a table as it was given, or read it from its file as the policy's [source] says."""
    if not isinstance(table, str | Path):
        return table
    return read(table) if policy is None else Study(table, policy).given


@dataclass(frozen=True, eq=False, repr=False)
class DraftInput:
    """A table that a draft is made of."""

    frame: Any
    source: SourceSettings | None = None  # how its file is written, where that was detected
    questions: tuple[str, ...] = ()  # what the steward must decide about the file
    described: Mapping[str, str] = field(default_factory=dict)  # what SPSS or Stata say about columns


def as_drafted(table: Any, source: SourceSettings | None = None, *, detect: bool = False) -> DraftInput:
    """Return a table for a draft; with `detect`, what `source` does not say is detected."""
    if not isinstance(table, str | Path):
        return DraftInput(table)
    found = told(read_table(table, source=source, detect=detect or source is None))
    written = source or found.found
    if source is not None and detect:
        written = source_settings({**found.found.to_dict(), **source.to_dict()}, "source")
    return DraftInput(found.frame, written, found.questions, found.labels.columns)


def as_release(release: Any, policy: Policy, *, guarded: bool = False, name: str = RELEASE) -> ReleaseStudy:
    """Return the study of a release, given as a frame or a file; a file is read at once, before any work.

    With `guarded`, the apostrophes of the guard are taken away. Messages call the release by `name`.
    """
    study = ReleaseStudy(release, policy, name, guarded)
    _ = study.tables
    return study


def check_report_libraries() -> None:
    """Say that an extra is missing before the work begins."""
    from tclose.report.charts import libraries

    libraries()


def missing_in_profile(profile: str, policy: Policy) -> tuple[str, ...]:
    """Return what a profile asks for and a policy does not say, as far as the policy alone tells it."""
    from tclose.report.profiles import PolicyEvidence, profile_named

    return profile_named(profile).missing_before(PolicyEvidence(policy))
