"""What the exchange attack needs of a release beside its original: codes, losses, and who fits which class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tclose.partition import Attribute
from tclose.partition.chosen_axes import axes_of
from tclose.partition.split import ENSURED
from tclose.privacy.judge import distance_of
from tclose.privacy.registry import class_models_of
from tclose.recode.covering import Covering
from tclose.release.beside import Beside
from tclose.table import CodedTable
from tclose.types import Floats, Ints

if TYPE_CHECKING:
    from tclose.measure.exchange import PublishedRows


def published_rows(beside: Beside) -> PublishedRows:
    """Return a release as the exchange attack sees it."""
    from tclose.measure.exchange import PublishedRows  # loads numba

    published, policy = beside.published, beside.published.policy
    rows, classes, cells = len(beside.original), published.classes, _numbered(beside)
    return PublishedRows(
        labels=beside.labels,
        attributes=_attributes(published),
        names=tuple(published.sensitive),
        cells=cells[rows:],
        people=beside.people,
        cells_of_people=cells[:rows],
        points=points_of(beside.original),
        axes=axes_of(beside.original, beside.policy),
        centres=_centres([column for column in beside.columns if column.name in beside.policy.quasi], len(classes)),
        group=published.groups.labels_by_row()[classes.rows[classes.starts]],
        k=policy.k,
        apart=bool(beside.policy.both),
        by_mean=any(column.means is not None for column in beside.columns),
    )


def points_of(table: CodedTable) -> Floats:
    """Return rows × quasi-identifiers, each from 0 to 1."""
    columns = [column.points() for column in table.quasi.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 1))


def _attributes(published: CodedTable) -> tuple[Attribute, ...]:
    """Return the sensitive attributes, as the release is judged."""
    found = []
    for name, column in published.sensitive.items():
        spec, distance = published.policy.sensitive[name], distance_of(column)
        models = tuple(model for model in class_models_of(spec, distance) if model.name not in ENSURED)
        found.append(Attribute(column.codes, column.reference, distance, spec.t, spec.n, models))
    return tuple(found)


def _numbered(beside: Beside) -> Ints:
    """Give a number to the sensitive cells of each row, first of the table and then of the release."""
    both = [np.concatenate([pair.before, pair.after]) for pair in beside.cells.values()]
    return np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _centres(columns: Sequence[Covering], classes: int) -> Floats:
    """Return about where each class lies on each quasi-identifier, from 0 to 1."""
    centres = np.zeros((classes, len(columns)))
    for number, column in enumerate(columns):
        places = np.append(np.linspace(0, 1, max(len(column.values), 1))[: len(column.values)], 0.5)
        covered = column.covers @ places / np.maximum(column.covers.sum(axis=1), 1)
        centres[:, number] = covered[column.text_of_class]
    return centres
