"""One part of a table: split into classes, recoded, and ready to be put into buckets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tclose.engine.in_parts.lines import ends_of_part
from tclose.errors import Infeasible
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.shared.whole import Whole
from tclose.partition.split import split
from tclose.policy import Policy
from tclose.privacy.feasibility import NoPartition, Publishable
from tclose.privacy.judge import verdicts
from tclose.recode.frame import as_text
from tclose.release.published import ReleaseInput, recoded_classes
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.table.learned import LearnedTable
from tclose.table.quasi import NumberColumn
from tclose.types import Ints, Progress, silent, stretch

CLASS, SIZE, PERSON = "class", "size", "person"
SPLIT = 0.95  # of the progress of a part, when it is split


@dataclass(frozen=True)
class PublishedColumns:
    """The columns of a release, in the table's order; in frames of parts they have their places as names."""

    names: tuple[str, ...]
    visible: tuple[str, ...]  # that form classes
    sensitive: tuple[str, ...]
    quasi: int  # how many of them are quasi-identifiers
    numbers: int  # how many of these are numbers

    @classmethod
    def of(cls, learned: LearnedTable) -> PublishedColumns:
        """Return what is published of a table."""
        policy = learned.policy
        public = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive}
        return cls(
            names=tuple(name for name in learned.columns if name in public),
            visible=policy.visible,
            sensitive=tuple(policy.sensitive),
            quasi=len(policy.quasi),
            numbers=sum(isinstance(domain.column(_NO_ROWS), NumberColumn) for domain in learned.quasi.values()),
        )

    def key(self, name: str) -> str:
        """Return what a column is called in a frame."""
        return str(self.names.index(name))

    @cached_property
    def keys_of_classes(self) -> list[str]:
        """What the visible columns are called."""
        return [self.key(name) for name in self.visible]

    @cached_property
    def keys_of_rows(self) -> list[str]:
        """What the other columns are called."""
        return [self.key(name) for name in self.names if name not in self.visible]

    @property
    def lost(self) -> list[str]:
        """What the losses of classes are called, one for each quasi-identifier."""
        return [f"lost {place}" for place in range(self.quasi)]

    @property
    def sums(self) -> list[str]:
        """What the sums of numbers are called, one for each numeric quasi-identifier."""
        return [f"sum {place}" for place in range(self.numbers)]

    @property
    def cells(self) -> list[str]:
        """What the numbers of sensitive cells are called."""
        return [f"cell {place}" for place in range(len(self.sensitive))]


_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SplitPart:
    """The classes of a part, with what each publishes and loses, and its rows, each with its class."""

    classes: pl.DataFrame
    rows: pl.DataFrame


def split_part(
    rows: pl.DataFrame,
    learned: LearnedTable,
    *,
    effort: str,
    seed: int,
    whole: Whole | None,
    progress: Progress = silent,
) -> SplitPart:
    """Split the rows of a part by weave, against the whole table, and recode them."""
    table, policy = learned.coded(rows), learned.policy
    given = ReleaseInput(Publishable(table, 0), policy, seed, stretch(progress, SPLIT, 1.0))
    options = {METHODS[DEFAULT_METHOD].option: effort}
    splitting = stretch(progress, 0.0, SPLIT)
    try:
        found = split(given.publishable, policy, DEFAULT_METHOD, seed, splitting, options, whole)
    except NoPartition:
        raise _not_found() from None
    published = recoded_classes(given, found.labels)
    classes = classes_of(published[list(policy.visible)])
    _check(table, classes, policy)
    return _as_part(published, classes, table, learned)


def _check(table: CodedTable, classes: Classes, policy: Policy) -> None:
    """Refuse classes that some model does not admit: the whole release would not be confirmed."""
    if not all(verdict.judgement.satisfied for verdict in verdicts(table, classes, policy)):
        raise _not_found()


def _not_found() -> Infeasible:
    return Infeasible("no partition was found for a part of the table: use the engine memory, or ask for less")


def _as_part(published: pl.DataFrame, classes: Classes, table: CodedTable, learned: LearnedTable) -> SplitPart:
    columns, firsts = PublishedColumns.of(learned), classes.rows[classes.starts]
    quasi = list(table.quasi.values())
    losses = dict(zip(columns.lost, (column.loss(classes) for column in quasi), strict=True))
    labels = classes.labels_by_row()
    numbers = [column for column in quasi if isinstance(column, NumberColumn)]
    sums = {
        name: np.bincount(labels, weights=column.points(), minlength=len(classes))
        for name, column in zip(columns.sums, numbers, strict=True)
    }
    shown = {columns.key(name): _published(published, name, learned).gather(firsts) for name in columns.visible}
    others = {
        columns.key(name): _published(published, name, learned) for name in columns.names if name not in columns.visible
    }
    cells = {
        key: cell_numbers(table, learned.policy, name).astype(np.int32)
        for key, name in zip(columns.cells, columns.sensitive, strict=True)
    }
    person = {} if learned.policy.person is None else {PERSON: table.frame[learned.policy.person]}
    ends = ends_of_part(table, classes, learned)
    return SplitPart(
        pl.DataFrame({**shown, SIZE: classes.sizes, **losses, **sums}),
        pl.DataFrame({CLASS: labels.astype(np.int32), **others, **cells, **ends, **person}),
    )


def _published(published: pl.DataFrame, name: str, learned: LearnedTable) -> pl.Series:
    return learned.original(name, as_text(published[name].alias("")))


def cell_numbers(table: CodedTable, policy: Policy, name: str) -> Ints:
    """Return a number for the cell that each row publishes of a sensitive column; that of a missing one comes last."""
    if policy.sensitive[name].publish == "bin":
        return table.sensitive[name].codes
    values = table.values(name)
    return np.where(values.codes < 0, len(values.texts), values.codes)
