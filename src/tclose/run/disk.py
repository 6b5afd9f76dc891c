"""Tables that are too large for memory are checked, verified and attacked: read once, in batches, and counted.

Memory grows with the number of classes and of different values in them, not with the number of rows. Attacks that
need no more than these counts find what they find in memory; the others are left out, and the result says so.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.measure.attack import ATTACKS, RAW, RELEASE, Attacks, Scene, attack_results
from tclose.measure.attack.scenes import ANONYMIZER, CountedPeople, crowd_of, published_scene, raw_scene
from tclose.measure.pair import check_no_groups, reading_by_policy
from tclose.messages import say
from tclose.policy import Policy
from tclose.policy.source import PLAIN
from tclose.privacy.class_counts import check_counted, counted_by_person, judge_counted, needs_all_classes
from tclose.privacy.reader import reader_policy
from tclose.privacy.results import CheckResult
from tclose.recode.frame import GUARDS, NEWEST
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.verification import CertifiedFiles, TableFindings, Verification, not_judged, table_problems
from tclose.release.verify import NO_DEMANDS, Demands, verify_with
from tclose.run.evaluation import AttackRequest
from tclose.table import CountedTable
from tclose.table.coded import check_columns, warn_of_leaks, warn_of_repeats
from tclose.table.disk_files import CellBatch, NoSpace, TableFile, TableOnDisk, table_on_disk
from tclose.table.domains import grouping_of, identifiers_to_count, linked_grouping, persons_grouping, repeats_of
from tclose.table.groups import BUDGET, GroupedRows
from tclose.table.sources import is_folder
from tclose.types import Beat, Progress, Repeating, silent, stretch

# Check and verify


READ_OF_JUDGEMENT = 0.9  # share of the work after which the table is read


def check(path: str | Path, policy: Policy, *, ignore_others: bool = False, progress: Progress = silent) -> CheckResult:
    """Say whether a table on disk holds what a policy asks for, as `tclose.check` does."""
    if (why := judgement_refusal(policy)) is not None:
        raise InputError(why)
    return check_table(table_on_disk(path, policy.source), policy, ignore_others=ignore_others, progress=progress)


def check_table(table: TableOnDisk, policy: Policy, *, ignore_others: bool, progress: Progress) -> CheckResult:
    """Say whether a table holds what a policy asks for."""
    with counted_table(
        table, policy, ignore_others=ignore_others, progress=stretch(progress, 0.0, READ_OF_JUDGEMENT)
    ) as found:
        return check_counted(found, policy, stretch(progress, READ_OF_JUDGEMENT, 1.0)).result


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    demands: Demands = NO_DEMANDS,
    progress: Progress = silent,
) -> Verification:
    """Judge a release of one table again and compare with its certificate, as `verify` in memory does."""
    told = Repeating(progress)
    if not is_folder(release):
        table_on_disk(release, PLAIN)  # refuses what cannot be read in batches
    judge = partial(_judged_on_disk, beat=told.beat)
    return verify_with(judge, release, certificate, digest=digest, demands=demands, progress=told)


def _judged_on_disk(promised: Certificate, files: CertifiedFiles, progress: Progress, *, beat: Beat) -> TableFindings:
    parts = [
        TableFile(str(file.name), _size(files, file), partial(files.copied, file, beat)) for file in promised.files
    ]
    rows: Counter[str] = Counter()
    try:
        policy, table = promised.policy, TableOnDisk(parts, files.folder, guard=GUARDS.get(files.guard))
        with counted_table(table, policy, progress=stretch(progress, 0.0, READ_OF_JUDGEMENT), rows=rows) as found:
            for file in promised.files:
                files.note_rows(file, rows[str(file.name)])
            judged = judge_counted(found, policy, stretch(progress, READ_OF_JUDGEMENT, 1.0))
    except NoSpace:
        raise
    except (InputError, PolicyError) as error:
        return not_judged(error)
    return TableFindings(table_problems(judged, promised.claims, promised.measures, promised), judged.result)


def _size(files: CertifiedFiles, file: CertifiedFile) -> int:
    path = files.data[file.name]
    return path.stat().st_size if isinstance(path, Path) and path.exists() else 0


def judgement_refusal(policy: Policy) -> str | None:
    """Say why a policy cannot be judged by counts; None where it can."""
    if policy.presence is not None:
        return "presence is judged against the rows of a population"
    return None


@contextmanager
def counted_table(
    table: TableOnDisk,
    policy: Policy,
    *,
    ignore_others: bool = False,
    progress: Progress = silent,
    rows: Counter[str] | None = None,
) -> Iterator[CountedTable]:
    """Read a table once and count its rows; what had to be written to a temporary file goes in the end.

    `rows` is told how many rows each file has.
    """
    told = Repeating(progress)
    counting = RowCounter(policy, ignore_others, told.beat)
    try:
        with closing(table.batches(counting.wanted, told)) as batches:
            for batch in batches:
                counting.add(batch)
                if rows is not None:
                    rows[batch.file] += batch.rows
        found = CountedTable.of(counting.groups, policy)
        counting.warn()
        yield found
    finally:
        counting.close()


class RowCounter:
    """Everything that is counted while a table is read: its groups of rows, and how often identifiers repeat."""

    def __init__(self, policy: Policy, ignore_others: bool, beat: Beat) -> None:
        budget = None if needs_all_classes(policy) else BUDGET
        self.policy, self.ignore_others, self.beat = policy, ignore_others, beat
        self.groups = GroupedRows(grouping_of(policy, counted_by_person(policy)), budget=budget, beat=beat)
        self.identifiers: dict[str, GroupedRows] = {}

    def wanted(self, columns: pl.DataFrame) -> list[tuple[str, ...]]:
        """Return the columns that have to be counted; a table that does not fit the policy is refused."""
        check_columns(columns, self.policy, ignore_others=self.ignore_others)
        warn_of_leaks(columns, self.policy)
        self.groups.check(columns)
        for name in identifiers_to_count(columns, self.policy):
            self.identifiers[name] = GroupedRows(repeats_of(name, self.policy), budget=BUDGET, beat=self.beat)
        return [groups.grouping.columns for groups in (self.groups, *self.identifiers.values())]

    def add(self, batch: CellBatch) -> None:
        """Count the rows of a batch."""
        for counted_groups, groups in zip((self.groups, *self.identifiers.values()), batch.groups, strict=True):
            counted_groups.add(groups, batch.rows)

    def warn(self) -> None:
        """Warn about identifiers that repeat."""
        warn_of_repeats({name: groups.repeated() for name, groups in self.identifiers.items()})

    def close(self) -> None:
        """Give back the space on disk."""
        for groups in (self.groups, *self.identifiers.values()):
            groups.close()


# Attack


READ_OF_ATTACK = 0.8  # share of the work after which all tables are read
COMPARED = 0.9  # share after which people and classes are compared
NAMES = ("the release", "the second release")
LEFT_OUT = [attack.label for attack in ATTACKS if attack.needs_rows]
NOTE = say(
    "not run out of core: the {left_out} and {left_out_2} attacks, which read single rows, and the "
    "comparison with a k-anonymous table; the engine memory runs them",
    left_out=", ".join(LEFT_OUT[:-1]),
    left_out_2=LEFT_OUT[-1],
)


def attack_refusal(request: AttackRequest) -> str | None:
    """Say why a release cannot be attacked by counts; None where it can."""
    reasons = {
        "the release has two tables (both)": bool(request.asked.both),
        "the register's rows are compared with those of the release": request.register is not None,
        "the population's rows are compared with those of the release": request.population is not None,
        "a method splits the rows for the k-anonymous table": request.method != ANONYMIZER,
    }
    for why, holds in reasons.items():
        if holds:
            return why
    return judgement_refusal(request.asked)


def attack(request: AttackRequest, progress: Progress = silent) -> Attacks:
    """Measure what an adversary learns from a release on disk, beside the raw table, as `memory.attack` does."""
    if (why := attack_refusal(request)) is not None:
        raise InputError(why)
    original, *releases = request.tables
    policy, guard = request.asked, GUARDS[NEWEST] if request.guard_formulas else None
    published = [replace(table_on_disk(path), guard=guard) for path in releases]
    return attack_tables(table_on_disk(original, policy.source), published, policy, progress)


def attack_tables(
    original: TableOnDisk, releases: Sequence[TableOnDisk], policy: Policy, progress: Progress = silent
) -> Attacks:
    """Count a table and one or two releases of it, and attack the first one's counts."""
    told, crowd = Repeating(progress), crowd_of(policy)
    step = READ_OF_ATTACK / (1 + len(releases))
    with ExitStack() as held:
        counting = held.enter_context(closing(PeopleCounter(policy, told.beat)))
        table = counting.read(original, stretch(told, 0.0, step))
        seen = {}
        for number, (what, release) in enumerate(zip(NAMES, releases, strict=False), start=1):
            published = held.enter_context(closing(PeopleCounter(_readers(table), told.beat, what)))
            seen[what] = published.read(release, stretch(told, number * step, (number + 1) * step))
        told(READ_OF_ATTACK, "comparing with the original")
        scenes = [published_scene(table, each, crowd, what, told.beat) for what, each in seen.items()]
        found = attack_results(
            {RAW: raw_scene(table, crowd, told.beat), RELEASE: _with_second(*scenes)},
            register_rows=len(table.table),
            several_rows=counting.several_rows(),
            progress=stretch(told, COMPARED, 1.0),
        )
    return replace(found, notes=(NOTE,))


