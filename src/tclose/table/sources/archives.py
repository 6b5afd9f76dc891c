"""Compressed tables: .gz, .zst, and .zip with one file. What unpacks to far more than any table is refused."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any

from tclose.errors import InputError, MissingExtra
from tclose.table.sources.magic import GZIP, ZIP, ZSTANDARD

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


def is_packed(beginning: bytes) -> bool:
    """Tell by its first bytes whether a file is an archive, or a workbook, which is one, too."""
    return beginning.startswith((GZIP, ZSTANDARD, *ZIP))


def _whole(pieces: Iterator[bytes], size: int) -> bytes:
    most, found, length = _most(size), [], 0
    for piece in pieces:
        found.append(piece)
        length += len(piece)
        if length > most:
            raise InputError(BOMB.format(times=RATIO))
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
                raise InputError(BOMB.format(times=RATIO))
            return data
        files = [info for info in archive.infolist() if not info.is_dir() and not _is_clutter(info.filename)]
        if len(files) != 1:
            raise InputError(f"the ZIP archive holds {len(files):,} files, and a table is one: unpack it first")
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
