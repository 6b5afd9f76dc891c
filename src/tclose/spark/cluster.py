"""How work reaches a cluster: functions for the executors, jobs with progress, sessions, and the columns of a frame.

A function travels to the executors in a closure, which finds tclose there and keeps to its cores. Progress is reported
while jobs run, a cancelled job is stopped, and failures are one sentence.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote
from uuid import uuid4

import polars as pl
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from tclose.errors import InputError
from tclose.messages import say
from tclose.table.frames import TWICE
from tclose.table.sources.folder import difference
from tclose.types import Beat
from tclose.words import legible

if TYPE_CHECKING:
    import pyarrow as pa

# Work on executors


Batches = Iterator["pa.RecordBatch"]
NOT_FOUND = "tclose-is-not-on-the-executors"
OTHER_VERSION = "tclose-is-another-version-on-the-executors"


def settle() -> None:
    """Let no later collection of garbage look at what was loaded, if anything was since the last time.

    Spark collects garbage after every task, which takes 0.1 s with all the objects that numba has.
    """
    global _loaded
    if len(sys.modules) > _loaded:
        _loaded = len(sys.modules)
        gc.collect()
        gc.freeze()


_loaded = 0  # modules, when garbage was collected last


def on_executor(work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow` that does some work.

    The function travels by value and loads tclose only when it is called: the libraries that tclose loads count their
    threads once, when they are loaded, and Spark says in OMP_NUM_THREADS how many a task may have.
    """
    packed, expected = pickle.dumps(work), version("tclose")
    not_found, other_version = NOT_FOUND, OTHER_VERSION

    def run(batches: Batches) -> Batches:
        import os
        import pickle
        from importlib.metadata import PackageNotFoundError, version

        threads = os.environ.get("OMP_NUM_THREADS", "1")
        for name in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "TCLOSE_THREADS"):
            os.environ.setdefault(name, threads)
        try:
            found = version("tclose")
        except PackageNotFoundError:
            raise RuntimeError(not_found) from None
        if found != expected:
            raise RuntimeError(other_version)
        yield from pickle.loads(packed)(batches)
        from tclose.spark.cluster import settle

        settle()

    return run


# Jobs


Answer = TypeVar("Answer")
BEAT_SECONDS = 0.25
HOW = "docs/large-tables.md says how to bring it there"


class SparkFailed(InputError):
    """Spark could not do its part; `condition` is its own name for what went wrong."""

    def __init__(self, condition: str, text: str) -> None:
        template = "Spark could not do its part ({condition}): its log says why"
        super().__init__(template, condition=condition, detail=text)
        self.condition = condition