def _readers(table: CountedPeople) -> Policy:
    return reader_policy(table.policy, table.table.sensitive)


def _with_second(release: Scene, second: Scene | None = None) -> Scene:
    return release if second is None else release.with_second(second)


class PeopleCounter:
    """What is counted of a table while it is read, or of a release, which a refusal names by `what`."""

    def __init__(self, policy: Policy, beat: Beat, what: str | None = None) -> None:
        self.policy, self.what = policy, what
        self.rows = GroupedRows(linked_grouping(policy, compares_visible=what is None), budget=BUDGET, beat=beat)
        self.persons: GroupedRows | None = None
        if policy.person is not None:
            self.persons = GroupedRows(persons_grouping(policy.person, policy), budget=BUDGET, beat=beat)

    def read(self, table: TableOnDisk, progress: Progress) -> CountedPeople:
        """Read a table once, and return its classes."""
        with closing(table.batches(self.wanted, progress)) as batches:
            for batch in batches:
                with self._by_policy():
                    for counted, groups in zip(self._all(), batch.groups, strict=True):
                        counted.add(groups, batch.rows)
        with self._by_policy(), warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)  # they were given when the table was published
            found = CountedTable.of(self.rows, self.policy)
        return CountedPeople.of(found, self.policy)

    def wanted(self, columns: pl.DataFrame) -> list[tuple[str, ...]]:
        """Return the columns that have to be counted; a table that does not fit the policy is refused."""
        if self.what is not None:
            check_no_groups(columns, self.policy, self.what)
        with self._by_policy():
            check_columns(columns, self.policy)
            for counted in self._all():
                counted.check(columns)
        return [counted.grouping.columns for counted in self._all()]

    def several_rows(self) -> bool:
        """Say whether some person has more than one row."""
        if self.persons is None:
            return False
        return sum(self.persons.each(lambda groups: groups[()].height)) < self.persons.rows

    def close(self) -> None:
        """Give back the space on disk."""
        for counted in self._all():
            counted.close()

    def _all(self) -> list[GroupedRows]:
        return [self.rows] if self.persons is None else [self.rows, self.persons]

    def _by_policy(self) -> AbstractContextManager[None]:
        return nullcontext() if self.what is None else reading_by_policy(self.what)
