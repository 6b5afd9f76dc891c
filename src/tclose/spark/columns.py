"""The columns of a Spark frame: their names and types, and some of them under safe names, each row with its number."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from tclose.errors import InputError
from tclose.spark.jobs import run
from tclose.table.frames import TWICE
from tclose.types import Beat

ROW = "row"


def columns_of(frame: DataFrame, named: Collection[str], beat: Beat) -> pl.DataFrame:
    """Return the columns of a frame, without rows, typed as Spark hands them over; those not named have no type."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise InputError(TWICE)
    wanted = [name for name in names if name in named]
    table = run(frame.sparkSession, lambda: selected(frame, wanted).limit(0).toArrow(), beat)
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
