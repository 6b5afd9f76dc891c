"""The classes of a release as a list, the worst first: by what they lose, by their rows, by how near they are to t."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.recode.meaning import KnownValues, Meaning, Reader, meanings, reader_of
from tclose.recode.spelling import MISSING, ValueCell
from tclose.release.class_losses import losses_of, together
from tclose.table.classes import Classes, classes_of
from tclose.table.looks import shown_cells
from tclose.table.quasi import LabelColumn, QuasiColumn, read_quasi
from tclose.table.spellings import with_one_number
from tclose.table.values import Values, values_of
from tclose.types import Bools, Floats

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


def list_classes(release: pl.DataFrame, table: pl.DataFrame, policy: Policy, used: Floats | None) -> ClassList:
    """List the classes of a release; `used` is the share of its t that each class uses."""
    classes, cells = _classes(release, policy)
    loss = _losses(cells, table, policy)
    figures = {"loss": loss, "rows": -classes.sizes.astype(np.float64), "t": used}
    orders = {name: np.argsort(-by, kind="stable")[:MOST] for name, by in figures.items() if by is not None}
    listed = np.unique(np.concatenate([*orders.values()]))
    texts = shown_cells(cells[listed], MOST * len(orders))
    return ClassList(
        visible=policy.visible,
        classes=tuple(
            ListedClass(place + 1, int(classes.sizes[place]), shown, _figure(loss, place), _figure(used, place))
            for place, shown in zip(listed.tolist(), texts, strict=True)
        ),
        orders={name: tuple((order + 1).tolist()) for name, order in orders.items()},
        total=len(classes),
    )


def reasons_of(release: pl.DataFrame, table: pl.DataFrame, policy: Policy, number: int) -> ClassReasons:
    """Return why one class, counted from 1, is as it is."""
    classes, cells = _classes(release, policy)
    if not 1 <= number <= len(classes):
        raise InputError(f"the release has {len(classes):,} classes: there is no class {number:,}")
    shown, quasi = cells[number - 1], _quasi(table, policy)
    losses = {name: float(policy.quasi[name].weight) * float(loss[0]) for name, loss in losses_of(quasi, shown).items()}
    whole = sum(losses.values())
    costliest = max(losses, key=losses.__getitem__) if whole > 0 else None  # a loss that is not known is not above 0
    return ClassReasons(
        smallest=int(classes.sizes[number - 1]) == policy.k,
        exact=whole == 0,
        costliest=costliest,
        share=0.0 if costliest is None else losses[costliest] / whole,
        top=costliest is not None and _at_top(quasi[costliest], shown[costliest]),
        fit=_rows_that_fit(table, quasi, shown, policy),
        withheld=table.height - release.height,
    )


def _classes(release: pl.DataFrame, policy: Policy) -> tuple[Classes, pl.DataFrame]:
    """Return the classes of a release, and what each publishes."""
    visible = release[list(policy.visible)]
    classes = classes_of(visible)
    return classes, visible[classes.rows[classes.starts]]


def _quasi(table: pl.DataFrame, policy: Policy) -> dict[str, QuasiColumn]:
    cells = {name: with_one_number(table[name], policy.missing) for name in policy.quasi}
    return {name: read_quasi(cells[name], spec, policy.missing) for name, spec in policy.quasi.items()}


def _losses(cells: pl.DataFrame, table: pl.DataFrame, policy: Policy) -> Floats | None:
    """Return what each class loses; None where the release does not tell, or its hierarchies have changed."""
    try:
        return together(losses_of(_quasi(table, policy), cells), policy)
    except (InputError, PolicyError):
        return None


def _figure(figures: Floats | None, place: int) -> float | None:
    return None if figures is None else float(figures[place])


def _at_top(column: QuasiColumn, shown: pl.Series) -> bool:
    """Tell whether the only text of a column is the top of its hierarchy."""
    if not isinstance(column, LabelColumn):
        return False
    ways = meanings(reader_of(column), _texts(shown), name=column.name)[0]
    leaves = len(column.hierarchy.leaves)
    return all(len(np.arange(leaves)[way.codes]) == leaves for way in ways)


def _rows_that_fit(table: pl.DataFrame, quasi: Mapping[str, QuasiColumn], shown: pl.DataFrame, policy: Policy) -> int:
    """Count the rows whose every visible value lies in what one class publishes."""
    fits = np.ones(table.height, dtype=bool)
    for name in policy.visible:
        column = (
            quasi[name] if name in quasi else values_of(with_one_number(table[name], policy.missing), policy.missing)
        )
        reader = Reader(ValueCell, KnownValues.of(column.domain)) if isinstance(column, Values) else reader_of(column)
        ways = meanings(reader, _texts(shown[name]), name=name, missing=policy.missing)[0]
        fits &= _covers(ways, _different(column))[column.codes]
    return int(np.count_nonzero(fits))


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
