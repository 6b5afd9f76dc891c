"""From a file's content to a table: unpack it, tell its format, read it as the policy says, or as it looks.

Archives are .gz, .zst, and .zip with one file. What unpacks to far more than any table is refused.

Without `[source]`, what the file is beyond plain CSV is detected. With `[source]`, nothing is guessed: what it does not
say is plain, and a table that is not so is refused with the key that is missing. Only while a policy is drafted, what a
steward has not said is detected all the same (`detect`).
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.policy.source import FORMAT_WORDS, SourceSettings
from tclose.table.numbers import below_limits, without_numbers
from tclose.table.sources import notation
from tclose.table.sources.base import GZIP, LONGEST, ZIP, ZSTANDARD, Source, TableRead, refuse_named
from tclose.table.sources.csv import CSV, read_delimited
from tclose.table.sources.formats import EXCEL, source_of
from tclose.table.sources.notation import MARKS, marks_in, missing_cells

# Compressed tables


BLOCK, PIECE = 1 << 20, 1 << 16  # bytes that come out and go in at a time
PADDING = re.compile(rb"\0*")  # of tapes, behind each part
SMALL = 1 << 26  # bytes that may come out of any archive, however small it is
RATIO = 200  # beyond that, so many times its size; text of tables seldom reaches 50
MOST = 1 << 36
DAMAGED = "the archive cannot be unpacked: it is damaged, or was cut off"
BOMB = "the archive unpacks to over {times} times its size, so it is taken for a bomb: unpack it yourself first"


def unpacked(data: bytes) -> bytes:
    """Return what an archive holds; bytes that are none come back as they are, and so does a workbook."""
    if data.startswith(GZIP):
        return _whole(_gzip(data), len(data))
    if data.startswith(ZSTANDARD):
        return _whole(_zstandard(data), len(data))
    return _member(data) if data.startswith(ZIP) else data


def _whole(pieces: Iterator[bytes], size: int) -> bytes:
    most, found, length = _most(size), [], 0
    for piece in pieces:
        found.append(piece)
        length += len(piece)
        if length > most:
            raise InputError(BOMB, times=RATIO)
    return b"".join(found)


def _most(size: int) -> int:
    """Return how many bytes may come out of an archive of a size."""
    return min(max(SMALL, RATIO * size), MOST)


def _gzip(data: bytes) -> Iterator[bytes]:
    """Yield what each of the parts of a gzip file holds, a block at a time."""
    place = 0
    while data.startswith(GZIP, place):
        place = yield from _blocks(zlib.decompressobj(wbits=31), data, place)
        place += len(PADDING.match(data, place)[0])  # type: ignore[index]


def _blocks(reader: Any, data: bytes, place: int) -> Generator[bytes, None, int]:
    """Yield the part that begins at a place, and return where it ends; what is not yet unpacked is copied often."""
    pending = b""
    try:
        while not reader.eof:
            if not pending:
                pending = data[place : place + PIECE]
                place += len(pending)
            piece = reader.decompress(pending, BLOCK)
            if not piece and not pending and not reader.eof:
                raise InputError(DAMAGED)
            pending = reader.unconsumed_tail
            yield piece
    except zlib.error:
        raise InputError(DAMAGED) from None
    return place - len(reader.unused_data)


def _zstandard(data: bytes) -> Iterator[bytes]:
    decompressor, error = _zstandard_library()
    place = 0
    try:
        while data.startswith(ZSTANDARD, place):
            reader = decompressor()
            while not reader.eof:
                pending = data[place : place + PIECE] if reader.needs_input else b""
                place += len(pending)
                piece = reader.decompress(pending, BLOCK)
                if not piece and not pending and reader.needs_input:
                    raise InputError(DAMAGED)
                yield piece
            place -= len(reader.unused_data)
    except error:
        raise InputError(DAMAGED) from None


def _zstandard_library() -> tuple[Callable[[], Any], type[Exception]]:
    """Return the decompressor of Python 3.14, or of its backport."""
    from importlib import import_module

    for name in ("compression.zstd", "backports.zstd"):
        try:
            library = import_module(name)
        except ImportError:
            continue
        return library.ZstdDecompressor, library.ZstdError
    raise MissingExtra.of_file("this is a Zstandard archive", "zstd")


def _member(data: bytes) -> bytes:
    """Return the only file of a ZIP archive."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = archive.namelist()
        if _is_workbook(names):
            if sum(info.file_size for info in archive.infolist()) > _most(len(data)):
                raise InputError(BOMB, times=RATIO)
            return data
        files = [info for info in archive.infolist() if not info.is_dir() and not _is_clutter(info.filename)]
        if len(files) != 1:
            raise InputError(
                "the ZIP archive holds {count:,} files, and a table is one: unpack it first", count=len(files)
            )
        if files[0].flag_bits & 1:
            raise InputError("the ZIP archive is locked with a password: unpack it first")
        with archive.open(files[0]) as file:
            return _whole(iter(lambda: file.read(BLOCK), b""), len(data))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, RuntimeError):
        raise InputError(DAMAGED) from None


