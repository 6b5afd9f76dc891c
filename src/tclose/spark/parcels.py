"""What executors do: count the rows of a part, send groups to their buckets and work on these; cut and split rows.

Groups and rows travel as parcels: frames of polars in the cells of a Spark frame. So cells are compared by polars
alone, whatever Spark thinks of NaN, zeros, collations or names. The bucket of a parcel tells which classes are in it,
and the place of rows says where they belong. Mistakes of the table or the policy travel in the same way, since Spark
would try a task that fails again.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tclose.errors import InputError, TcloseError
from tclose.partition.parts import random_of_numbers, random_of_rows
from tclose.partition.shared.compile_cache import writable_folder
from tclose.policy import Policy
from tclose.recode.frame import GUARDS
from tclose.release.files import sha256
from tclose.release.formats import PARQUET, write_table
from tclose.run.parts.buckets import FinishedBucket, SplitPart, by_bucket
from tclose.run.parts.plan import PartPlan, PieceCounts, sample_bound
from tclose.run.parts.rows import BucketFinisher, PartSplitter
from tclose.spark.cluster import Batches
from tclose.table.disk_files import NoSpace
from tclose.table.domains import LearnedTable, Spellings, counted_rows, without_categories
from tclose.table.frames import from_stream
from tclose.table.groups import (
    BUDGET,
    Extra,
    GroupedRows,
    Grouping,
    Groups,
    Notes,
    RespellingOf,
    added_up,
    bucket_numbers,
)
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.folder import cell_groups
from tclose.table.values import comparable
from tclose.types import Ints, silent

# Groups: rows are counted, and groups go to their buckets


PARCELS = pa.schema([("bucket", pa.int32()), ("counting", pa.int32()), ("extra", pa.int32()), ("payload", pa.binary())])
PARCELS_IN_SPARK = "bucket int, counting int, extra int, payload binary"
ANSWERS_IN_SPARK = "answer binary"
CHANGED = "the frame gave other rows when Spark computed it again: write it to files, and read those"
FACTS = -1  # the counting of parcels that hold no groups
BATCH_ROWS = 1 << 18  # that are counted at a time
Count = Callable[[pl.DataFrame, Grouping], pl.DataFrame]


@dataclass(frozen=True)
class CountPlan:
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


@dataclass(frozen=True, eq=False, repr=False)
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


class PartCounter:
    """Counts the rows of one part of a table."""

    def __init__(self, what: CountPlan) -> None:
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


def counted_parcels(batches: Batches, what: CountPlan, row: str) -> Batches:
    """Count the rows of a Spark partition, whose columns are named by their places; `row` numbers the rows."""
    counting = PartCounter(what)
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


# Kernels: the first task on a machine compiles them, and all others wait for the files


LOCK = "tclose-kernels.lock"


@cache
def compiled_once() -> None:
    """Compile the kernels of weave, unless they lie on disk already."""
    from tclose.partition import DEFAULT_METHOD, method_named
    from tclose.partition.shared.kernels import seconds_to_compile

    method_named(DEFAULT_METHOD)
    folder = writable_folder()
    if folder is None or not seconds_to_compile():
        return
    with _locked(folder / LOCK):
        if seconds_to_compile():
            from tclose.partition.warm import warm_weave

            warm_weave()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock among the processes of a machine, where the system has such locks."""
    with path.open("wb") as file:
        with suppress(ImportError):  # Windows has none of this kind
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# Rows of a table that is published: learn from them, cut, split, and finish buckets


SCHEMA = pa.schema([("place", pa.int32()), ("kind", pa.int32()), ("first", pa.int64()), ("payload", pa.binary())])
IN_SPARK = "place int, kind int, first long, payload binary"
ROWS_PARCEL, ABOUT_PARCEL, MISTAKE_PARCEL = 0, 1, 2  # kinds of parcels
NUMBER = "\0number"  # a column that no table has: the number of a row
ABOUT_SAMPLE, SAMPLE = -2, -3  # countings of parcels that hold no groups
MOST_HALVINGS = 40  # of the share of rows in the sample


@dataclass(frozen=True, eq=False)
class AboutSample:
    """What is known of the rows of a Spark partition besides counts: how they say "no value", how many are drawn."""

    seen: Mapping[str, set[str | None]]
    sampled: Ints  # rows of the sample, if the share is halved 0, 1, 2, … times


