"""The files of a release that is verified: whether they are those that were certified, and what they hold.

Parts of a table are read one after the other, each once: what is judged is what the fingerprint was taken of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.recode.guard import GUARDS
from tclose.release.certificate import CertifiedFile
from tclose.release.files import sha256
from tclose.table.sources import read_bytes
from tclose.table.sources.door import Reader, a_reader, parse_with
from tclose.table.sources.folder import joined, part
from tclose.table.spill import temporary_copy
from tclose.types import Beat
from tclose.words import counted, legible

CHANGED = "the release is not the file that was certified: its SHA-256 differs"


@dataclass(frozen=True, eq=False)
class FilesOf:
    """The files of a release, and how to read them; what is wrong about one is noted when it is read."""

    certified: Sequence[CertifiedFile]
    data: Mapping[str | None, bytes | Path]  # by the name that the certificate gives them
    guard: int  # the rule of the guard against formulas, 0 for none
    folder: bool = False  # whose files are parts of one table
    absent: Sequence[str] = ()  # what is wrong about the files that are there, and about those that are not
    changed: dict[str | None, str] = field(default_factory=dict)
    miscounted: dict[str | None, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether a table of parts has all of its parts, and no others."""
        return not (self.folder and self.absent)

    def has(self, file: CertifiedFile) -> bool:
        """Tell whether a file is there."""
        return file.name in self.data

    def frame(self, *files: CertifiedFile) -> pl.DataFrame:
        """Read a published table from its file, or from its parts, without the apostrophes that guard it."""
        with a_reader() as reader:
            names = [str(file.name) for file in files]
            frame = joined(names, (self._unguarded(self._read(file, reader)) for file in files))
        if not frame.height:
            raise InputError("the table has a header but no rows")
        return frame

    def problems(self) -> list[str]:
        """Say what is wrong about the files; those that nobody has read are read for it."""
        for file in self.certified:
            if self.has(file) and file.name not in self.changed:
                self._content(file)
        found = {name: f"{legible(name)}: " if name and self._named else "" for name in self.changed}
        notes = (
            f"{found[name]}{note}" for notes in (self.changed, self.miscounted) for name, note in notes.items() if note
        )
        return [*self.absent, *notes]

    @property
    def _named(self) -> bool:
        return self.folder or len(self.certified) > 1

    def _content(self, file: CertifiedFile) -> bytes:
        """Return a file's bytes, compared with its fingerprint."""
        found = self.data[file.name]
        data = read_bytes(found) if isinstance(found, Path) else found
        self.note_digest(file, sha256(data))
        return data

    def note_digest(self, file: CertifiedFile, digest: str) -> None:
        """Compare the fingerprint of a file with what the certificate says."""
        self.changed[file.name] = self.changed.get(file.name, "") if digest == file.sha256 else CHANGED

    def note_rows(self, file: CertifiedFile, rows: int) -> None:
        """Compare how many rows a file has with what the certificate says."""
        if file.rows is not None and file.rows != rows:
            self.miscounted[file.name] = f"the file has {counted(rows, 'row')}, the certificate says {file.rows:,}"

    @contextmanager
    def copied(self, file: CertifiedFile, beat: Beat) -> Iterator[Path]:
        """Hold a private copy of a file, which is compared with its fingerprint while it is copied.

        Nobody else writes to the copy. So what is judged is what the fingerprint was taken of, though the file may be
        too large for memory, and may change meanwhile.
        """
        with temporary_copy(Path(str(self.data[file.name])), beat) as (path, digest):
            self.note_digest(file, digest)
            yield path

    def _read(self, file: CertifiedFile, reader: Reader) -> pl.DataFrame:
        data = self._content(file)
        frame = part(str(file.name), data, reader) if self.folder else parse_with(reader, data)
        self.note_rows(file, frame.height)
        return frame

    def _unguarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not self.guard:
            return frame
        guard = GUARDS[self.guard]
        if missed := guard.misses(frame):
            raise InputError(f"{counted(missed, 'cell')} not as the guard against formulas writes them")
        return guard.unguarded(frame)
