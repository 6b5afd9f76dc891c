"""A release that lies on the executors of a cluster: it can be looked at, and written as a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Self

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from tclose.engine.in_parts.finishing import ReleaseInParts, record_of
from tclose.errors import InputError, InternalError
from tclose.release.certificate import Certificate
from tclose.release.endorsement import NOTHING_ADDED, Endorsement
from tclose.release.files import Pending, check_targets, pending, publish, sha256
from tclose.release.folders import PendingFolder, check_folder
from tclose.release.formats import PARQUET, written
from tclose.spark.executors import on_executor
from tclose.spark.jobs import each_row
from tclose.spark.row_parcels import ROWS, files_of, published_rows
from tclose.types import Progress, Repeating, silent


@dataclass(frozen=True, eq=False)
class SparkRelease(ReleaseInParts):
    """A release that was made and judged; its files are bytes on the executors until it is closed."""

    finished: DataFrame = field(repr=False)
    names: Mapping[int, str] = field(repr=False)  # of the file of each bucket
    columns: pl.DataFrame = field(repr=False)  # that are published, without rows
    original: StructType = field(repr=False)
    seed: int = field(repr=False)

    @property
    def table(self) -> DataFrame:
        """The published rows, as a Spark frame; its order says nothing about the original."""
        fields = [
            StructField(name, StringType() if dtype == pl.String else self.original[name].dataType)
            for name, dtype in self.columns.schema.items()
        ]
        return self._files.mapInArrow(on_executor(published_rows), StructType(fields))

    def write(
        self,
        path: str | Path,
        *,
        certificate: str | Path | None = None,
        record: str | Path | None = None,
        envelope: str | Path | None = None,
        endorsement: Endorsement = NOTHING_ADDED,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Certificate:
        """Write the release as a new folder of Parquet files on this machine, and what proves it beside.

        The bytes are those that were judged. The folder appears complete or not at all, together with the certificate
        and the record (the seed), if they are asked for. The `endorsement` adds what the steward says to the
        certificate, and its signatures to `envelope`.
        """
        others = {"certificate": certificate, "record": record, "envelope": envelope}
        paths = {what: Path(file) for what, file in others.items() if file is not None}
        if "://" in str(path):
            raise InputError(
                f"{path} is on no file system of this machine: write the release here, and copy the folder"
            )
        check_folder(Path(path))
        check_targets(list(paths.values()), force=force)
        told = Repeating(progress or silent)
        folder = PendingFolder(Path(path))
        certified = endorsement.endorsed(self.certificate, self.seed)
        contents = endorsement.contents(certified, record_of(self.seed))
        targets: dict[str, Path | Pending] = {**paths, "release": folder}
        with pending(targets, private={"record"}, force=force) as held:
            self._fill(folder, told)
            for what in paths:
                held[what].write(partial(_put, contents[what]))
            publish(held[what] for what in (*paths, "release"))
        return certified

    def _fill(self, folder: PendingFolder, told: Repeating) -> None:
        """Write the files, and compare what was written with what was judged."""
        judged, done = {file.name: file.sha256 for file in self.certificate.files}, 0
        for row in each_row(self._files, told.beat):
            name = self.names[row.place]
            written(PARQUET, partial(folder.write_file, name, partial(_put, files_of(row.payload))))
            if sha256((folder.path / name).read_bytes()) != judged[name]:
                raise InternalError("a file is not what was judged, so nothing was released")
            done += row.first
            told(done / self.result.rows, "writing")
        if set(folder.names) != set(judged):
            raise InternalError("files of the release are missing on the executors, so nothing was released")

    def close(self) -> None:
        """Give back the space on the executors; afterwards, the release can no longer be looked at or written."""
        self.finished.unpersist()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _files(self) -> DataFrame:
        return self.finished.filter(F.col("kind") == ROWS)


def _put(data: bytes, file: BinaryIO) -> None:
    file.write(data)
