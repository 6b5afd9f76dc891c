"""The files that the tables of a release are written to: one for each table, or a folder of parts for the only one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from tclose.release.files import Pending
from tclose.release.folders import PendingFolder, check_folder, part_names
from tclose.release.formats import PARQUET, OutputFormat, format_of, write_table
from tclose.release.layouts import sibling
from tclose.release.naming import check_names
from tclose.release.targets import check_parts
from tclose.table.sources.base import Labels


@dataclass(frozen=True)
class FinishedFile:
    """A file that is written: the name that it will have, and where it lies meanwhile."""

    name: str
    path: Path


@dataclass(frozen=True)
class TableFiles:
    """Where the tables go, by the marks of their layout."""

    marks: tuple[str, ...]
    files: Sequence[Path]  # one for each table; none where there is a folder
    folder: PendingFolder | None
    part_rows: int
    kind: OutputFormat

    @classmethod
    def of(cls, path: Path, marks: tuple[str, ...], part_rows: int | None) -> TableFiles:
        """Name the files; refuse names that their certificate could not repeat."""
        if part_rows is not None:
            check_parts(part_rows, len(marks))
            check_folder(path)
            return cls(marks, (), PendingFolder(path), part_rows, PARQUET)
        kind, files = format_of(path), [sibling(path, mark) for mark in marks]
        check_names(files)
        return cls(marks, files, None, 0, kind)

    @property
    def targets(self) -> Mapping[str, Path | Pending]:
        """What gets its name in the end; the first table comes last."""
        if self.folder is not None:
            return {"release": self.folder}
        return {f"release{mark}": file for mark, file in reversed([*zip(self.marks, self.files, strict=True)])}

    def write(
        self, files: Mapping[str, Pending], frames: Iterable[pl.DataFrame], labels: Labels | None = None
    ) -> list[list[FinishedFile]]:
        """Write the tables, with the labels that their columns came with; return the files of each."""
        if self.folder is not None:
            (frame,) = frames
            return [self._parts(self.folder, frame)]
        finished = []
        for mark, frame in zip(self.marks, frames, strict=True):
            file = files[f"release{mark}"]
            file.write(partial(write_table, frame, self.kind, labels=labels))
            finished.append([FinishedFile(file.target.name, file.path)])
        return finished

    def _parts(self, folder: PendingFolder, frame: pl.DataFrame) -> list[FinishedFile]:
        parts = list(frame.iter_slices(self.part_rows))
        return [
            FinishedFile(name, folder.write_file(name, partial(write_table, part, self.kind)))
            for name, part in zip(part_names(len(parts)), parts, strict=True)
        ]