def run_job(spark: SparkSession, action: Callable[[], Answer], beat: Beat) -> Answer:
    """Wait for an action; what `beat` raises meanwhile cancels its jobs."""
    tag, answers, errors = f"tclose-{uuid4().hex}", list[Answer](), list[Exception]()

    def act() -> None:
        spark.addTag(tag)
        try:
            answers.append(action())
        except Exception as error:
            errors.append(error)
        finally:
            spark.removeTag(tag)

    thread = threading.Thread(target=inheritable_thread_target(spark)(act), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(BEAT_SECONDS)
            beat()
    except BaseException:
        _stop(spark, tag, thread)
        raise
    if errors:
        raise _translated(errors[0]) from None
    return answers[0]


def rows_of(frame: DataFrame, beat: Beat) -> list[Row]:
    """Return the rows of a small frame."""
    return run_job(frame.sparkSession, frame.collect, beat)


def each_row(frame: DataFrame, beat: Beat) -> Iterator[Row]:
    """Yield the rows of a large frame, one Spark partition after the other."""
    rows = run_job(frame.sparkSession, frame.toLocalIterator, beat)
    while (row := run_job(frame.sparkSession, lambda: next(rows, None), beat)) is not None:
        yield row


def _stop(spark: SparkSession, tag: str, thread: threading.Thread) -> None:
    """Cancel the jobs of a thread.

    Without Spark Connect, only the thread itself could name them. So all jobs of the session are cancelled, as PySpark
    does by itself after Ctrl-C.
    """
    while thread.is_alive():
        if not spark.interruptTag(tag):
            spark.interruptAll()
        thread.join(BEAT_SECONDS)


def _translated(error: Exception) -> Exception:
    """Return what to tell people: Spark's own messages may quote cells, so they are a detail."""
    of_java = type(error).__module__.startswith("py4j.")  # a library that Spark Connect does without
    if not (of_java or isinstance(error, PySparkException)):
        return error
    text = str(error)
    if NOT_FOUND in text:
        return InputError("the Python of the executors has no tclose: {how}", how=say(HOW))
    if OTHER_VERSION in text:
        return InputError("the executors have another version of tclose than the driver: {how}", how=say(HOW))
    return SparkFailed(condition_of(error), text)


def condition_of(error: Exception) -> str:
    """Return Spark's own name for what went wrong, which quotes no cells."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition or type(error).__name__


# A session of our own, for the command line; in Python, the session is always the user's


SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # `python -m pyspark.worker` would run modules of the current folder
}
REMOTE = "sc://"
FOOTERS_AT_ONCE = 8  # files of a folder whose columns are read side by side


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """Open a session on a cluster, and close it in the end; an address that begins with sc:// is Spark Connect's."""
    builder = SparkSession.builder.appName("tclose")
    if master.startswith(REMOTE):
        builder = builder.remote(master)
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.master(master)
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # of Java, of the network, of Spark
        raise InputError(
            "there is no session on {master} ({condition_of})",
            master=master,
            condition_of=condition_of(error),
            detail=str(error),
        ) from None
    try:
        yield spark
    finally:
        spark.stop()


def table_at(spark: SparkSession, path: str) -> DataFrame:
    """Return the table in a Parquet file, or in a folder of such files."""
    spark.conf.set("spark.sql.caseSensitive", "true")  # a table may have the columns age and AGE
    table = _read(spark, path, path)
    _check_alike(spark, table)
    return table


def _read(spark: SparkSession, path: str, name: str) -> DataFrame:
    try:
        return spark.read.parquet(path)
    except Exception as error:  # of Spark, or of Java where a file is none of Parquet
        if condition_of(error) == "PATH_NOT_FOUND":
            raise InputError("there is no file {name}", name=name) from None
        raise InputError(
            "Spark cannot read {name} as Parquet ({condition_of})",
            name=name,
            condition_of=condition_of(error),
            detail=str(error),
        ) from None


def _check_alike(spark: SparkSession, table: DataFrame) -> None:
    """Refuse files whose columns are not those of the first file: Spark would fill what one of them lacks."""
    files = sorted(table.inputFiles())
    if len(files) < 2:
        return
    names = [unquote(file.rpartition("/")[2]) for file in files]
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as threads:
        schemas = threads.map(lambda file, name: _read(spark, unquote(file), name).schema, files, names)
        kinds = ([(field.name, field.dataType.simpleString()) for field in schema] for schema in schemas)
        first = next(kinds)
        for name, columns in zip(names[1:], kinds, strict=True):
            if columns != first:
                raise InputError(
                    "{name} and {name_2} {difference}",
                    name=legible(name),
                    name_2=legible(names[0]),
                    difference=difference(columns, first),
                )


# The columns of a frame: names and types, and some of them under safe names, each row with its number


ROW = "row"


def columns_of(frame: DataFrame, named: Collection[str], beat: Beat) -> pl.DataFrame:
    """Return the columns of a frame, without rows, typed as Spark hands them over; those not named have no type."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise InputError(TWICE)
    wanted = [name for name in names if name in named]
    table = run_job(frame.sparkSession, lambda: selected(frame, wanted).limit(0).toArrow(), beat)
    types = dict(zip(wanted, pl.DataFrame(pl.from_arrow(table)).dtypes, strict=True))
    return pl.DataFrame(schema={name: types.get(name, pl.Null()) for name in names})


def selected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return some columns, which get their places as names.

    All columns are renamed by position first: Spark looks names up without regard to case, and dots mean parts of one.
    """
    places = [f"c{place}" for place in range(len(frame.columns))]
    place_of = dict(zip(frame.columns, places, strict=True))
    by_place = frame.toDF(*places)
    return by_place.select(*(F.col(place_of[name]).alias(str(key)) for key, name in enumerate(names)))


def numbered(frame: DataFrame) -> DataFrame:
    """Add the number of each row: rows of a partition count on by one, and later partitions have larger numbers."""
    return frame.withColumn(ROW, F.monotonically_increasing_id())
