"""The files of a release that is written bucket by bucket: a folder of Parquet files, or one file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.release.files import Pending, write_flushed
from tclose.release.folders import PendingFolder, part_names
from tclose.release.formats import CSV, PARQUET, OutputFormat, appended_csv, format_of, write_table, written
from tclose.release.layouts import WrittenFile
from tclose.release.naming import file_name
from tclose.table.batches import Part
from tclose.types import Beat

BLOCK = 1 << 22  # bytes that are hashed at a time
GROUP_ROWS = 1 << 18  # of a row group of one Parquet file


class ReleaseFiles:
    """Where the buckets go."""

    def __init__(self, pending: Pending, kind: OutputFormat, *, is_folder: bool) -> None:
        self.pending, self.kind, self.is_folder = pending, kind, is_folder
        self.most = 1  # files, at most
        self._written: list[tuple[Path, int]] = []  # each file, and its rows

    @classmethod
    def of(cls, out: Path, part_rows: int | None, *, force: bool) -> ReleaseFiles:
        """Name the files; a format that cannot be written bucket by bucket is refused."""
        if part_rows is not None:
            return cls(PendingFolder(out), PARQUET, is_folder=True)
        kind = format_of(out)
        if kind not in (CSV, PARQUET):
            raise InputError(
                f"{kind.name} files are written in one piece: write .parquet or .csv, or use the engine memory"
            )
        return cls(Pending(out, force=force), kind, is_folder=False)

    def lie_in(self, folder: Path) -> None:
        """Let everything lie in a folder until it gets its name."""
        self.pending.path = folder / "release"

    def expect(self, buckets: int) -> None:
        """Take note of how many buckets there are at most, since the names of files have as many digits."""
        self.most = buckets

    def write(self, frame: pl.DataFrame) -> None:
        """Write one more bucket."""
        number = len(self._written)
        if isinstance(self.pending, PendingFolder):
            path = self.pending.write_file(part_names(self.most)[number], partial(write_table, frame, self.kind))
        elif self.kind is PARQUET:
            path = self.pending.path.with_name(f"bucket-{number}")
            write_flushed(path, partial(write_table, frame, self.kind))
        else:
            path = self.pending.path
            path.touch(0o600)
            with path.open("ab") as file:
                (appended_csv if number else partial(write_table, kind=CSV))(frame, file=file)
        self._written.append((path, frame.height))

    def finish(self, beat: Beat) -> None:
        """Put the buckets of one Parquet file together, and let one file reach the disk."""
        if self.kind is PARQUET and not self.is_folder:
            self._put_together(beat)
        if not self.is_folder:
            with self.pending.path.open("rb+") as file:
                os.fsync(file.fileno())

    def _put_together(self, beat: Beat) -> None:
        tables = [pl.scan_parquet(path, glob=False, hive_partitioning=False) for path, _ in self._written]
        beat()
        whole, path = pl.concat(tables), self.pending.path
        path.touch(0o600)
        written(PARQUET, lambda: whole.sink_parquet(path, row_group_size=GROUP_ROWS, maintain_order=True))
        for path, _ in self._written:
            path.unlink()

    def parts(self) -> list[Part]:
        """Return the finished files, for their judge."""
        return [Part(path.name, path.stat().st_size, partial(_itself, path)) for path, _ in self._files()]

    def certified(self) -> list[WrittenFile]:
        """Return the names, the rows and the fingerprints of the finished files."""
        named = [path.name for path, _ in self._files()] if self.is_folder else [self.pending.target.name]
        files = zip(named, self._files(), strict=True)
        return [WrittenFile(file_name(name), rows, _sha256(path)) for name, (path, rows) in files]

    def _files(self) -> list[tuple[Path, int]]:
        return self._written if self.is_folder else [(self.pending.path, sum(rows for _, rows in self._written))]


@contextmanager
def _itself(path: Path) -> Iterator[Path]:
    yield path


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
