"""Tables are checked and releases verified on a cluster: executors count, and the driver judges the sums."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy, PolicyLike
from tclose.privacy.class_counts import JudgedCounts, check_counted, judge_counted, needs_all_classes
from tclose.privacy.results import CheckResult
from tclose.recode.frame import GUARDS
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.files import sha256
from tclose.release.signatures import forms_of, load_public_key
from tclose.release.verification import CertifiedFiles, TableFindings, Verification, not_judged, table_problems
from tclose.release.verify import Demands, name_problems, verify_with
from tclose.run.disk import RowCounter
from tclose.spark.cluster import (
    ROW,
    Batches,
    SparkFailed,
    columns_of,
    numbered,
    on_executor,
    rows_of,
    run_job,
    selected,
)
from tclose.spark.parcels import (
    ANSWERS_IN_SPARK,
    CHANGED,
    FACTS,
    PARCELS_IN_SPARK,
    CountPlan,
    PartCounter,
    PartFacts,
    ReadFile,
    answered,
    counted_parcels,
    on_bucket,
)
from tclose.table import CountedTable
from tclose.table.coded import warn_of_repeats
from tclose.table.disk_files import NoSpace
from tclose.table.groups import Answer, BucketedRows, Groups, Notes, with_notes
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.door import Reader, a_reader
from tclose.table.sources.folder import check_alike, part
from tclose.table.values import comparable
from tclose.types import Beat, Ints, Progress, Repeating, silent, stretch

SHUFFLED = "spark.sql.shuffle.partitions"


class ClusterRows(BucketedRows):
    """One counting of the rows of a table, whose groups lie on a cluster."""

    def __init__(self, parcels: DataFrame, what: CountPlan, place: int, facts: Sequence[PartFacts], beat: Beat):
        self.grouping, self._several = what.groupings[place], what.buckets > 1
        found = [part.counted[place] for part in facts]
        self.rows, self.withheld = sum(rows for rows, _, _ in found), sum(withheld for _, withheld, _ in found)
        self.notes = reduce(with_notes, (notes for _, _, notes in found), Notes())
        self._parcels, self._beat = parcels.filter(F.col("counting") == place).select("extra", "payload"), beat

    def __getstate__(self) -> dict[str, Any]:
        """Leave the frame and the progress with the driver: executors look at one bucket only."""
        return {**self.__dict__, "_parcels": None, "_beat": None}

    @property
    def in_buckets(self) -> bool:
        """Whether there are several buckets."""
        return self._several

    def each(self, work: Callable[[Groups], Answer]) -> Iterator[Answer]:
        """Do some work on every bucket, on the executors, and yield the answers."""
        job = partial(on_bucket, grouping=self.grouping, spellings=self.spellings, work=work)
        for row in rows_of(_answers(self._parcels, job), self._beat):
            yield pickle.loads(row.answer)


@dataclass(frozen=True, eq=False)
class CountedOnCluster:
    """A table that was counted: what is known of its parts, and everything that was counted."""

    parcels: DataFrame
    beat: Beat
    facts: list[PartFacts]  # in the order of their rows
    counted: list[ClusterRows]

    def check_cells(self) -> None:
        """Refuse cells that cannot be compared, and say in which rows they are."""
        refused = [each for part in self.facts for each in part.refused]
        for name in dict.fromkeys(name for name, _ in refused):
            cells = pl.concat([frame for other, frame in refused if other == name]).sort(FIRST)
            rows = self._row_numbers(cells[FIRST].to_numpy())
            comparable(cells["cell"].alias(name), rows, cells[ROWS].to_numpy())

    def payloads(self, counting: int) -> list[bytes]:
        """Bring parcels here that hold no groups."""
        return payloads_of(self.parcels, counting, self.beat)

    def answers(self, counting: int, work: Callable[[Batches], Batches]) -> list[Any]:
        """Do some work on parcels that hold no groups, and bring the answers here."""
        chosen = self.parcels.filter(F.col("counting") == counting).select("payload")
        return [pickle.loads(row.answer) for row in rows_of(_answers(chosen, work), self.beat)]

    def warn_of_repeats(self, identifiers: Iterable[str]) -> tuple[str, ...]:
        """Warn about identifiers that repeat, and return them; they were counted after the table, in this order."""
        repeated = {name: groups.repeated() for name, groups in zip(identifiers, self.counted[1:], strict=True)}
        warn_of_repeats(repeated)
        return tuple(name for name, rows in repeated.items() if rows)

    def _row_numbers(self, firsts: Ints) -> Ints:
        """Return where rows stand in the table, from 0, though numbers leave gaps between parts."""
        starts, read = (np.array([getattr(part, name) for part in self.facts]) for name in ("start", "read"))
        part = np.searchsorted(starts, firsts, side="right") - 1
        rows: Ints = (np.cumsum(read) - read)[part] + firsts - starts[part]
        return rows


def counted_of(counting: RowCounter, spark: SparkSession) -> CountPlan:
    """Return what is counted for a policy, and into how many buckets it goes."""
    groupings = [counting.groups.grouping, *(groups.grouping for groups in counting.identifiers.values())]
    buckets = 1 if needs_all_classes(counting.policy) else int(spark.conf.get(SHUFFLED) or 1)
    return CountPlan(tuple(groupings), max(1, buckets))


@contextmanager
def counted_on_cluster(parcels: DataFrame, what: CountPlan, beat: Beat) -> Iterator[CountedOnCluster]:
    """Count a table once, let it be looked at, and drop the groups in the end.

    `parcels` are what the parts of the table give (`PartCounting`).
    """
    kept = parcels.repartition("bucket").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        facts: list[PartFacts] = [pickle.loads(payload) for payload in payloads_of(kept, FACTS, beat)]
        facts = sorted((part for part in facts if part.read or part.file is not None), key=lambda part: part.start)
        counted = [ClusterRows(kept, what, place, facts, beat) for place in range(len(what.groupings))]
        yield CountedOnCluster(kept, beat, facts, counted)
    finally:
        kept.unpersist()


def _answers(parcels: DataFrame, work: Callable[[Batches], Batches]) -> DataFrame:
    return parcels.mapInArrow(on_executor(work), ANSWERS_IN_SPARK)


def payloads_of(parcels: DataFrame, counting: int, beat: Beat) -> list[bytes]:
    """Bring the payloads of some parcels to the driver."""
    return [row.payload for row in rows_of(parcels.filter(F.col("counting") == counting).select("payload"), beat)]


# The check of a Spark frame


READ, LEARNED = 0.7, 0.85  # shares of the work after which rows are counted, and domains are known


def check(
    df: DataFrame, policy: PolicyLike, *, ignore_others: bool = False, progress: Progress | None = None
) -> CheckResult:
    """Say whether a Spark frame holds what a policy asks for, as `tclose.check` says it of `df.toArrow()`.

    The table is read once, on the executors. Only counts of a few classes, and 16 bytes per class, come to the driver.
    Classes have the numbers that they would have there, if the frame has an order.
    """
    policy, told = Policy.of(policy), Repeating(progress or silent)
    check_possible(policy)
    told(0.0, "reading")
    columns = columns_of(df, {name for name, _ in policy.columns()}, told.beat)
    counting = RowCounter(policy, ignore_others, told.beat)
    counting.wanted(columns)
    what = counted_of(counting, df.sparkSession)
    rows = numbered(selected(df, what.columns))
    parcels = rows.mapInArrow(on_executor(partial(counted_parcels, what=what, row=ROW)), PARCELS_IN_SPARK)
    with counted_on_cluster(parcels, what, told.beat) as cluster:
        told(READ, "learning")
        return _judged(cluster, counting, told)


def check_possible(policy: Policy) -> None:
    """Refuse a policy that needs more than the counts of a table."""
    if policy.presence is not None:
        raise InputError("presence is judged against the rows of a population, which Spark does not read: use memory")


def _judged(cluster: CountedOnCluster, counting: RowCounter, told: Repeating) -> CheckResult:
    cluster.check_cells()
    rows, policy = cluster.counted[0], counting.policy
    if not rows.rows + rows.withheld:
        raise InputError("the table has no rows")
    table = CountedTable.of(rows, policy)
    cluster.warn_of_repeats(counting.identifiers)
    told(LEARNED, "judging")
    judged = check_counted(table, policy)
    if int(judged.sizes.sum()) != len(table):
        raise InputError(CHANGED)
    told(1.0)
    return judged.result


# On the executors: read and count a file, and take the fingerprint of the same bytes


PLACE_BITS = 33  # of the number of a row, below the place of its file


def columns_of_files(batches: Batches, guard: int) -> Iterator[pa.RecordBatch]:
    """Answer with the columns of each file, or with the sentence that says why it cannot be read."""
    with a_reader() as reader:
        for path, content in _contents(batches):
            try:
                yield answered(_read(path, content, reader, guard).clear())
            except InputError as error:
                yield answered(error.sentence)


def counted_files(
    batches: Batches, place_of: Mapping[str, int], what: CountPlan, like: tuple[str, pl.DataFrame], guard: int
) -> Iterator[pa.RecordBatch]:
    """Count the rows of files, each by itself; they must have the columns of the file `like`."""
    with a_reader() as reader:
        for path, content in ((path, content) for path, content in _contents(batches) if path in place_of):
            counting, digest = PartCounter(what), sha256(content)
            try:
                frame = _read(path, content, reader, guard)
                check_alike(_name(path), frame, *like)
                counting.add(frame, place_of[path] << PLACE_BITS)
                file = ReadFile(path, digest, frame.height)
            except NoSpace:
                raise
            except InputError as error:
                file = ReadFile(path, digest, problem=error.sentence)
            yield from counting.parcels(file)


def _read(path: str, content: bytes, reader: Reader, guard: int) -> pl.DataFrame:
    """Return the rows of a file, without the apostrophes that guard them."""
    frame = part(_name(path), content, reader)
    return GUARDS[guard].restored(frame) if guard else frame


def _contents(batches: Batches) -> Iterator[tuple[str, bytes]]:
    for batch in batches:
        for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
            yield path.as_py(), content.as_py()


def _name(path: str) -> str:
    return path.rpartition("/")[2]


# The files of a release: which there are, and what is in them


@dataclass(frozen=True)
class FilesOnSpark:
    """The files in a folder, or one file, by the names that they have there."""

    spark: SparkSession
    path: str
    paths: Mapping[str, str]  # as Spark writes them, by name
    folder: bool

    @classmethod
    def at(cls, spark: SparkSession, path: str, certificate: Path, beat: Beat) -> FilesOnSpark:
        """List the files at a path, its certificate aside; Spark skips names that begin with _ or a dot."""
        try:
            rows = run_job(spark, lambda: _files(spark, path).select("path").collect(), beat)
        except SparkFailed as failed:
            raise (
                InputError("there is no file {path}", path=path) if failed.condition == "PATH_NOT_FOUND" else failed
            ) from None
        found, asked = sorted(row.path for row in rows), _without_scheme(path)
        if [_without_scheme(each) for each in found] == [asked]:
            return cls(spark, path, {_last(found[0]): found[0]}, folder=False)
        own = [form.name for form in forms_of(certificate)] if _same(Path(asked), certificate.parent) else []
        names = {_entry(asked, each): each for each in found}
        return cls(spark, path, {name: each for name, each in names.items() if name not in own}, folder=True)

    def called(self, name: str) -> FilesOnSpark:
        """Return the only file under the name that its certificate has for it."""
        return replace(self, paths=dict.fromkeys([name], *self.paths.values()))

    def fingerprints(self, names: Collection[str], beat: Beat) -> dict[str, str]:
        """Return the SHA-256 of some files."""
        rows = rows_of(self._files().selectExpr("path", "sha2(content, 256) AS digest"), beat)
        digests = {row.path: row.digest for row in rows}
        return {name: digests[path] for name, path in self.paths.items() if name in names and path in digests}

    def columns(self, name: str, guard: int, beat: Beat) -> pl.DataFrame:
        """Return the columns of a Parquet file, without rows; apostrophes that a guard put in are removed."""
        frame = self._files(only=_last(self.paths[name])).select("path", "content")
        rows = rows_of(frame.mapInArrow(on_executor(partial(columns_of_files, guard=guard)), ANSWERS_IN_SPARK), beat)
        columns: pl.DataFrame | str = pickle.loads(rows[0].answer)
        if isinstance(columns, str):
            raise InputError(columns)
        return columns

    def parcels(self, names: Sequence[str], what: CountPlan, like: tuple[str, pl.DataFrame], guard: int) -> DataFrame:
        """Return the parcels of all files, in this order."""
        place_of = {self.paths[name]: place for place, name in enumerate(names)}
        job = partial(counted_files, place_of=place_of, what=what, like=like, guard=guard)
        return self._files().select("path", "content").mapInArrow(on_executor(job), PARCELS_IN_SPARK)

    def _files(self, only: str | None = None) -> DataFrame:
        return _files(self.spark, self.path, only)


def _files(spark: SparkSession, path: str, only: str | None = None) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if only is not None:
        reader = reader.option("pathGlobFilter", re.sub(r"([\\*?\[\]{},^])", r"\\\1", only))
    return reader.load(path)


def _without_scheme(path: str) -> str:
    """Return a path without what says on which file system it is."""
    return re.sub(r"^[a-z][a-z0-9+.-]*:(//[^/]*)?", "", path).rstrip("/").removeprefix("./")


def _entry(folder: str, path: str) -> str:
    """Return what a file, or the folder in which it lies, is called in a folder."""
    return path.partition(f"{folder}/")[2].partition("/")[0]


def _same(folder: Path, other: Path) -> bool:
    return folder.exists() and other.exists() and folder.samefile(other)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


# The verification


FILES_READ = 0.8  # share of the work after which the files are read


def verify(
    spark: SparkSession,
    path: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    signers: Sequence[str | Path] = (),
    required: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Judge a release again and compare with what its certificate says, as `tclose.verify` does.

    `path` is a folder of Parquet files, or one such file, on any file system that Spark reads; the certificate is a
    file of this machine. Executors take the fingerprints (SHA-256) of the very bytes that they judge.
    """
    told = Repeating(progress or silent)
    work = _ClusterVerifier(spark, str(path), Path(certificate), told)
    demands = Demands(tuple(map(load_public_key, signers)), required)
    return verify_with(work.judge, path, certificate, digest=digest, demands=demands, progress=told, find=work.find)


