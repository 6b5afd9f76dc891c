"""The classes of a release as a list, the worst first: by what they lose, by their rows, by how near they are to t.

The loss is the NCP of `table/quasi.py`: the share of the table's range, of a hierarchy's leaves, or of the table's
values that a cell covers. It is read off the published texts, column by column. A mean does not say how far its class
reaches, so its loss is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.measure.reconstruction import TWO_ENDS
from tclose.policy import Policy
from tclose.recode.cell import MISSING, OR_MISSING, ValueCell
from tclose.recode.meaning import ColumnReader, KnownValues, Meaning, meanings, reader_of
from tclose.table.classes import Classes, classes_of
from tclose.table.looks import shown_cells
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, read_quasi
from tclose.table.values import Values, values_of, with_one_number
from tclose.types import Bools, Floats

# What each class loses


def losses_of(columns: Mapping[str, QuasiColumn], cells: pl.DataFrame) -> dict[str, Floats]:
    """Return the loss of every class in each quasi-identifier; not a number where the release does not tell it."""
    found = {}
    for name, column in columns.items():
        shown = cells[name].alias("").cast(pl.String).fill_null(MISSING)
        texts = shown.unique(maintain_order=True)
        losses = pl.Series(_losses(column, texts))
        found[name] = shown.replace_strict(texts, losses, return_dtype=pl.Float64).to_numpy()
    return found


def together(losses: Mapping[str, Floats], policy: Policy) -> Floats | None:
    """Return the loss of every class over all columns, weighted as the policy says; None where it is not known."""
    if not losses:
        return None
    weights = [float(policy.quasi[name].weight) for name in losses]
    means = np.average(list(losses.values()), axis=0, weights=weights)
    return None if np.isnan(means).any() else means


def _losses(column: QuasiColumn, texts: pl.Series) -> Floats:
    if isinstance(column, NumberColumn):
        return _widths(column, texts)
    covered = _covered(column, texts.to_list())
    if isinstance(column, LabelColumn):
        return np.where(covered == 1, 0.0, covered / len(column.hierarchy.leaves))
    return (covered - 1) / max(column.domain - 1, 1)


def _widths(column: NumberColumn, texts: pl.Series) -> Floats:
    """Return how far apart the published ends are, as a share of the table's; missing cells lose nothing."""
    if column.spec.publish == "mean":
        return np.full(len(texts), np.nan)
    bare, ends = texts.str.strip_suffix(OR_MISSING), column.ends()
    low = _places(ends.low_texts, ends.low, bare.str.extract(TWO_ENDS, 1).fill_null(bare))
    high = _places(ends.high_texts, ends.high, bare.str.extract(TWO_ENDS, 2).fill_null(bare))
    return np.where((texts == MISSING).to_numpy(), 0.0, high - low)


def _places(texts: Sequence[str], places: Floats, shown: pl.Series) -> Floats:
    known = dict(zip(texts, places.tolist(), strict=True))
    old, new = pl.Series(list(known), dtype=pl.String), pl.Series(list(known.values()), dtype=pl.Float64)
    return shown.replace_strict(old, new, default=np.nan, return_dtype=pl.Float64).to_numpy()


def _covered(column: LabelColumn | SetColumn, texts: Sequence[str]) -> Floats:
    """Return how many leaves each label covers, or how many members a set has, with "missing" among them.

    It is not a number where a text can be read in several ways.
    """
    domain = len(column.hierarchy.leaves) if isinstance(column, LabelColumn) else column.domain
    sets = not isinstance(column, LabelColumn)
    ways = meanings(reader_of(column), texts, name=column.name)
    counts = [
        len(np.arange(domain)[each[0].codes]) + (sets and each[0].missing) if len(each) == 1 else np.nan
        for each in ways
    ]
    return np.array(counts, dtype=np.float64)


# The list, and why a class is on it


MOST = 500  # classes that each order lists


@dataclass(frozen=True)
class ListedClass:
    """One class: its number, its rows, what it publishes, what it loses, and which share of a t it uses."""

    number: int
    rows: int
    cells: tuple[str | None, ...]
    loss: float | None  # None where the release does not tell it
    used: float | None  # None where no attribute has a t


