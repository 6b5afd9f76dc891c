"""What executors do with the rows of a table that is published: learn from them, cut, split, and finish buckets.

Rows travel as parcels, too: frames of polars in the cells of a Spark frame, with the place where they belong. Mistakes
of the table or the policy travel in the same way, since Spark would try a task that fails again.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tclose.engine.in_parts.buckets import FinishedBucket, by_bucket, finished_bucket
from tclose.engine.in_parts.learning import sample_bound
from tclose.engine.in_parts.lines import AboutColumns
from tclose.engine.in_parts.planning import PartPlan, PieceCounts, whole_of_part
from tclose.engine.in_parts.splitting import PublishedColumns, SplitPart, split_part
from tclose.errors import InputError, TcloseError
from tclose.partition.parts import random_of_numbers, random_of_rows
from tclose.policy import Policy
from tclose.release.files import sha256
from tclose.release.formats import PARQUET, write_table
from tclose.spark.executors import Batches
from tclose.spark.kernels import compiled_once
from tclose.spark.parcels import (
    CHANGED,
    PartCounting,
    WhatIsCounted,
    answered,
    chunks,
    packed,
    unpacked,
)
from tclose.table.learned import LearnedTable, Spellings, counted_rows, without_categories
from tclose.types import Ints

SCHEMA = pa.schema([("place", pa.int32()), ("kind", pa.int32()), ("first", pa.int64()), ("payload", pa.binary())])
IN_SPARK = "place int, kind int, first long, payload binary"
ROWS, ABOUT, MISTAKE = 0, 1, 2  # kinds of parcels
NUMBER = "\0number"  # a column that no table has: the number of a row
ABOUT_SAMPLE, SAMPLE = -2, -3  # countings of parcels that hold no groups
MOST_HALVINGS = 40  # of the share of rows in the sample


@dataclass(frozen=True, eq=False)
class AboutSample:
    """What is known of the rows of a Spark partition besides counts: how they say "no value", how many are drawn."""

    seen: Mapping[str, set[str | None]]
    sampled: Ints  # rows of the sample, if the share is halved 0, 1, 2, … times


@dataclass(frozen=True, eq=False)
class Cutting:
    """What tells the piece of any row of a table."""

    learned: LearnedTable
    plan: PartPlan
    columns: Sequence[str]


@dataclass(frozen=True, eq=False)
class Splitting:
    """What is needed to split any part of a table."""

    learned: LearnedTable
    plan: PartPlan
    parts: Sequence[Sequence[int]]  # the pieces of each part
    effort: str
    buckets: int


def parcel(place: int, kind: int, first: int, payload: bytes) -> pa.RecordBatch:
    """Return one parcel."""
    return pa.RecordBatch.from_pylist(
        [{"place": place, "kind": kind, "first": first, "payload": payload}], schema=SCHEMA
    )


def frames_of(batches: Batches, columns: Sequence[str], row: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of a Spark partition, whose columns are named by their places, with the number of the first."""
    for chunk in chunks(batches):
        frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(chunk)))
        cells = {name: frame[str(place)] for place, name in enumerate(columns)}
        yield int(frame[row][0]), pl.DataFrame(cells)


def learned_rows(
    batches: Batches, what: WhatIsCounted, policy: Policy, columns: Sequence[str], seed: int, part_rows: int, row: str
) -> Iterator[pa.RecordBatch]:
    """Count the rows of a Spark partition, and draw its part of the sample."""
    counting, spellings = PartCounting(what), Spellings(policy)
    samples, numbers, first = list[pl.DataFrame](), list[np.ndarray[Any, Any]](), None
    for start, frame in frames_of(batches, what.columns, row):
        first = start if first is None else first
        rows = spellings.unified(without_categories(pl.DataFrame({name: frame[name] for name in columns})))
        others = {name: frame[name] for name in frame.columns if name not in rows.columns}
        counting.add(pl.DataFrame({**{c.name: c for c in rows.iter_columns()}, **others}), start, counted_rows)
        random = random_of_rows(seed, start, rows.height)
        chosen = np.flatnonzero(random < sample_bound(part_rows))
        samples.append(rows[chosen])
        numbers.append(random[chosen])
    if first is not None:
        random = np.concatenate(numbers)
        sampled = np.array([np.count_nonzero(random < sample_bound(part_rows, h)) for h in range(MOST_HALVINGS)])
        about = {
            ABOUT_SAMPLE: AboutSample(spellings.seen, sampled),
            SAMPLE: (first, packed(pl.concat(samples)), random),
        }
        yield from counting.parcels(about=about)


def sample_below(batches: Batches, bound: np.uint64) -> Iterator[pa.RecordBatch]:
    """Answer with the rows of a sample whose random numbers are small enough, and where they begin."""
    for (payload,) in _parcels(batches):
        first, rows, random = pickle.loads(payload)
        yield answered((first, _read(rows)[np.flatnonzero(random < bound)]))


