"""Classes that δ-presence admits: boxes cut from the population, which publish the hulls of its persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.partition.population import Limits, Part, boxes
from tclose.policy import Policy
from tclose.privacy.judge import verdicts
from tclose.recode.frame import recoded
from tclose.release.population import Population
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Beat, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Boxes:
    """The box of every person of a population, and of every row of the table."""

    population: Population
    people: Ints
    rows: Ints

    @classmethod
    def of(cls, population: Population, table: CodedTable, policy: Policy, withheld: int, beat: Beat) -> Boxes:
        """Cut the population; raise `Infeasible` where not even the coarsest boxes are allowed."""

        def admits(parts: list[Part]) -> Bools:
            rows, sizes = np.concatenate([part.rows for part in parts]), [len(part.rows) for part in parts]
            judged = verdicts(table, Classes(rows, np.array(sizes)), policy)
            return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))

        asked = policy.presence
        assert asked is not None
        limits = Limits(policy.k, asked.min, asked.max, withheld)
        return cls(population, *boxes(population.table, table, limits, admits, beat))

    def published(self, table: CodedTable, policy: Policy, beat: Beat) -> pl.DataFrame:
        """Publish the hulls of the population's persons; rows and columns are still in the table's order."""
        rows = recoded(table, policy, Classes.from_labels(self.rows), beat, as_categories=True)
        everybody, hulls = Classes.from_labels(self.people), self.population.table
        shown = recoded(hulls, hulls.policy, everybody, beat)[everybody.rows[everybody.starts]]
        columns = {name: shown[name][self.rows] if name in policy.quasi else rows[name] for name in rows.columns}
        return pl.DataFrame(columns)

    def losses(self, classes: Classes) -> list[Floats]:
        """Return what each class loses on each quasi-identifier: its box, as a share of the population's range."""
        box, everybody = self.rows[classes.rows[classes.starts]], Classes.from_labels(self.people)
        return [column.loss(everybody)[box] for column in self.population.table.quasi.values()]
