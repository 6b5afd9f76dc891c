"""The check of tables that are too large for memory: read once, in batches, and judged by counts.

Memory grows with the number of classes and of different values in them, not with the number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.policy.source import PLAIN
from tclose.privacy.allowance import told_of_policy
from tclose.privacy.counted import judge_counted, needs_all_classes
from tclose.privacy.group_counts import counted_by_person
from tclose.privacy.judge import check_groups
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.demands import NO_DEMANDS, Demands
from tclose.release.published_files import FilesOf
from tclose.release.verification import Verification, Verified, not_judged, table_problems
from tclose.release.verify import verify_with
from tclose.table import CountedTable
from tclose.table.batches import Batch, Part, TableOnDisk, table_on_disk
from tclose.table.coded import check_columns, warn_of_leaks, warn_of_repeats
from tclose.table.counted import grouping_of, identifiers_to_count, repeats_of
from tclose.table.grouped import BUDGET, GroupedRows
from tclose.table.sources import is_folder
from tclose.table.spill import NoSpace
from tclose.types import Beat, Progress, Repeating, silent, stretch

READ = 0.9  # share of the work after which the table is read


def check(path: str | Path, policy: Policy, *, ignore_others: bool = False, progress: Progress = silent) -> CheckResult:
    """Say whether a table on disk holds what a policy asks for, as `tclose.check` does."""
    if (why := refusal(policy)) is not None:
        raise InputError(why)
    return check_table(table_on_disk(path, policy.source), policy, ignore_others=ignore_others, progress=progress)


def check_table(table: TableOnDisk, policy: Policy, *, ignore_others: bool, progress: Progress) -> CheckResult:
    """Say whether a table holds what a policy asks for."""
    with counted(table, policy, ignore_others=ignore_others, progress=stretch(progress, 0.0, READ)) as found:
        check_groups(found.domain, policy)
        result = judge_counted(found, policy, stretch(progress, READ, 1.0)).result
        return told_of_policy(result, found, policy)


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
    judge = partial(_verified, beat=told.beat)
    asked: dict[str, Any] = {"digest": digest, "population": None, "demands": demands}
    return verify_with(judge, release, certificate, **asked, progress=told)


def _verified(promised: Certificate, files: FilesOf, progress: Progress, *, beat: Beat) -> Verified:
    if files.guard:
        raise InputError(
            "a release that is guarded against formulas is not verified out of core: use the engine memory"
        )
    parts = [Part(str(file.name), _size(files, file), partial(files.copied, file, beat)) for file in promised.files]
    rows: Counter[str] = Counter()
    try:
        policy = promised.policy
        with counted(
            TableOnDisk(parts, files.folder), policy, progress=stretch(progress, 0.0, READ), rows=rows
        ) as found:
            for file in promised.files:
                files.note_rows(file, rows[str(file.name)])
            judged = judge_counted(found, policy, stretch(progress, READ, 1.0))
    except NoSpace:
        raise
    except (InputError, PolicyError) as error:
        return not_judged(error)
    return Verified(table_problems(judged, promised.claims, promised.measures, promised), judged.result)


def _size(files: FilesOf, file: CertifiedFile) -> int:
    path = files.data[file.name]
    return path.stat().st_size if isinstance(path, Path) and path.exists() else 0


def refusal(policy: Policy) -> str | None:
    """Say why a policy cannot be judged by counts; None where it can."""
    if policy.presence is not None:
        return "presence is judged against the rows of a population, which the engine disk does not read: use memory"
    return None


@contextmanager
def counted(
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
    counting = Counting(policy, ignore_others, told.beat)
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


class Counting:
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

    def add(self, batch: Batch) -> None:
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
