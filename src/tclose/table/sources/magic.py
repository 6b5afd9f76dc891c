"""Files known by their first bytes that are no table tclose reads as such: each is named, none is called bad UTF-8."""

from __future__ import annotations

from tclose.errors import InputError, MissingExtra

LONGEST = 512  # bytes that tell what a file is
GZIP, ZSTANDARD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"  # the latter behind a checksum of eight bytes
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_NAMED = (
    (b"%PDF", "a PDF document: a table cannot be read from it; export it as CSV or Excel"),
    ((b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!"), "an archive of another kind: unpack it first"),
    ((b"RDX", b"RDA", b"X\n\0\0", b"A\n"), "a file of R: write the table as CSV or Parquet"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "a picture, not a table"),
    (b"\x89HDF", "an HDF5 file: write the table as Parquet"),
    (b"\x7fELF", "a program, not a table"),
)
_MARKUP = (b"<!doctype html", b"<html", b"<table")


def refuse_named(beginning: bytes) -> None:
    """Refuse a file that is known, but not as a table."""
    for begins, what in _NAMED:
        if beginning.startswith(begins):
            raise InputError(f"this is {what}")
    if beginning.startswith(SQLITE):
        raise InputError("this is an SQLite database: name a table in it, as in sqlite:///FILE#TABLE")
    if beginning[8:12] == DUCKDB:
        raise InputError("this is a DuckDB database: name a table in it, as in duckdb:///FILE#TABLE")
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith(_MARKUP):
        raise InputError("this is an HTML page, also where its name ends in .xls: export the table as CSV or Excel")
    if text.startswith(b"<?xml"):
        raise InputError("this is an XML file: save the table as CSV or as an Excel workbook (.xlsx)")
    if text.startswith((b'[{"', b"[\n", b"[\r\n", b"[ {", b"[]")):
        raise InputError("this is a JSON list: write one object per line (JSON lines, .jsonl)")
    if text.startswith((b"{\n", b"{\r\n")):
        raise InputError("this is JSON over several lines: write one object per line (JSON lines, .jsonl)")


def missing_reader(what: str, extra: str) -> MissingExtra:
    """Say which kind of file it is, and what installs its reader."""
    return MissingExtra.of_file(what, extra)