@dataclass(frozen=True, eq=False, repr=False)
class CutPlan:
    """What tells the piece of any row of a table."""

    learned: LearnedTable
    plan: PartPlan
    columns: Sequence[str]


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
    batches: Batches, what: CountPlan, policy: Policy, columns: Sequence[str], seed: int, part_rows: int, row: str
) -> Iterator[pa.RecordBatch]:
    """Count the rows of a Spark partition, and draw its part of the sample."""
    counting, spellings = PartCounter(what), Spellings(policy)
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
        yield answered((first, from_stream(rows)[np.flatnonzero(random < bound)]))


def cut_rows(batches: Batches, cutting: CutPlan, row: str) -> Iterator[pa.RecordBatch]:
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
                yield parcel(0, MISTAKE_PARCEL, 0, pickle.dumps(InputError(CHANGED)))
                return
        random = random_of_numbers(cutting.plan.seed, rows[NUMBER].to_numpy().astype(np.uint64))
        pieces = cutting.plan.pieces_of(table, random)
        counts.add(table, pieces)
        for piece in np.unique(pieces).tolist():
            chosen = np.flatnonzero(pieces == piece)
            yield parcel(piece, ROWS_PARCEL, start, packed(table.frame[chosen]))
    yield parcel(0, ABOUT_PARCEL, 0, pickle.dumps((counts.counts, counts.persons, seen)))


def split_parts(batches: Batches, splitting: PartSplitter) -> Iterator[pa.RecordBatch]:
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
            yield parcel(part, MISTAKE_PARCEL, 0, pickle.dumps(mistake))


def _split_part(part: int, rows: pl.DataFrame, splitting: PartSplitter) -> Iterator[pa.RecordBatch]:
    made = splitting.split(part, rows, silent)
    for bucket, found in by_bucket(made, splitting.columns, splitting.buckets):
        yield parcel(bucket, ROWS_PARCEL, part, pickle.dumps((packed(found.classes), packed(found.rows))))


def finished_buckets(batches: Batches, finishing: BucketFinisher, guard: int) -> Iterator[pa.RecordBatch]:
    """Put the classes of each bucket together, and write its rows as the bytes of a Parquet file."""
    parts: dict[int, list[tuple[int, SplitPart]]] = defaultdict(list)
    for bucket, part, payload in _parcels(batches, "place", "first"):
        classes, rows = pickle.loads(payload)
        parts[bucket].append((part, SplitPart(from_stream(classes), from_stream(rows))))
    for bucket in sorted(parts):
        found = [part for _, part in sorted(parts.pop(bucket), key=lambda each: each[0])]
        finished = finishing.finished(found)
        content = _written(GUARDS[guard].guarded(finished.frame) if guard else finished.frame)
        persons = None if finished.persons is None else packed(finished.persons.alias("").to_frame())
        yield parcel(bucket, ROWS_PARCEL, finished.frame.height, pickle.dumps((content, persons)))
        small = replace(finished, frame=finished.frame.clear(), persons=None)
        yield parcel(bucket, ABOUT_PARCEL, finished.frame.height, pickle.dumps((sha256(content), small)))


def counted_buckets(batches: Batches, what: CountPlan, person: str | None, guard: int) -> Iterator[pa.RecordBatch]:
    """Count the rows of finished files, from their bytes, together with whom the rows belong to."""
    for bucket, payload in _parcels(batches, "place"):
        counting = PartCounter(what)
        content, persons = pickle.loads(payload)
        frame = pl.read_parquet(io.BytesIO(content))
        frame = GUARDS[guard].restored(frame) if guard else frame
        if person is not None and persons is not None:
            frame = frame.with_columns(from_stream(persons).to_series().alias(person))
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


def bucket_of(payload: bytes, about: FinishedBucket) -> FinishedBucket:
    """Return a finished bucket with its rows."""
    content, persons = pickle.loads(payload)
    own = None if persons is None else from_stream(persons).to_series()
    return replace(about, frame=pl.read_parquet(io.BytesIO(content)), persons=own)


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


def _written(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    partial(write_table, frame, PARQUET)(file)
    return file.getvalue()
