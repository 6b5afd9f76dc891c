"""Tables as an adversary sees them: coded tables become the scenes that attacks look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from tclose.distance import Line, LineWithLeaf, Metric
from tclose.measure.attack import Scene, Secret
from tclose.measure.presence import Membership
from tclose.policy import Policy
from tclose.privacy.judge import distance_of
from tclose.release.beside import Beside, coverings, equal_people, linked
from tclose.release.boxes import is_tight, membership_of
from tclose.release.exchanges import published_rows
from tclose.release.narrowing import narrowed
from tclose.release.population import Population
from tclose.table import CodedTable, SensitiveColumn
from tclose.types import Beat, Ints, still

ANONYMIZER = "mondrian"  # makes the k-anonymous table that attacks compare a release with


@dataclass(frozen=True, eq=False)
class Adversary:
    """An adversary who knows the quasi-identifiers of the people in the table, or in a register."""

    original: CodedTable
    register: pl.DataFrame | None = None
    beat: Beat = still  # called between columns and blocks of rows
    population: Population | None = None  # that the table is drawn from, if the adversary has it

    @property
    def crowd(self) -> int:
        """How many people everyone should be able to hide among."""
        return crowd_of(self.original.policy)

    @property
    def register_rows(self) -> int:
        """How many people the adversary knows."""
        return len(self.original) if self.register is None else self.register.height

    def raw(self) -> Scene:
        """Return the raw table, without its identifiers."""
        table = self.original
        cells = {name: numbered_cells(table, name) for name in table.policy.sensitive}
        people = table.classes.sizes if self.register is None else equal_people(table, self.register)
        labels = table.classes.labels_by_row()
        return Scene(labels, _secrets(table, cells), self.crowd, people, presence=self._presence(table, tight=True))

    def published(self, beside: Beside, *, tight: bool | None = None) -> Scene:
        """Return a published table; `tight` says that ranges end at values of their rows, if that is known."""
        links = beside.people
        if self.register is not None:
            columns = coverings(self.original, beside.published, self.register, beat=self.beat)
            links = linked(narrowed(columns, self.original, beside.published), beside.people.sizes, self.beat)
        cells = {name: pair.after for name, pair in beside.cells.items()}
        return Scene(
            beside.labels,
            _secrets(beside.published, cells),
            self.crowd,
            links.people,
            beside.people,
            published=partial(published_rows, beside),
            presence=self._presence(beside.published, tight=self._is_tight(beside) if tight is None else tight),
            persons=beside.published.persons if beside.published.policy.person else None,
            beat=self.beat,
        )

    def _presence(self, published: CodedTable, *, tight: bool) -> Membership | None:
        if self.population is None:
            return None
        withheld = len(self.original) + self.original.withheld - len(published)
        return membership_of(self.population, published, withheld, tight=tight, beat=self.beat)

    def _is_tight(self, beside: Beside) -> bool:
        return self.population is not None and self.original.policy.presence is None and is_tight(beside)

    def several_rows(self) -> bool:
        """Say whether some person has more than one row."""
        persons = self.original.persons
        return persons is not None and int(persons.max()) + 1 < len(self.original)


def crowd_of(policy: Policy) -> int:
    """Return how many people everyone should be able to hide among: k, but at least two."""
    return max(policy.k, 2)


def twins(first: CodedTable, second: CodedTable) -> Ints:
    """Return, of each class of the second release, the class of the first that shows the same cells, or -1."""
    shown = ((table.visible[table.classes.rows[table.classes.starts]], table.policy) for table in (first, second))
    texts = [
        list(zip(*(rows[name].alias("").cast(pl.String).fill_null("") for name in policy.visible), strict=True))
        for rows, policy in shown
    ]
    number_of = {cells: number for number, cells in enumerate(texts[0])}
    return np.array([number_of.get(cells, -1) for cells in texts[1]], dtype=np.int64)


def numbered_cells(table: CodedTable, name: str) -> Ints:
    """Give numbers to the different cells of a column; a missing cell has a number, too."""
    values = table.values(name)
    return np.where(values.codes < 0, len(values.texts), values.codes)


def _secrets(table: CodedTable, cells: Mapping[str, Ints]) -> tuple[Secret, ...]:
    columns = table.sensitive.items()
    return tuple(
        secret_of(column, cells[name], column.codes, linked=name not in table.apart) for name, column in columns
    )


def secret_of(column: SensitiveColumn, cells: Ints, codes: Ints, *, linked: bool) -> Secret:
    """Return a sensitive attribute with the cells of some rows and their codes in the domain that is judged."""
    tree, domain = column.hierarchy, len(column.labels)
    distance = distance_of(column)
    geometry = distance.geometry(domain)
    line = geometry.line if isinstance(geometry, LineWithLeaf) else geometry
    return Secret(
        name=column.name,
        cells=cells,
        codes=codes,
        domain=domain,
        distance=distance,
        levels=() if tree is None else tree.levels,
        nodes=() if tree is None else tree.labels,
        positions=line.rounded.positions.astype(np.float64) if isinstance(line, Line) else None,
        costs=geometry.costs.astype(np.float64) if isinstance(geometry, Metric) else None,
        linked=linked,
    )