def _is_workbook(names: list[str]) -> bool:
    """Tell whether an archive is an Excel or OpenDocument workbook."""
    return any(name.startswith("xl/") for name in names) or {"mimetype", "content.xml"} <= set(names)


def _is_clutter(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rpartition("/")[2] == ".DS_Store"


# Format and notation


CALLED = {"parquet": "a Parquet file", "arrow": "an Arrow file", **FORMAT_WORDS}
OTHER_FORMAT = 'the policy says format = "{said}" in [source], but this is {found}'


def said_of(spelled: Mapping[str, Any] | None) -> SourceSettings | None:
    """Return settings that came through the door."""
    return None if spelled is None else SourceSettings.from_dict(spelled)


def parse(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = (), written_here: bool = False
) -> pl.DataFrame:
    """Return the table that these bytes hold, as tclose itself writes tables; nothing is detected.

    Columns named in `repeated` may come as categories. With `only`, other columns than these may be left out. Bytes
    that were `written_here` are a table, whatever they begin with.
    """
    source = source_of(data[:LONGEST])
    if source is CSV and not written_here:
        refuse_named(data[:LONGEST])
    if only and source.read_only is not None:
        return source.read_only(data, only)
    return source.read(data, repeated)


def read_data(
    data: bytes,
    said: SourceSettings | None,
    *,
    only: Collection[str] = (),
    missing: Collection[str] = (),
    part: str | None = None,
    detect: bool = False,
) -> TableRead:
    """Return the table that a file of the steward holds, and how it was read; `part` is a sheet of a workbook."""
    data = unpacked(data)
    source = source_of(data[:LONGEST])
    settings = _with_part(said or SourceSettings(), source, part)
    if settings.format not in (None, source.declared):
        raise InputError(OTHER_FORMAT, said=settings.format, found=_called(source, data[:LONGEST]))
    if source is CSV:
        refuse_named(data[:LONGEST])
        read = read_delimited(data, settings, detect=detect or said is None)
    elif source.read_as is not None:
        read = source.read_as(data, settings)
    else:
        return TableRead(parse(data, only=only))
    found = marks_in(data, commas=_has_commas(data, read)) if source is CSV and read.found.encoding is None else MARKS
    return spelled(read, said, missing, found, detect=detect)


def _with_part(said: SourceSettings, source: Source, part: str | None) -> SourceSettings:
    """Name the sheet; only a workbook has some."""
    if part is not None and source is not EXCEL:
        raise InputError(
            "only a workbook has sheets, and this is {called}: leave out what follows #", called=_called(source, b"")
        )
    return said if part is None else replace(said, sheet=part)


def _called(source: Source, beginning: bytes) -> str:
    if source is CSV:
        refuse_named(beginning)
        return "text, as CSV is"
    return CALLED[source.declared]


def _has_commas(data: bytes, read: TableRead) -> bool:
    """Tell whether cells may hold commas: where these separate them, only quotes let them."""
    return read.found.separator is not None or b'"' in data


def spelled(
    read: TableRead,
    said: SourceSettings | None,
    missing: Collection[str],
    marks: Sequence[str] = MARKS,
    *,
    detect: bool = False,
) -> TableRead:
    """Turn numbers and dates in other notations into those of tclose.

    While a policy is drafted (`detect`), a column of numbers may have a few odd cells such as k.A. or <0,2.
    """
    missing = missing_cells(missing)
    missing |= below_limits(read.frame, missing)
    if detect:
        missing |= without_numbers(read.frame, missing, notation.ANY_NUMBER)
    when = notation.dates_in(read.frame, missing, said if said is None or said.dates or not detect else None)
    frame = when.read(read.frame)
    unsaid = detect and said is not None and said.decimal is None and said.thousands is None
    numbers = notation.notation_in(frame, missing, None if unsaid else said, marks)
    other = bool(numbers.columns)
    found = replace(
        read.found,
        decimal="," if other and numbers.notation.decimal == "," else None,
        thousands=numbers.notation.thousands or None if other else None,
        dates=when.formats,
    )
    questions = tuple(filter(None, (when.question, numbers.question)))
    return replace(
        read,
        frame=numbers.read(frame),
        found=found,
        remarks=(*read.remarks, *when.remarks, *numbers.remarks),
        questions=questions,
    )
