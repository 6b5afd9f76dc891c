"""Adult as Li et al. (2007, section 6) use it: seven quasi-identifiers in their order, and occupation in three groups.

The paper does not print its hierarchies, nor its groups of occupations. The hierarchies here are those of ARX, the
groups are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.comparison.papers.base import DataFolder
from tclose.measure.attack import Finding, Scene, Secret
from tclose.measure.attack.similarity import run as similarity
from tclose.partition import Attribute, Problem
from tclose.partition.incognito import labels_at, minimal_solutions
from tclose.partition.shared.axes import LabelAxis
from tclose.policy import Policy
from tclose.privacy.base import Model
from tclose.privacy.judge import distance_of
from tclose.table import CodedTable, encode
from tclose.table.quasi import LabelColumn
from tclose.types import Ints, Progress

TABLE = "adult_arx.csv"
QUASI = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")  # in the paper's order
GROUPS = {
    "white collar": ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"),
    "blue collar": ("Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"),
    "services": ("Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"),
}
FILES = (TABLE, *(f"adult_hierarchies/{name}.csv" for name in QUASI))


@dataclass(frozen=True)
class ClassRequirement:
    """What every class of a table must have."""

    k: int = 1
    t: Fraction | None = None
    models: tuple[Model, ...] = ()


@dataclass(frozen=True, eq=False)
class Adult:
    """The coded table, and the generalisations of it that Incognito finds."""

    table: CodedTable

    @classmethod
    def of(cls, data: DataFolder) -> Adult:
        """Read the table; occupation has a hierarchy of its three groups."""
        groups = {"rows": [[value, group, "*"] for group, values in GROUPS.items() for value in values]}
        policy = Policy.from_dict(
            {
                "others": "drop",
                "quasi": {name: {"hierarchy": str(data / f"adult_hierarchies/{name}.csv")} for name in QUASI},
                "sensitive": {"occupation": {"hierarchy": groups, "t": 1}},
            }
        )
        return cls(encode(data.read(TABLE), policy))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.table.sensitive["occupation"].codes)

    def problem(self, asked: ClassRequirement, quasi: int = len(QUASI)) -> Problem:
        """Return what Incognito is given: the first so many quasi-identifiers, and what is required."""
        column = self.table.sensitive["occupation"]
        trees = [axis for axis in self.table.quasi.values() if isinstance(axis, LabelColumn)][:quasi]
        occupation = Attribute(column.codes, column.reference, distance_of(column), asked.t, None, asked.models)
        return Problem(
            points=np.stack([tree.points() for tree in trees], axis=1),
            sensitive=(occupation,),
            k=asked.k,
            axes=tuple(LabelAxis(tree.codes, tree.hierarchy.levels) for tree in trees),
        )

    def minimal(self, asked: ClassRequirement, progress: Progress) -> Iterator[Ints]:
        """Yield the classes of every minimal generalisation."""
        problem = self.problem(asked)
        for heights in minimal_solutions(problem, progress=progress):
            yield labels_at(problem, heights)

    def open_rows(self, labels: Ints) -> Finding:
        """Find the classes whose occupations all fall into one group."""
        column = self.table.sensitive["occupation"]
        assert column.hierarchy is not None
        tree = column.hierarchy
        secret = Secret("occupation", column.codes, column.codes, len(column.labels), tree.levels, tree.labels)
        return similarity(Scene(labels, [secret], 2, np.bincount(labels)))