def cut_rows(batches: Batches, cutting: Cutting, row: str) -> Iterator[pa.RecordBatch]:
    """Send every row that is published to its piece, and count the pieces, and the cells again."""
    counts, spellings = PieceCounts(cutting.plan, cutting.learned), Spellings(cutting.learned.policy)
    seen: dict[str, Ints] = {name: np.zeros(len(d.texts) + 1, np.int64) for name, d in cutting.learned.domains.items()}
    for start, frame in frames_of(batches, cutting.columns, row):
        numbers = pl.Series(NUMBER, np.arange(start, start + frame.height))
        unified = spellings.unified(without_categories(frame)).with_columns(numbers)
        rows = cutting.learned.publishable(unified)
        if not rows.height:
            continue
        table = cutting.learned.coded(rows.drop(NUMBER))
        for name, domain in cutting.learned.domains.items():
            seen[name] += np.bincount(table.values(name).codes + 1, minlength=len(domain.texts) + 1)
            if seen[name][0] > domain.missing:
                yield parcel(0, MISTAKE, 0, pickle.dumps(InputError(CHANGED)))
                return
        random = random_of_numbers(cutting.plan.seed, rows[NUMBER].to_numpy().astype(np.uint64))
        pieces = cutting.plan.pieces_of(table, random)
        counts.add(table, pieces)
        for piece in np.unique(pieces).tolist():
            chosen = np.flatnonzero(pieces == piece)
            yield parcel(piece, ROWS, start, packed(table.frame[chosen]))
    yield parcel(0, ABOUT, 0, pickle.dumps((counts.counts, counts.persons, seen)))


def split_parts(batches: Batches, splitting: Splitting) -> Iterator[pa.RecordBatch]:
    """Split each part whose rows are in a Spark partition, and send its classes to their buckets."""
    frames: dict[int, list[tuple[int, int, pl.DataFrame]]] = defaultdict(list)
    for part, piece, first, payload in _parcels(batches, "part", "place", "first"):
        frames[part].append((splitting.parts[part].index(piece), first, unpacked(payload)))
    for part in sorted(frames):
        compiled_once()
        rows = pl.concat([frame for _, _, frame in sorted(frames.pop(part), key=lambda found: found[:2])])
        try:
            yield from _split_part(part, rows, splitting)
        except TcloseError as mistake:
            yield parcel(part, MISTAKE, 0, pickle.dumps(mistake))


def _split_part(part: int, rows: pl.DataFrame, splitting: Splitting) -> Iterator[pa.RecordBatch]:
    plan, learned = splitting.plan, splitting.learned
    whole = whole_of_part(plan, splitting.parts[part])
    made = split_part(rows, learned, effort=splitting.effort, seed=plan.seed + part, whole=whole)
    for bucket, found in by_bucket(made, PublishedColumns.of(learned), splitting.buckets):
        yield parcel(bucket, ROWS, part, pickle.dumps((packed(found.classes), packed(found.rows))))


def finished_buckets(batches: Batches, columns: PublishedColumns, about: AboutColumns) -> Iterator[pa.RecordBatch]:
    """Put the classes of each bucket together, and write its rows as the bytes of a Parquet file."""
    parts: dict[int, list[tuple[int, SplitPart]]] = defaultdict(list)
    for bucket, part, payload in _parcels(batches, "place", "first"):
        classes, rows = pickle.loads(payload)
        parts[bucket].append((part, SplitPart(_read(classes), _read(rows))))
    for bucket in sorted(parts):
        found = [part for _, part in sorted(parts.pop(bucket), key=lambda each: each[0])]
        finished = finished_bucket(found, columns, about)
        content = _written(finished.frame)
        persons = None if finished.persons is None else packed(finished.persons.alias("").to_frame())
        yield parcel(bucket, ROWS, finished.frame.height, pickle.dumps((content, persons)))
        small = replace(finished, frame=finished.frame.clear(), persons=None)
        yield parcel(bucket, ABOUT, finished.frame.height, pickle.dumps((sha256(content), small)))


def counted_buckets(batches: Batches, what: WhatIsCounted, person: str | None) -> Iterator[pa.RecordBatch]:
    """Count the rows of finished files, from their bytes, together with whom the rows belong to."""
    for bucket, payload in _parcels(batches, "place"):
        counting = PartCounting(what)
        content, persons = pickle.loads(payload)
        frame = pl.read_parquet(io.BytesIO(content))
        if person is not None and persons is not None:
            frame = frame.with_columns(_read(persons).to_series().alias(person))
        counting.add(frame, bucket << 33)
        yield from counting.parcels()


def published_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of finished files."""
    for (payload,) in _parcels(batches):
        table = pl.read_parquet(io.BytesIO(pickle.loads(payload)[0])).to_arrow()
        kinds = [pa.string() if pa.types.is_large_string(field.type) else field.type for field in table.schema]
        yield from table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True)))).to_batches()


def files_of(payload: bytes) -> bytes:
    """Return the bytes of a finished file."""
    content: bytes = pickle.loads(payload)[0]
    return content


def without_rows(about: bytes) -> tuple[str, FinishedBucket]:
    """Return the fingerprint of a finished file, and what its classes lose."""
    digest, bucket = pickle.loads(about)
    return digest, bucket


def _parcels(batches: Batches, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield some columns of parcels, and what they hold."""
    for batch in batches:
        yield from zip(
            *(batch.column(name).to_pylist() for name in names),
            (payload.as_buffer() for payload in batch.column("payload")),
            strict=True,
        )


def _read(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))


def _written(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    partial(write_table, frame, PARQUET)(file)
    return file.getvalue()
