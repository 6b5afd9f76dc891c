"""Rows that publish the same values, brought together: a bucket holds whole classes, whatever part they come from.

The bucket of a class is a hash of what it publishes. Within a bucket, rows stand in the order of their published cells.
So where a row stands says nothing but what it publishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.engine.in_parts.lines import AboutColumns, lines_of_bucket
from tclose.engine.in_parts.splitting import CLASS, PERSON, SIZE, PublishedColumns, SplitPart
from tclose.measure.exposure import ExposedCounts, PublishedClasses, exposed_counts
from tclose.measure.line_counts import LineCounts
from tclose.recode.frame import ordered
from tclose.table.classes import Classes, classes_of
from tclose.table.grouped import bucket_numbers
from tclose.types import Floats, Ints

BUCKET_ROWS = 100_000  # of a bucket, about


def buckets_for(rows: int, bucket_rows: int | None = None) -> int:
    """Return how many buckets the rows of a release get."""
    return max(1, round(rows / (bucket_rows or BUCKET_ROWS)))


def by_bucket(part: SplitPart, columns: PublishedColumns, buckets: int) -> Iterator[tuple[int, SplitPart]]:
    """Yield what a part has for each bucket, each with classes that are numbered from 0."""
    bucket_of_class = bucket_numbers(part.classes, columns.keys_of_classes, buckets)
    labels = part.rows[CLASS].to_numpy()
    bucket_of_row = bucket_of_class[labels]
    class_order = np.argsort(bucket_of_class, kind="stable")
    row_order = np.argsort(bucket_of_row, kind="stable")
    class_ends = np.searchsorted(bucket_of_class[class_order], np.arange(buckets + 1))
    row_ends = np.searchsorted(bucket_of_row[row_order], np.arange(buckets + 1))
    number = np.empty_like(class_order)
    number[class_order] = np.arange(len(class_order))
    for bucket in np.unique(bucket_of_class).tolist():
        first, end = class_ends[bucket : bucket + 2].tolist()
        rows = row_order[row_ends[bucket] : row_ends[bucket + 1]]
        own = pl.Series(CLASS, (number[labels[rows]] - first).astype(np.int32))
        yield bucket, SplitPart(part.classes[class_order[first:end]], part.rows[rows].with_columns(own))


@dataclass(frozen=True, eq=False)
class FinishedBucket:
    """The published rows of a bucket in their order, and what its classes lose."""

    frame: pl.DataFrame
    sizes: Ints
    lost: Floats  # Σ size · NCP, per quasi-identifier
    sums: Floats  # classes × numeric quasi-identifiers: the sum of the places of their rows
    exposed: ExposedCounts
    lines: LineCounts
    persons: pl.Series | None  # whom the rows belong to, where persons are counted


def finished_bucket(parts: Sequence[SplitPart], columns: PublishedColumns, about: AboutColumns) -> FinishedBucket:
    """Bring the classes of all parts together; those that publish the same are one class.

    `about` says of each sensitive column how many rows of the whole table share its values.
    """
    classes, rows = _joined(parts)
    merged = classes_of(classes.select(columns.keys_of_classes))
    label_of_class = merged.labels_by_row()
    labels = label_of_class[rows[CLASS].to_numpy()]
    sizes = np.bincount(label_of_class, weights=classes[SIZE].to_numpy()).astype(np.int64)
    shown = classes.select(columns.keys_of_classes)[merged.rows[merged.starts]]
    cells = {key: shown[key].gather(labels) for key in columns.keys_of_classes}
    cells |= {key: rows[key] for key in columns.keys_of_rows}
    frame, order = ordered(pl.DataFrame({name: cells[columns.key(name)] for name in columns.names}))
    persons = rows[PERSON] if PERSON in rows.columns else None
    return FinishedBucket(
        frame=frame,
        sizes=sizes,
        lost=np.array([float(classes[SIZE].to_numpy() @ classes[name].to_numpy()) for name in columns.lost]),
        sums=np.stack([np.bincount(label_of_class, classes[name].to_numpy()) for name in columns.sums], axis=1)
        if columns.sums
        else np.zeros((len(sizes), 0)),
        exposed=exposed_counts(_seen(rows, labels, columns, about, persons)),
        lines=lines_of_bucket(rows, dict(zip(columns.sensitive, columns.cells, strict=True)), labels, about, persons),
        persons=None if persons is None else persons.gather(order),
    )


def _joined(parts: Sequence[SplitPart]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put parts together; their classes are numbered one part after the other."""
    heights = [part.classes.height for part in parts]
    starts = np.repeat(np.cumsum([0, *heights[:-1]]), [part.rows.height for part in parts])
    rows = pl.concat([part.rows for part in parts])
    numbered = rows.with_columns(pl.Series(CLASS, rows[CLASS].to_numpy() + starts))
    return pl.concat([part.classes for part in parts]), numbered


def _seen(
    rows: pl.DataFrame,
    labels: Ints,
    columns: PublishedColumns,
    about: AboutColumns,
    persons: pl.Series | None,
) -> PublishedClasses:
    classes = Classes.from_labels(labels)
    attributes = [
        replace(about.attributes[name], values=rows[key].to_numpy().astype(np.int64))
        for key, name in zip(columns.cells, columns.sensitive, strict=True)
    ]
    numbers = None if persons is None else np.zeros(0, dtype=np.int64)  # only that persons are counted matters here
    return PublishedClasses(classes.rows, classes.starts, attributes, about.crowd, numbers)
