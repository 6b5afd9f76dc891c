"""Compressed tables: .gz, .zst, and .zip with one file. What unpacks to far more than any table is refused."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tclose.errors import InputError, MissingExtra
from tclose.table.sources.magic import GZIP, ZIP, ZSTANDARD

BLOCK = 1 << 20
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
    rest = data
    while rest.startswith(GZIP):
        reader = zlib.decompressobj(wbits=31)
        yield from _blocks(reader, rest)
        rest = reader.unused_data.lstrip(b"\0")  # tapes pad with zeros


def _blocks(reader: Any, data: bytes) -> Iterator[bytes]:
    pending = data
    try:
        while not reader.eof:
            piece = reader.decompress(pending, BLOCK)
            pending = reader.unconsumed_tail
            if not piece and not pending and not reader.eof:
                raise InputError(DAMAGED)
            yield piece
    except zlib.error:
        raise InputError(DAMAGED) from None


def _zstandard(data: bytes) -> Iterator[bytes]:
    decompressor, error = _zstandard_library()
    rest = data
    try:
        while rest.startswith(ZSTANDARD):
            reader, pending = decompressor(), rest
            while not reader.eof:
                piece = reader.decompress(pending, BLOCK)
                pending = b""
                if not piece and reader.needs_input:
                    raise InputError(DAMAGED)
                yield piece
            rest = reader.unused_data
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
