"""The files of a release on any file system that Spark reads: which there are, and what is in them.

Spark's source `binaryFile` hands a file over as a whole, so that what is counted is what its fingerprint was taken of.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from tclose.errors import InputError
from tclose.release.envelope import forms_of
from tclose.spark.executors import on_executor
from tclose.spark.jobs import SparkFailed, rows_of, run
from tclose.spark.parcels import ANSWERS_IN_SPARK, PARCELS_IN_SPARK, WhatIsCounted
from tclose.spark.published import columns_of_files, counted_files
from tclose.types import Beat


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
            rows = run(spark, lambda: _files(spark, path).select("path").collect(), beat)
        except SparkFailed as failed:
            raise InputError(f"there is no file {path}") if failed.condition == "PATH_NOT_FOUND" else failed from None
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

    def columns(self, name: str, beat: Beat) -> pl.DataFrame:
        """Return the columns of a Parquet file, without rows."""
        frame = self._files(only=_last(self.paths[name])).select("path", "content")
        rows = rows_of(frame.mapInArrow(on_executor(columns_of_files), ANSWERS_IN_SPARK), beat)
        columns: pl.DataFrame | str = pickle.loads(rows[0].answer)
        if isinstance(columns, str):
            raise InputError(columns)
        return columns

    def parcels(self, names: Sequence[str], what: WhatIsCounted, like: tuple[str, pl.DataFrame]) -> DataFrame:
        """Return the parcels of all files, in this order."""
        place_of = {self.paths[name]: place for place, name in enumerate(names)}
        job = partial(counted_files, place_of=place_of, what=what, like=like)
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