@dataclass(eq=False)
class _ClusterVerifier:
    """Finds the files of a release, and judges them."""

    spark: SparkSession
    path: str
    certificate: Path
    told: Repeating

    def find(self, promised: Certificate) -> CertifiedFiles:
        """Find the files that a certificate is about."""
        certified = promised.files
        found = self.found = FilesOnSpark.at(self.spark, self.path, self.certificate, self.told.beat)
        if not found.folder:
            if len(certified) > 1:
                sentence = f"the certificate is of a table in {len(certified):,} files: name the folder that holds them"
                raise InputError(sentence)
            self.found = found.called(str(certified[0].name))
            return CertifiedFiles(certified, {certified[0].name: Path(self.path)}, promised.guard)
        absent = name_problems(certified, list(found.paths), self._digests)
        data = {file.name: Path(str(file.name)) for file in certified if file.name in found.paths}
        files = CertifiedFiles(certified, data, promised.guard, folder=True, absent=absent)
        if absent:  # then nothing is judged
            self._note_digests(files)
        return files

    def judge(self, promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
        """Judge the published values, and compare with what the certificate says."""
        try:
            judged = self._judged(promised, files, progress)
        except SparkFailed:
            raise
        except (InputError, PolicyError) as error:
            self._note_digests(files)
            return not_judged(error)
        return TableFindings(table_problems(judged, promised.claims, promised.measures, promised), judged.result)

    def _judged(self, promised: Certificate, files: CertifiedFiles, progress: Progress) -> JudgedCounts:
        names = [str(file.name) for file in promised.files]
        columns = self.found.columns(names[0], files.guard, self.told.beat)
        counting = RowCounter(promised.policy, False, self.told.beat)
        counting.wanted(columns)
        what = counted_of(counting, self.spark)
        parcels = self.found.parcels(names, what, (names[0], columns), files.guard)
        with counted_on_cluster(parcels, what, self.told.beat) as cluster:
            self._note_files(files, cluster.facts)
            cluster.check_cells()
            table = CountedTable.of(cluster.counted[0], promised.policy)
            cluster.warn_of_repeats(counting.identifiers)
            stretch(progress, FILES_READ, 1.0)(0.0, "judging")
            return judge_counted(table, promised.policy)

    def _note_files(self, files: CertifiedFiles, facts: list[PartFacts]) -> None:
        """Compare the fingerprints and the rows of all files with the certificate; refuse one that cannot be read."""
        read = {part.file.path: part.file for part in facts if part.file is not None}
        for file in files.certified:
            found = read[self.found.paths[str(file.name)]]
            files.note_digest(file, found.sha256)
            if found.problem is not None:
                raise InputError(found.problem)
            files.note_rows(file, found.rows)

    def _note_digests(self, files: CertifiedFiles) -> None:
        """Compare the fingerprints of files that were not read."""
        unread: dict[str, CertifiedFile] = {
            str(file.name): file for file in files.certified if files.has(file) and file.name not in files.changed
        }
        for name, digest in self._digests(list(unread)).items() if unread else ():
            files.note_digest(unread[name], digest)

    def _digests(self, names: Sequence[str]) -> dict[str, str]:
        return self.found.fingerprints(names, self.told.beat)
