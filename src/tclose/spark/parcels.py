"""What executors do: count the rows of a part of a table, send the groups to their buckets, and work on a bucket.

Groups travel as parcels: frames of polars in the cells of a Spark frame. So cells are compared by polars alone,
whatever Spark thinks of NaN, zeros, collations or names. The bucket of a parcel tells which classes are in it.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa

from tclose.errors import InputError
from tclose.spark.executors import Batches
from tclose.table.buckets import Extra, Grouping, Groups, Notes, RespellingOf
from tclose.table.grouped import BUDGET, GroupedRows, added_up, bucket_numbers
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.batch_reading import cell_groups
from tclose.table.spill import NoSpace
from tclose.table.tally import comparable

PARCELS = pa.schema([("bucket", pa.int32()), ("counting", pa.int32()), ("extra", pa.int32()), ("payload", pa.binary())])
PARCELS_IN_SPARK = "bucket int, counting int, extra int, payload binary"
ANSWERS_IN_SPARK = "answer binary"
CHANGED = "the frame gave other rows when Spark computed it again: write it to files, and read those"
FACTS = -1  # the counting of parcels that hold no groups
BATCH_ROWS = 1 << 18  # that are counted at a time
Count = Callable[[pl.DataFrame, Grouping], pl.DataFrame]


@dataclass(frozen=True)
class WhatIsCounted:
    """What is counted, each by itself, and into how many buckets groups are sent."""

    groupings: tuple[Grouping, ...]
    buckets: int
    budget: int = BUDGET  # bytes of groups of one part that stay in memory

    @property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys(name for grouping in self.groupings for name in grouping.columns))


@dataclass(frozen=True)
class ReadFile:
    """What was found in a file: its fingerprint, how many rows it has, and why they cannot be counted, if so."""

    path: str
    sha256: str
    rows: int = 0
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class PartFacts:
    """What is known of a part of a table, beside its groups."""

    start: int  # the number of its first row
    read: int  # rows
    counted: Sequence[
        tuple[int, int, Notes]
    ]  # for each grouping: rows, rows withheld, and what its columns of text are
    refused: Sequence[tuple[str, pl.DataFrame]]  # columns with cells that cannot be compared
    file: ReadFile | None  # that the part is, where it is one


def different_cells(cells: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Return the different cells of some rows as groups."""
    return cell_groups(cells, grouping.columns)


class PartCounting:
    """Counts the rows of one part of a table."""

    def __init__(self, what: WhatIsCounted) -> None:
        self._what = what
        self._counted = [GroupedRows(grouping, budget=what.budget) for grouping in what.groupings]
        self._refused: list[tuple[str, pl.DataFrame]] = []
        self._start: int | None = None
        self._read = 0

    def add(self, cells: pl.DataFrame, start: int, count: Count = different_cells) -> None:
        """Count some rows, the first of which has this number; `count` makes groups of them."""
        self._start = start if self._start is None else self._start
        self._read += cells.height
        for counted in self._counted:
            groups = count(cells, counted.grouping)
            try:
                counted.add(groups, cells.height, start=start)
            except NoSpace:
                raise
            except InputError:
                numbered = groups.with_columns(pl.col(FIRST).cast(pl.Int64) + start)
                self._refused += _refused_cells(counted.grouping, numbered)

    def parcels(
        self, file: ReadFile | None = None, about: Mapping[int, object] = MappingProxyType({})
    ) -> Iterator[pa.RecordBatch]:
        """Yield everything that was counted, and what else is known `about` these rows, by countings of their own."""
        counted = [(groups.rows, groups.withheld, groups.notes) for groups in self._counted]
        facts = PartFacts(self._start or 0, self._read, counted, self._refused, file)
        yield _parcel(0, FACTS, 0, pickle.dumps(facts))
        for counting, known in about.items():
            yield _parcel(0, counting, 0, pickle.dumps(known))
        for place, groups in enumerate(self._counted):
            for extra, frame in groups.parcels():
                number = groups.grouping.extras.index(extra)
                for bucket, part in _by_bucket(frame, groups.grouping, self._what.buckets):
                    yield _parcel(bucket, place, number, packed(part))
            groups.close()


def counted_rows(batches: Batches, what: WhatIsCounted, row: str) -> Batches:
    """Count the rows of a Spark partition, whose columns are named by their places; `row` numbers the rows."""
    counting = PartCounting(what)
    for chunk in chunks(batches):
        frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(chunk)))
        cells = pl.DataFrame({name: frame[str(place)] for place, name in enumerate(what.columns)})
        counting.add(cells, int(frame[row][0]))
    yield from counting.parcels()


def on_bucket(
    batches: Batches, grouping: Grouping, spellings: RespellingOf, work: Callable[[Groups], Any]
) -> Iterator[pa.RecordBatch]:
    """Put the parcels of a bucket together, and answer with the result of some work on it; an empty one has none."""
    frames: dict[Extra, list[pl.DataFrame]] = defaultdict(list)
    for batch in batches:
        for number, payload in zip(batch.column("extra").to_pylist(), batch.column("payload"), strict=True):
            frames[grouping.extras[number]].append(unpacked(payload.as_buffer()))
    if frames:
        groups = {extra: added_up(found, grouping.keys_of(extra), spellings) for extra, found in frames.items()}
        yield answered(work(groups))


def packed(frame: pl.DataFrame) -> bytes:
    """Return a frame as bytes."""
    file = io.BytesIO()
    frame.write_ipc_stream(file)
    return file.getvalue()


def unpacked(data: pa.Buffer) -> pl.DataFrame:
    """Return the frame that was packed."""
    return pl.read_ipc_stream(io.BytesIO(data))


def answered(answer: Any) -> pa.RecordBatch:
    """Return an answer as Spark takes it back to the driver."""
    return pa.record_batch([pa.array([pickle.dumps(answer)], pa.binary())], names=["answer"])


def _parcel(bucket: int, counting: int, extra: int, payload: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"bucket": bucket, "counting": counting, "extra": extra, "payload": payload}], schema=PARCELS
    )


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Join batches, which Spark makes small, into some that are worth counting."""
    waiting, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield waiting
            waiting, rows = [], 0
    if waiting:
        yield waiting


def _refused_cells(grouping: Grouping, groups: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the columns whose cells cannot be compared, with their cells, how many rows show each, and the first."""
    for name in sorted(grouping.compared):
        key = grouping.key(name)
        try:
            comparable(groups[key])
        except InputError:
            yield name, groups.select(pl.col(key).alias("cell"), ROWS, FIRST)


def _by_bucket(groups: pl.DataFrame, grouping: Grouping, buckets: int) -> Iterator[tuple[int, pl.DataFrame]]:
    if buckets == 1:
        yield 0, groups
        return
    numbers = pl.Series("bucket", bucket_numbers(groups, grouping.keys_of(), buckets))
    parts = groups.with_columns(numbers).partition_by("bucket", as_dict=True, include_key=False)
    for (bucket,), part in parts.items():
        yield int(bucket), part
