"""A table under a policy: it is read once and coded once, whatever is asked of it.

A process that keeps what it read (`run/kept.py`) codes a table again only when its files or their roles change.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, TcloseError, did_you_mean
from tclose.policy import Policy, PolicyLike
from tclose.policy.derived import k_alone
from tclose.privacy.allowance import told_of_policy
from tclose.privacy.groups import ValueGroups
from tclose.privacy.judge import check_groups, distance_of, judge
from tclose.privacy.notes import class_notes
from tclose.privacy.results import CheckResult, Explanation, Step
from tclose.run.kept import Key, once, state_of, states
from tclose.table import CodedTable, encode, encode_quietly, read, to_polars
from tclose.table.coded import check_columns
from tclose.table.sources import read_plain
from tclose.types import Progress, silent, stretch

MOST_BINS = 20  # in which an explanation puts the values of a long domain


@dataclass(frozen=True, eq=False)
class Study:
    """A table, given as a frame or a file, under a policy."""

    table: Any
    policy: Policy

    @cached_property
    def given(self) -> Any:
        """The table as it was given, or read from its file as [source] of the policy says."""
        if not isinstance(self.table, str | Path):
            return self.table
        missing = self.policy.not_numbers
        return once(self._key_of_frame, lambda: read(self.table, source=self.policy.source, missing=missing))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return to_polars(self.given)

    @cached_property
    def coded(self) -> CodedTable:
        """The table in codes, without warnings; columns that the policy does not name play no role."""
        return self._learned[0].under(self.policy)

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
        return told_of_policy(self._with_presence(result, table), table, self.policy)

    def explain(self, attribute: str, class_number: int, *, progress: Progress = silent) -> Explanation:
        """Return the cheapest moves that turn one class's distribution into the whole table's."""
        progress(0.0, "reading")
        table = self.coded_with_warnings()
        if attribute not in table.judged:
            hint = did_you_mean(attribute, table.judged)
            raise InputError(f"'{attribute}' is no sensitive attribute of the policy{hint}")
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
        from tclose.release.boxes import counts_of
        from tclose.release.population import population_of
        from tclose.release.presence import presence_claim, presence_findings

        population = population_of(table, self.policy)
        if population is None:
            return result
        found = counts_of(population, table, table.withheld)
        asked = self.policy.presence
        return result.with_presence(presence_claim(asked, found), presence_findings(asked, found))

    @cached_property
    def _learned(self) -> tuple[CodedTable, tuple[Warning, ...]]:
        return once(self._key_of_codes, self._encoded)

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


def _warn(given: Iterable[Warning]) -> None:
    for warning in given:
        warnings.warn(warning, stacklevel=4)


def _coding(policy: Policy) -> Key:
    joint = [(each.name, each.attributes, each.distance) for each in policy.joint]
    return json.dumps([k_alone(policy, 2).to_dict(), joint], default=str, sort_keys=True), states(policy.files)


@dataclass(frozen=True, eq=False)
class ReleaseStudy:
    """A release of one table, given as a frame or a file, read by a policy; its classes may count exact values."""

    release: Any
    policy: Policy

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        """The table and, for a policy with `both`, the counts of exact values, as they were given or read."""
        if not isinstance(self.release, str | Path):
            return self.release if isinstance(self.release, tuple) else (self.release,)
        return once(self._key, self._read)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return to_polars(self.tables[0])

    @cached_property
    def apart(self) -> Mapping[str, pl.Series]:
        """The exact cells that the release counts by class, if it does."""
        from tclose.recode.counts import cells_apart

        return cells_apart(self.frame, to_polars(self.tables[1]), self.policy) if len(self.tables) > 1 else {}

    @cached_property
    def coded(self) -> CodedTable:
        """The release in codes, without warnings."""
        key = None if self._key is None else (*self._key, *_coding(self.policy))

        def make() -> CodedTable:
            return encode_quietly(self.frame, self.policy, ignore_others=True, apart=self.apart)

        return once(key, make).under(self.policy)

    def _read(self) -> tuple[pl.DataFrame, ...]:
        from tclose.release.layouts.both import read_release

        return read_release(self.release) if self.policy.both else (read_plain(self.release),)

    @cached_property
    def _key(self) -> Key | None:
        state = state_of(self.release)
        return None if state is None else ("release", state, bool(self.policy.both))


def class_members(table: CodedTable, class_number: int) -> Any:
    """Return the rows of a class; classes are counted from 1, in the order in which the table shows them first."""
    classes = table.classes
    if not 1 <= class_number <= len(classes):
        raise InputError(f"there is no class {class_number:,}: the table has classes 1 to {len(classes):,}")
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
