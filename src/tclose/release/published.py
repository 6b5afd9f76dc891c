"""One published table: rows split into classes, recoded, put into a neutral order, and the judge who confirms it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InternalError, LeakWarning
from tclose.measure.utility import DIGITS, Outcome, class_sizes, gcp, measured
from tclose.partition.split import join_failing, split
from tclose.policy import Policy
from tclose.privacy.feasibility import Publishable
from tclose.privacy.judge import judge
from tclose.privacy.results import CheckResult
from tclose.recode.frame import ordered, recoded
from tclose.release.reader import reader_policy
from tclose.table import encode
from tclose.table.classes import Classes, classes_of
from tclose.table.quasi import NumberColumn, QuasiColumn
from tclose.types import Ints

Options = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Work:
    """The rows to publish, what is asked of them, and the chance by which they are split."""

    possible: Publishable
    policy: Policy
    quasi: Sequence[QuasiColumn]
    seed: int
    tell: Callable[[float], None]

    def split(self, method: str, options: Options) -> Ints:
        """Return the class of every row."""
        return split(self.possible, self.policy, self.quasi, method, self.seed, self.tell, options)

    @property
    def reader_policy(self) -> Policy:
        """What a reader judges the whole release by."""
        return reader_policy(self.policy, self.possible.table.sensitive)

    @property
    def own_policy(self) -> Policy:
        """What we judge the whole release by: unlike a reader, we can tell persons apart."""
        return reader_policy(self.policy, self.possible.table.sensitive, knows_persons=True)

    def persons(self, order: Ints) -> Ints | None:
        """Return who the rows belong to, in the order in which they are published."""
        persons = self.possible.table.persons
        return None if persons is None else persons[order]


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges a published table from its published values alone; only persons are known besides, where they count."""

    policy: Policy
    persons: Ints | None

    def confirm(self, published: pl.DataFrame) -> CheckResult:
        """Judge; what does not hold here must never be released."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)  # told when the table was read
            table = replace(encode(published, self.policy), persons=self.persons)
        result = judge(table, self.policy, lambda share, what: None)
        if not result.satisfied:
            raise InternalError("the finished release does not hold what was asked for, so it was not released")
        return result


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table as it is published, its judge, and what it cost."""

    frame: pl.DataFrame  # rows in an order that depends on published values only
    judge: Judge
    measures: Mapping[str, Any]
    losses: Mapping[str, float]  # the mean NCP of each quasi-identifier; GCP is the mean of these


def sheet(work: Work, method: str, options: Options) -> Sheet:
    """Split the rows by a method, and publish one common value per class."""
    rows = _recoded(work, work.split(method, options))
    frame, order = ordered(rows)
    outcome = outcome_of(work, classes_of(rows[list(work.policy.visible)]))
    measures = {**measured(outcome), "class_sizes": class_sizes(outcome)}
    return Sheet(frame, Judge(work.own_policy, work.persons(order)), measures, losses_of(work, outcome))


def _recoded(work: Work, labels: Ints) -> pl.DataFrame:
    """Publish the classes; those that look alike to a reader are one, which persons in both may keep from holding."""
    possible, policy, quasi = work.possible, work.policy, work.quasi
    while True:
        rows = recoded(possible.frame, policy, quasi, possible.table.sensitive, Classes.from_labels(labels))
        if policy.person is None:
            return rows
        seen = classes_of(rows[list(policy.visible)]).labels_by_row()
        labels = join_failing(seen, possible, policy, quasi)
        if labels.max() == seen.max():
            return rows


def outcome_of(work: Work, classes: Classes) -> Outcome:
    """Return a partition as measures see it."""
    numeric = [column.points() for column in work.quasi if isinstance(column, NumberColumn)]
    return Outcome(
        sizes=classes.sizes,
        losses=[column.loss(classes) for column in work.quasi],
        withheld=work.possible.withheld,
        k=work.policy.k,
        labels=classes.labels_by_row(),
        points=np.stack(numeric, axis=1) if numeric else np.zeros((len(classes.rows), 0)),
    )


def losses_of(work: Work, outcome: Outcome) -> dict[str, float]:
    """Return what each quasi-identifier lost, between 0 and 1."""
    return {
        column.name: round(gcp(replace(outcome, losses=[loss])), DIGITS)
        for column, loss in zip(work.quasi, outcome.losses, strict=True)
    }