@dataclass(frozen=True)
class ClassList:
    """The classes that come first in some order, and the numbers of each order, the worst class first."""

    visible: tuple[str, ...]
    classes: tuple[ListedClass, ...]
    orders: Mapping[str, tuple[int, ...]]  # "loss" and "t" only where they are known; at most MOST classes each
    total: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class ClassReasons:
    """Why a class is as it is, as far as the release and the table tell."""

    smallest: bool  # whether it has as few rows as k allows
    exact: bool  # whether it loses nothing
    costliest: str | None  # the column that loses most; None where nothing is lost, or where it is not known
    share: float  # of the class's loss that this column makes up
    top: bool  # whether that column publishes the top of its hierarchy
    fit: int  # rows of the table that fit what the class publishes, its own among them
    withheld: int  # rows of the table that the release does not have

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedClasses:
    """The classes of a release, and the columns of its table that say what they lose."""

    release: pl.DataFrame
    table: pl.DataFrame
    policy: Policy

    def listed(self, used: Floats | None) -> ClassList:
        """List the classes; `used` is the share of its t that each class uses."""
        classes, cells, loss = self._classes, self._cells, self._losses()
        figures = {"loss": loss, "rows": -classes.sizes.astype(np.float64), "t": used}
        orders = {name: np.argsort(-by, kind="stable")[:MOST] for name, by in figures.items() if by is not None}
        listed = np.unique(np.concatenate([*orders.values()]))
        texts = shown_cells(cells[listed], MOST * len(orders))
        return ClassList(
            visible=self.policy.visible,
            classes=tuple(
                ListedClass(place + 1, int(classes.sizes[place]), shown, _figure(loss, place), _figure(used, place))
                for place, shown in zip(listed.tolist(), texts, strict=True)
            ),
            orders={name: tuple((order + 1).tolist()) for name, order in orders.items()},
            total=len(classes),
        )

    def reasons(self, number: int) -> ClassReasons:
        """Return why one class, counted from 1, is as it is."""
        classes, policy = self._classes, self.policy
        if not 1 <= number <= len(classes):
            raise InputError(
                "the release has {count:,} classes: there is no class {number:,}", count=len(classes), number=number
            )
        shown, quasi = self._cells[number - 1], self._quasi
        losses = {
            name: float(policy.quasi[name].weight) * float(loss[0]) for name, loss in losses_of(quasi, shown).items()
        }
        whole = sum(losses.values())
        costliest = max(losses, key=losses.__getitem__) if whole > 0 else None  # an unknown loss is not above 0
        return ClassReasons(
            smallest=int(classes.sizes[number - 1]) == policy.k,
            exact=whole == 0,
            costliest=costliest,
            share=0.0 if costliest is None else losses[costliest] / whole,
            top=costliest is not None and _at_top(quasi[costliest], shown[costliest]),
            fit=self._rows_that_fit(shown),
            withheld=self.table.height - self.release.height,
        )

    @cached_property
    def _classes(self) -> Classes:
        return classes_of(self.release[list(self.policy.visible)])

    @cached_property
    def _cells(self) -> pl.DataFrame:
        """What each class publishes."""
        return self.release[list(self.policy.visible)][self._classes.rows[self._classes.starts]]

    @cached_property
    def _quasi(self) -> dict[str, QuasiColumn]:
        """The quasi-identifiers of the table, all rows of it."""
        policy = self.policy
        cells = {name: with_one_number(self.table[name], policy.missing) for name in policy.quasi}
        return {name: read_quasi(cells[name], spec, policy.missing) for name, spec in policy.quasi.items()}

    @cached_property
    def _kept(self) -> dict[str, Values]:
        """The other visible columns of the table."""
        names, missing = (name for name in self.policy.visible if name not in self._quasi), self.policy.missing
        return {name: values_of(with_one_number(self.table[name], missing), missing) for name in names}

    def _losses(self) -> Floats | None:
        """Return what each class loses; None where the release does not tell, or its hierarchies have changed."""
        try:
            return together(losses_of(self._quasi, self._cells), self.policy)
        except (InputError, PolicyError):
            return None

    def _rows_that_fit(self, shown: pl.DataFrame) -> int:
        """Count the rows of the table whose every visible value lies in what one class publishes."""
        fits = np.ones(self.table.height, dtype=bool)
        for name in self.policy.visible:
            column = self._quasi[name] if name in self._quasi else self._kept[name]
            reader = (
                ColumnReader(ValueCell, KnownValues.of(column.domain))
                if isinstance(column, Values)
                else reader_of(column)
            )
            ways = meanings(reader, _texts(shown[name]), name=name, missing=self.policy.missing)[0]
            fits &= _covers(ways, _different(column))[column.codes]
        return int(np.count_nonzero(fits))


def _figure(figures: Floats | None, place: int) -> float | None:
    return None if figures is None else float(figures[place])


def _at_top(column: QuasiColumn, shown: pl.Series) -> bool:
    """Tell whether the only text of a column is the top of its hierarchy."""
    if not isinstance(column, LabelColumn):
        return False
    ways = meanings(reader_of(column), _texts(shown), name=column.name)[0]
    leaves = len(column.hierarchy.leaves)
    return all(len(np.arange(leaves)[way.codes]) == leaves for way in ways)


def _different(column: QuasiColumn | Values) -> int:
    if isinstance(column, LabelColumn):
        return len(column.hierarchy.leaves)
    return len(column.texts) if isinstance(column, Values) else len(column.values.texts)


def _covers(ways: Sequence[Meaning], different: int) -> Bools:
    """Tell which codes a text covers in any of the ways to read it; the last, code -1, stands for missing."""
    covers = np.zeros(different + 1, dtype=bool)
    for way in ways:
        covers[:-1][way.codes] = True
        covers[-1] |= way.missing
    return covers


def _texts(shown: pl.Series) -> list[str]:
    return shown.alias("").cast(pl.String).fill_null(MISSING).to_list()
