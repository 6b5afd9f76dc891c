"""What executors do with the files of a release: read, count, and take the fingerprint of the same bytes.

Rows are read as `tclose.verify` reads them: another process tries first whether a file is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
import pyarrow as pa

from tclose.errors import InputError
from tclose.release.files import sha256
from tclose.spark.executors import Batches
from tclose.spark.parcels import PartCounting, ReadFile, WhatIsCounted, answered
from tclose.table.sources.door import a_reader
from tclose.table.sources.folder import check_alike, part
from tclose.table.spill import NoSpace

PLACE_BITS = 33  # of the number of a row, below the place of its file


def columns_of_files(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Answer with the columns of each file, or with the sentence that says why it cannot be read."""
    with a_reader() as reader:
        for path, content in _contents(batches):
            try:
                yield answered(part(_name(path), content, reader).clear())
            except InputError as error:
                yield answered(error.sentence)


def counted_files(
    batches: Batches, place_of: Mapping[str, int], what: WhatIsCounted, like: tuple[str, pl.DataFrame]
) -> Iterator[pa.RecordBatch]:
    """Count the rows of files, each by itself; they must have the columns of the file `like`."""
    with a_reader() as reader:
        for path, content in ((path, content) for path, content in _contents(batches) if path in place_of):
            counting, digest = PartCounting(what), sha256(content)
            try:
                frame = part(_name(path), content, reader)
                check_alike(_name(path), frame, *like)
                counting.add(frame, place_of[path] << PLACE_BITS)
                file = ReadFile(path, digest, frame.height)
            except NoSpace:
                raise
            except InputError as error:
                file = ReadFile(path, digest, problem=error.sentence)
            yield from counting.parcels(file)


def _contents(batches: Batches) -> Iterator[tuple[str, bytes]]:
    for batch in batches:
        for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
            yield path.as_py(), content.as_py()


def _name(path: str) -> str:
    return path.rpartition("/")[2]
