"""What is written and where: the files of a release, those beside it, and what the steward adds to them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, date, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.frame import NEWEST
from tclose.release.certificate import Certificate, ReleaseFormat
from tclose.release.commitments import CommitmentKeys, Commitments, StewardClaims, is_committable, states_of
from tclose.release.description_formats import description_files
from tclose.release.files import Pending, PendingFolder, check_folder, check_targets, part_names
from tclose.release.formats import PARQUET, OutputFormat, format_of, write_table
from tclose.release.layouts import possible_marks, sibling
from tclose.release.signatures import Envelope, SigningKey, envelope_path, statement_of
from tclose.table.disk_files import changed
from tclose.table.sources.base import Labels
from tclose.table.sources.databases import files_of, name_of
from tclose.types import Beat, still
from tclose.words import plain


@dataclass(frozen=True)
class CommittedTable:
    """A table to which a certificate will commit, as it was before the work began."""

    table: str | Path
    source: str
    states: list[tuple[str, int, int]] = field(repr=False)

    def unchanged(self) -> str:
        """Return the commitment; refuse a table that was changed meanwhile."""
        if states_of(self.table) != self.states:
            raise InputError(changed("the table"))
        return self.source


@dataclass(frozen=True)
class Endorsement:
    """What is added to a certificate that was found to be true; without anything, the certificate stays as it is."""

    valid_until: date | None = None
    previous: tuple[str, ...] = ()
    signing_key: SigningKey | None = None
    commit: bool = False  # asked for; who signs and keeps a record commits, too
    sources: tuple[Path, ...] = ()  # files that were read for it
    keys: CommitmentKeys | None = field(default=None, repr=False)
    committed: CommittedTable | None = None

    def files(self, certificate: str | Path | None) -> dict[str, Path]:
        """Return the files to write beside the certificate, by name; without a certificate, nothing can be added."""
        asked = self.valid_until is not None or self.previous or self.signing_key is not None or self.commit
        if asked and certificate is None:
            raise InputError(
                "signatures, last days, earlier certificates and commitments need a certificate: add --certificate FILE"
            )
        if certificate is None or self.signing_key is None:
            return {}
        return {"envelope": envelope_path(certificate)}

    def begun(self, table: Any, *, record: bool, created: str, beat: Beat = still) -> Endorsement:
        """Commit to the table before it is read, where a record keeps the keys, and check the day."""
        if self.valid_until is not None and self.valid_until.isoformat() < created[:10]:
            raise InputError(
                "the certificate would have expired already: {valid_until} is past",
                valid_until=self.valid_until.isoformat(),
            )
        if self.commit and not record:
            raise InputError("only the record can open commitments later: add --record FILE")
        if self.commit and not is_committable(table):
            raise InputError("commitments need a table in a file: nobody could show standard input or a frame again")
        if not record or not (self.commit or self.signing_key):
            return self
        keys = CommitmentKeys.new()
        if not is_committable(table):
            return replace(self, keys=keys)
        states = states_of(table)
        return replace(self, keys=keys, committed=CommittedTable(table, keys.of_source(table, beat), states))

    def endorsed(self, certificate: Certificate, seed: int) -> Certificate:
        """Return the certificate with what is added to it."""
        kept = None
        if self.keys is not None:
            source = None if self.committed is None else self.committed.unchanged()
            kept = Commitments(self.keys.of_seed(seed), source)
        previous = (*certificate.steward.previous, *self.previous)  # a release that was continued names the one before
        added = StewardClaims(self.valid_until, previous, kept)
        return certificate if added == certificate.steward else replace(certificate, steward=added)

    def contents(self, certificate: Certificate, record: bytes) -> Mapping[str, bytes]:
        """Return the bytes of the certificate, of the record and, if somebody signs, of the envelope."""
        contents = {"certificate": certificate.to_bytes()}
        contents["record"] = record if self.keys is None else self.keys.in_record(record)
        if self.signing_key is not None:
            statement = statement_of({**certificate.to_dict(), "digest": certificate.digest})
            contents["envelope"] = Envelope(statement).signed_with(self.signing_key).to_bytes()
        return contents


NOTHING_ADDED = Endorsement()


# Names of a table, a release, the time and the tool


DEVICES = ("dev", "proc")  # where standard input and pipes have names such as /dev/fd/63, which say nothing


def tool() -> str:
    """Return the name and version of what makes releases."""
    return f"tclose {version('tclose')}"


def created() -> str:
    """Return the time in UTC, to the second; SOURCE_DATE_EPOCH replaces it, so that a run can be repeated exactly."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError("SOURCE_DATE_EPOCH must be a whole number of seconds since 1970") from None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def file_name(path: str | Path) -> str:
    r"""Return a file's name without its path, control characters spelled out.

    >>> file_name("/home/ann/patients.csv"), file_name("C:\\data\\t.csv"), file_name("a\x1b.csv")
    ('patients.csv', 't.csv', 'a\\x1b.csv')
    """
    return plain(re.split(r"[/\\]", str(path))[-1])


def check_names(paths: Sequence[Path]) -> None:
    """Refuse names of several tables that their certificate could not repeat: readers find the tables by them."""
    if len(paths) > 1 and any(set(path.name) & set("\\:") or plain(path.name) != path.name for path in paths):
        raise InputError(
            "several tables are found by their names: name the release without : and \\ and in plain letters"
        )


def table_name(table: Any) -> str | None:
    """Return the name of a table that is given as a file or in a database; a frame and standard input have none.

    >>> table_name("data/patients.csv"), table_name("data/parts/"), table_name("-"), table_name("/dev/stdin")
    ('patients.csv', 'parts', None, None)
    """
    if not isinstance(table, str | Path) or str(table) == "-":
        return None
    table = name_of(table)
    device = len(parts := Path(table).parts) > 1 and parts[0] == "/" and parts[1] in DEVICES
    return None if device else file_name(Path(table)) or None


