"""New rows join a release, a batch at a time, so that neither a release nor the difference of two reveals more.

The story: leave out rows that would move the table's distribution too far from an old class, let old classes take
groups of rows that fit their cells, form new classes of the rest, and accept the groups that hold together. What is
left waits. The finished files are judged as any release is, and so is their difference from every earlier release.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.engine.compiling import announced
from tclose.engine.memory import given_seed
from tclose.engine.new_rows import NewRows, Released, labels_by_text
from tclose.errors import Infeasible
from tclose.partition import DEFAULT_METHOD
from tclose.partition.balancing import balanced
from tclose.partition.joining import GroupJudge, accepted, joined, trimmed
from tclose.partition.split import split
from tclose.policy import Policy
from tclose.policy.derived import scaled
from tclose.privacy.feasibility import Publishable
from tclose.recode.frame import ordered, recoded
from tclose.release.differences import all_hold, differences
from tclose.table import CodedTable, encode_quietly
from tclose.table.classes import Classes, classes_of
from tclose.types import Ints, Repeating, stretch

TRIES = 120  # judgements of the whole table, at most, to find the rows, and then the groups, that hold together
MARGIN = Fraction(49, 50)  # of every t, for groups of new rows: the distribution may still move a little
CHOSEN, JOINED, FORMED = 0.3, 0.5, 0.8  # shares of the work after which a phase is done


@dataclass(frozen=True, eq=False)
class Joined:
    """New rows that can be published, their cells, and how many of them joined classes of the release."""

    cells: pl.DataFrame  # as they are published
    places: Ints  # where each stands in the table that was given
    joined: int
    classes_formed: int
    given: int

    @property
    def formed(self) -> int:
        """How many rows are in new classes."""
        return self.cells.height - self.joined

    @property
    def waiting(self) -> Ints:
        """Where the rows that have to wait stand in the table that was given."""
        return np.setdiff1d(np.arange(self.given), self.places)


@dataclass(frozen=True, eq=False)
class Group:
    """New rows that are published together: their numbers, and their cells."""

    rows: Ints
    cells: pl.DataFrame


class Joining:
    """One batch of new rows on its way into a release."""

    def __init__(self, released: Released, new: NewRows, seed: int | None, options: Mapping[str, Any], told: Repeating):
        self.released, self.new, self.options, self.told = released, new, options, told
        self.seed = secrets.randbits(63) if seed is None else given_seed(seed)

    @cached_property
    def classes(self) -> Classes:
        """The classes of the release."""
        return classes_of(self.released.visible)

    @cached_property
    def labels(self) -> Ints:
        """The class of every row of the release."""
        return self.classes.labels_by_row()

    @property
    def _least(self) -> int:
        """The smallest group that is worth a search: the release has no smaller class, and was made of more rows."""
        return int(self.classes.sizes.min())

    def run(self) -> Joined:
        """Choose rows, let them join, form classes, and keep the groups that hold together."""
        rows = self._chosen() if len(self.new) else np.zeros(0, dtype=np.int64)
        groups: list[Group] = []
        if len(rows):
            judge = GroupJudge(self._table(rows), scaled(self.released.policy, MARGIN))
            groups = self._joined(rows, judge)
            taken = np.concatenate([np.zeros(0, dtype=np.int64), *(group.rows for group in groups)])
            groups += self._formed(rows, np.setdiff1d(rows, taken), judge)
        self.told(FORMED, "judging together")
        kept = accepted(groups, self._together, TRIES)
        return self._result(kept)

    def _table(self, rows: Ints) -> CodedTable:
        """Code the release and some new rows behind it; quasi-identifiers of new rows play no role."""
        self.told.beat()
        old, cells, visible = self.released.frame, self.new.cells[rows], self.released.policy.visible
        new = {c.name: c.clear(len(rows)) if c.name in visible else cells[c.name] for c in old.clear().iter_columns()}
        return encode_quietly(pl.concat([old, pl.DataFrame(new)]), self.released.policy)

    def _chosen(self) -> Ints:
        """Leave out the new rows that would move the distribution too far from a class of the release."""
        self.told(0.05, "comparing with the release")
        everything, old = self._table(np.arange(len(self.new))), len(self.released.frame)
        groups = list(differences(self.labels, self.released.batches, newest=int(self.released.batches.max())))
        published = Classes(np.concatenate([g.rows for g in groups]), np.concatenate([g.sizes for g in groups]))
        rows = balanced(everything, self.released.policy, published, np.arange(old, len(everything)), self.told.beat)
        kinds = GroupJudge(everything, self.released.policy).kinds[old:]
        first, later = (
            part[np.argsort(kinds[part], kind="stable")].tolist()
            for part in (rows - old, np.setdiff1d(np.arange(len(self.new)), rows - old))
        )

        def hold(chosen: list[int]) -> bool:
            table = self._table(np.array(chosen, dtype=np.int64))
            return all_hold(table, self.released.policy, self.labels, self.released.batches)

        kept = accepted(first, hold, TRIES)
        more = accepted(later, lambda part: hold([*kept, *part]), TRIES // 2)
        return np.sort(np.array([*kept, *more], dtype=np.int64))

    def _joined(self, rows: Ints, judge: GroupJudge) -> list[Group]:
        """Let classes take rows that fit their cells, those first that fit the fewest rows."""
        self.told(CHOSEN, "joining classes")
        links, old = self.new.fits(self.released, self.classes, self.told.beat), len(self.released.frame)
        people, least = links.people, self.released.policy.k
        order = [number for number in np.argsort(people, kind="stable").tolist() if people[number] >= least]

        def fitting(number: int) -> Any:
            kinds = np.arange(len(links.rows))
            return links.fit(kinds, np.full(len(kinds), number))[links.row_of[rows]]

        place = np.arange(len(rows)) + old
        taken = joined(fitting, order, place, judge, self._least, self.told.beat)
        return [self._into(number, rows[group - old]) for number, group in taken.items()]

    def _into(self, number: int, rows: Ints) -> Group:
        """Return rows with the cells of a class of the release."""
        visible, first = self.released.policy.visible, self.released.frame[[int(self.classes.members(number)[0])]]
        cells = self.new.cells[rows]
        shown = {
            c.name: first[c.name].new_from_index(0, len(rows)) if c.name in visible else c for c in cells.iter_columns()
        }
        return Group(rows, pl.DataFrame(shown))

    def _formed(self, chosen: Ints, rest: Ints, judge: GroupJudge) -> list[Group]:
        """Form new classes of rows that joined none, by weave; rows without which no class holds are left out."""
        self.told(JOINED, "forming new classes")
        old, place = len(self.released.frame), np.searchsorted(chosen, rest)
        kept = classes_of(self.new.cells[rest][list(self.released.policy.keep)]) if self.released.policy.keep else None
        parts = [place] if kept is None else [place[kept.members(number)] for number in range(len(kept))]
        admitted = [
            found for part in parts if (found := trimmed(part + old, judge, self._least, self.told.beat)) is not None
        ]
        if not admitted:
            return []
        behind = np.sort(np.concatenate(admitted))
        rows = chosen[behind - old]
        policy = replace(self.released.asked, sensitive=judge.policy.sensitive, joint=judge.policy.joint)
        part = self._part(judge.table, behind, rows, policy)
        try:
            with announced(stretch(self.told, JOINED, FORMED), DEFAULT_METHOD, self.options) as report:
                labels = split(Publishable(part, 0), policy, DEFAULT_METHOD, self.seed, report, self.options).labels
        except Infeasible:
            return []
        classes = Classes.from_labels(labels)
        shown = recoded(part, policy, classes)
        return [Group(rows[members], shown[members]) for members in map(classes.members, range(len(classes)))]

    def _part(self, table: CodedTable, behind: Ints, rows: Ints, policy: Policy) -> CodedTable:
        """Return some new rows as a table that is judged against the whole."""
        part = CodedTable(
            frame=self.new.cells[rows],
            policy=policy,
            sensitive={name: replace(column, codes=column.codes[behind]) for name, column in table.sensitive.items()},
            persons=None,
            rows=np.arange(len(rows)),
            withheld=0,
            hierarchies={},
            joint={name: replace(column, codes=column.codes[behind]) for name, column in table.joint.items()},
        )
        vars(part)["quasi"] = {name: column.only(rows) for name, column in self.new.quasi.items()}
        return part

    def _together(self, groups: Sequence[Group]) -> bool:
        """Tell whether the release holds with these groups, and the difference from every earlier release."""
        if not groups:
            return True
        frame, batches = self._with(groups)
        table = encode_quietly(frame, self.released.policy)
        self.told.beat()
        return all_hold(table, self.released.policy, table.classes.labels_by_row(), batches)

    def _with(self, groups: Sequence[Group]) -> tuple[pl.DataFrame, Ints]:
        """Return the release with some groups behind it, and the batch of every row."""
        old, added = self.released.frame, [group.cells.select(self.released.frame.columns) for group in groups]
        frame = pl.concat([old, *added])
        newest = int(self.released.batches.max()) + 1
        batches = np.append(self.released.batches, np.full(frame.height - old.height, newest))
        return frame, batches

    def _result(self, groups: Sequence[Group]) -> Joined:
        cells = pl.concat([group.cells for group in groups]) if groups else self.released.frame.clear()
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(group.rows for group in groups)])
        labels = labels_by_text([self.released.frame, cells], self.released.policy.visible)
        old, new = labels[: self.released.frame.height], labels[self.released.frame.height :]
        known = np.isin(new, old)
        formed = len(np.unique(new[~known]))
        return Joined(cells, self.new.places[rows], int(known.sum()), formed, self.new.given)


def continued(released: Released, added: Joined) -> tuple[pl.DataFrame, Ints]:
    """Return the new release in its neutral order, and the batch of every row."""
    frame = pl.concat([released.frame, added.cells.select(released.frame.columns)])
    batches = np.append(released.batches, np.full(added.cells.height, int(released.batches.max()) + 1))
    shown, order = ordered(frame)
    return shown, batches[order]
