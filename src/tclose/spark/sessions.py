"""A session of our own, for the command line; in Python, the session is always yours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tclose.errors import InputError
from tclose.spark.jobs import condition_of

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # `python -m pyspark.worker` would run modules of the current folder
}
REMOTE = "sc://"


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
        raise InputError(f"there is no session on {master} ({condition_of(error)})", detail=str(error)) from None
    try:
        yield spark
    finally:
        spark.stop()


def table_at(spark: SparkSession, path: str) -> DataFrame:
    """Return the table in a Parquet file, or in a folder of such files."""
    try:
        return spark.read.parquet(path)
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise InputError(f"there is no file {path}") from None
        raise InputError(f"Spark cannot read {path} as Parquet ({condition_of(error)})", detail=str(error)) from None