def check_clock() -> None:
    """Refuse a SOURCE_DATE_EPOCH that is no time, on which numpy would fail, too; an empty one counts as none."""
    if not os.environ.get("SOURCE_DATE_EPOCH", "0"):
        del os.environ["SOURCE_DATE_EPOCH"]
    elif "SOURCE_DATE_EPOCH" in os.environ:
        created()


# What is asked to be written


FILE_ROWS = 100_000  # of each file of a folder, about, if nothing else is asked for


def unrecorded(default: Any = MISSING) -> Any:
    """Declare what changes no byte of the release; a record keeps all other settings of an output."""
    return field(default=default, metadata={"recorded": False})


@dataclass(frozen=True, kw_only=True)
class Output:
    """The files of a release; those that are None are not written."""

    out: str | Path = unrecorded()
    certificate: str | Path | None = unrecorded(None)
    record: str | Path | None = unrecorded(None)  # the seed, for the steward's eyes only
    report: str | Path | None = unrecorded(None)  # a page
    bound_proof: str | Path | None = unrecorded(None)
    guard_formulas: bool = False  # put an apostrophe before text that a spreadsheet would run
    release_format: ReleaseFormat = "text"
    part_rows: int | None = None  # of each file, where `out` is a new folder of Parquet files
    folder: bool = unrecorded(False)  # whether `out` is such a folder where no number of rows is given
    describe: Sequence[str] = unrecorded(())  # formats of descriptions
    endorsement: Endorsement = unrecorded(NOTHING_ADDED)  # what the steward adds to the certificate
    envelope: str | Path | None = unrecorded(None)  # the certificate with its signatures, if not beside it
    force: bool = unrecorded(True)  # overwrite existing files

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings that the bytes of the release depend on, by the names that a record and a request have."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.metadata.get("recorded", True)}

    @property
    def guard(self) -> int:
        """The rule by which text gets apostrophes; 0 for none."""
        return NEWEST if self.guard_formulas else 0

    @property
    def file_rows(self) -> int | None:
        """How many rows each file of a folder has; None where the release is no folder."""
        return FILE_ROWS if self.folder and self.part_rows is None else self.part_rows

    @property
    def descriptions(self) -> dict[str, Path]:
        """The files that describe the release."""
        return description_files(Path(self.out), self.describe)

    @property
    def beside(self) -> dict[str, Path]:
        """The files beside the release, by name."""
        named = {"record": self.record, "bound_proof": self.bound_proof, "certificate": self.certificate}
        named |= {"report": self.report, **self.endorsement.files(self.certificate), **self.descriptions}
        named |= {} if self.envelope is None else {"envelope": self.envelope}
        return {what: Path(path) for what, path in named.items() if path is not None}


# Refusals before the work begins


STANDARD_INPUT = Path("/dev/stdin")


def check_release_targets(
    out: Path,
    others: Sequence[str | Path | None],
    sources: Sequence[Path],
    *,
    method: str,
    policy: Policy,
    force: bool,
    part_rows: int | None = None,
) -> None:
    """Refuse files that could not be written, or that would overwrite what is read or, without `force`, any file.

    A release of several tables has files whose names start like `out`; how many there may be depends on the policy.
    With `part_rows`, `out` is a folder.
    """
    marks, more = possible_marks(method, policy), [Path(path) for path in others if path]
    if part_rows is not None:
        check_parts(part_rows, len(marks))
        check_folder(out)
        check_targets(more, sources, force=force)
        return
    hidden = {*policy.identifiers, policy.person}
    format_of(out).check([name for name, _ in policy.columns() if name not in hidden])
    releases = [sibling(out, mark) for mark in marks]
    check_names(releases)
    check_targets([*releases, *more], sources, force=force)


def check_parts(part_rows: int, tables: int) -> None:
    """Refuse parts that no release can be written in."""
    if part_rows < 1:
        raise InputError("a part must have at least one row")
    if tables > 1:
        raise InputError("only a release of one table can be written in parts")


def sources_of(*given: Any) -> list[Path]:
    """Return the files among tables and policies that are given, and those that policies name."""
    paths = [path for path in given if isinstance(path, str | Path)]
    named = (file for policy in given if isinstance(policy, Policy) for file in policy.files)
    files = (file for path in paths for file in ([STANDARD_INPUT] if str(path) == "-" else files_of(path)))
    return [*files, *named]


# The files of the tables


@dataclass(frozen=True)
class FinishedFile:
    """A file that is written: the name that it will have, and where it lies meanwhile."""

    name: str
    path: Path
    rows: int
    sha256: str = ""  # where it was taken before the file is read back


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
        if isinstance(folder := files.get("release"), PendingFolder):
            (frame,) = frames
            return [self._parts(folder, frame)]
        finished, kind = [], self.kind.labelled(labels)
        for mark, frame in zip(self.marks, frames, strict=True):
            file = files[f"release{mark}"]
            file.write(partial(write_table, frame, kind))
            finished.append([FinishedFile(file.target.name, file.path, frame.height)])
        return finished

    def _parts(self, folder: PendingFolder, frame: pl.DataFrame) -> list[FinishedFile]:
        parts = list(frame.iter_slices(self.part_rows))
        return [
            FinishedFile(name, folder.write_file(name, partial(write_table, part, self.kind)), part.height)
            for name, part in zip(part_names(len(parts)), parts, strict=True)
        ]
