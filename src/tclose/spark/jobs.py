"""Spark's jobs: progress is reported while they run, whoever cancels stops them, and failures are one sentence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import uuid4

from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from tclose.errors import InputError
from tclose.spark.executors import NOT_FOUND, OTHER_VERSION
from tclose.types import Beat

Answer = TypeVar("Answer")
BEAT_SECONDS = 0.25
HOW = "docs/large-tables.md says how to bring it there"


class SparkFailed(InputError):
    """Spark could not do its part; `condition` is its own name for what went wrong."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(f"Spark could not do its part ({condition}): its log says why", detail=text)
        self.condition = condition


def run(spark: SparkSession, action: Callable[[], Answer], beat: Beat) -> Answer:
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
    return run(frame.sparkSession, frame.collect, beat)


def each_row(frame: DataFrame, beat: Beat) -> Iterator[Row]:
    """Yield the rows of a large frame, one Spark partition after the other."""
    rows = run(frame.sparkSession, frame.toLocalIterator, beat)
    while (row := run(frame.sparkSession, lambda: next(rows, None), beat)) is not None:
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
        return InputError(f"the Python of the executors has no tclose: {HOW}")
    if OTHER_VERSION in text:
        return InputError(f"the executors have another version of tclose than the driver: {HOW}")
    return SparkFailed(condition_of(error), text)


def condition_of(error: Exception) -> str:
    """Return Spark's own name for what went wrong, which quotes no cells."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition or type(error).__name__
