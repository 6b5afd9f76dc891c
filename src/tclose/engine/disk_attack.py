"""Attacks on tables that are too large for memory: table and release are read once, in batches, and counted.

Memory grows with the number of classes and of different values in them, not with the number of rows. Attacks that
need no more than these counts find what they find in memory; the others are left out, and the result says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tclose.engine.disk import refusal as judging_refusal
from tclose.errors import InputError, LeakWarning
from tclose.measure.attack import ATTACKS, RAW, RELEASE, Attacks, Scene, attacked
from tclose.policy import Policy
from tclose.release.beside import check_no_groups, reading_by_policy
from tclose.release.counted_scenes import CountedPeople, published_scene, raw_scene
from tclose.release.reader import reader_policy
from tclose.release.scenes import crowd_of
from tclose.table import CountedTable
from tclose.table.batches import TableOnDisk, table_on_disk
from tclose.table.coded import check_columns
from tclose.table.counted import linked_grouping, persons_grouping
from tclose.table.grouped import BUDGET, GroupedRows
from tclose.types import Beat, Progress, Repeating, silent, stretch

READ = 0.8  # share of the work after which all tables are read
COMPARED = 0.9  # share after which people and classes are compared
NAMES = ("the release", "the second release")
LEFT_OUT = [attack.label for attack in ATTACKS if attack.needs_rows]
NOTE = (
    f"not run out of core: the {', '.join(LEFT_OUT[:-1])} and {LEFT_OUT[-1]} attacks, which read single rows, and the "
    "comparison with a k-anonymous table; the engine memory runs them"
)


@dataclass(frozen=True)
class Asked:
    """What an attack is asked for beside a release and its table; most of it takes rows in memory."""

    register: bool = False
    population: bool = False
    guard: bool = False  # whether the release is guarded against formulas
    method: bool = False  # whether a method is named for the k-anonymous table


def refusal(policy: Policy, asked: Asked) -> str | None:
    """Say why a release cannot be attacked by counts; None where it can."""
    reasons = {
        "a release of two tables (both) is not attacked": bool(policy.both),
        "a release that is guarded against formulas is not attacked": asked.guard,
        "a register is not compared": asked.register,
        "a population is not compared": asked.population,
        "the k-anonymous table, which the method makes, is not made": asked.method,
    }
    for why, holds in reasons.items():
        if holds:
            return f"{why} out of core: use the engine memory"
    return judging_refusal(policy)


def attack(
    release: str | Path,
    *,
    original: str | Path,
    policy: Policy,
    second: str | Path | None = None,
    progress: Progress = silent,
) -> Attacks:
    """Measure what an adversary learns from a release on disk, beside the raw table, as `memory.attack` does."""
    if (why := refusal(policy, Asked())) is not None:
        raise InputError(why)
    releases = [table_on_disk(path) for path in (release, second) if path is not None]
    return attack_tables(table_on_disk(original, policy.source), releases, policy, progress)


def attack_tables(
    original: TableOnDisk, releases: Sequence[TableOnDisk], policy: Policy, progress: Progress = silent
) -> Attacks:
    """Count a table and one or two releases of it, and attack the first one's counts."""
    told, crowd = Repeating(progress), crowd_of(policy)
    step = READ / (1 + len(releases))
    with ExitStack() as held:
        counting = held.enter_context(closing(Counting(policy, told.beat)))
        table = counting.read(original, stretch(told, 0.0, step))
        seen = {}
        for number, (what, release) in enumerate(zip(NAMES, releases, strict=False), start=1):
            published = held.enter_context(closing(Counting(_readers(table), told.beat, what)))
            seen[what] = published.read(release, stretch(told, number * step, (number + 1) * step))
        told(READ, "comparing with the original")
        scenes = [published_scene(table, each, crowd, what, told.beat) for what, each in seen.items()]
        found = attacked(
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


class Counting:
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
