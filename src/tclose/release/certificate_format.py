"""The certificate's format: what its JSON says about the files of a release, in format 1 and in format 2.

Format 2 lists every file as `{"name", "rows", "sha256"}`. Where the files are several tables, `tables` has an entry for
each of them, in the same order, with what is said about that table. Without `tables`, all files are parts of one table.
Format 1 has `file` and `sha256` for one table, or `tables` whose entries name their file. A name is never a path.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FORMATS: Mapping[str, int] = {"tclose-certificate-1": 1, "tclose-certificate-2": 2}
NEWEST = 2
NAMES = ("tool", "created", "table", "file")
LISTED = ("name", "rows", "sha256")
MOST_ROWS = 2**53  # that a table can have; floats hold the measures of so many
SEPARATORS = "/\\:\0"


class Unreadable(ValueError):
    """A certificate cannot be read; the message is a clause that says why."""


@dataclass(frozen=True)
class FileEntry:
    """One file as a certificate has it: its name, its rows, its fingerprint, and what is said about its own table."""

    name: str | None
    rows: int | None
    sha256: str | None
    table: Mapping[str, Any] = field(default_factory=dict)


def format_of(content: Mapping[str, Any]) -> int:
    """Return the number of a certificate's format."""
    written = content["format"]
    if not isinstance(written, str) or not written.startswith("tclose-certificate-"):
        raise ValueError("not a certificate")
    if written not in FORMATS:
        raise Unreadable("this version reads the formats 1 and 2")
    return FORMATS[written]


def entries_of(content: Mapping[str, Any]) -> tuple[FileEntry, ...]:
    """Read what a certificate says about its files; `Unreadable`, or any error of JSON's types, if it is wrong."""
    newest = format_of(content) == NEWEST
    _check_described(content, newest)
    entries = _entries(content) if newest else _first_entries(content)
    _check_names([entry.name for entry in entries], named=content.get("tables") is not None)
    return entries


def entries_json(entries: Sequence[FileEntry], number: int, *, several: bool) -> dict[str, Any]:
    """Return the keys of a certificate of a format that are about its files; `several` says that each is a table."""
    if number == NEWEST:
        files = [{name: getattr(entry, name) for name in LISTED} for entry in entries]
        return {"files": files, **({"tables": [dict(entry.table) for entry in entries]} if several else {})}
    if several:
        return {"tables": [{"file": entry.name, "sha256": entry.sha256, **entry.table} for entry in entries]}
    name, sha256 = entries[0].name, entries[0].sha256
    return {**({} if name is None else {"file": name}), "sha256": sha256}


def _entries(content: Mapping[str, Any]) -> tuple[FileEntry, ...]:
    """Read `files` and `tables` of format 2."""
    files, tables = content.get("files"), content.get("tables")
    if not isinstance(files, list) or not files or not all(isinstance(file, Mapping) for file in files):
        raise Unreadable("it does not list the files of the release")
    if tables is not None and len(tables) != len(files):
        raise Unreadable("its tables are not as many as its files")
    several = len(files) > 1 or tables is not None
    return tuple(
        FileEntry(*_checked(file, several), table)
        for file, table in zip(files, tables or [{} for _ in files], strict=True)
    )


def _checked(file: Mapping[str, Any], several: bool) -> tuple[str | None, int, str]:
    """Return a file's name, rows and fingerprint, each of its type; only a file that was never written has no name."""
    name, rows, sha256 = (file.get(key) for key in LISTED)
    if not (isinstance(name, str) or (name is None and "name" in file and not several)):
        raise Unreadable("the name of a file is not text")
    if isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= MOST_ROWS:
        raise Unreadable("the rows of a file are no number of rows")
    if not isinstance(sha256, str):
        raise Unreadable("the fingerprint of a file is not text")
    return name, rows, sha256


def _first_entries(content: Mapping[str, Any]) -> tuple[FileEntry, ...]:
    """Read `file` and `sha256`, or `tables`, of format 1."""
    if content.get("tables") is None:
        return (FileEntry(content.get("file"), None, content.get("sha256")),)
    return tuple(FileEntry(table["file"], None, table.get("sha256"), table) for table in content["tables"])


def _check_described(content: Mapping[str, Any], newest: bool) -> None:
    """Refuse texts that are no texts, and tables that are not described as they should be."""
    if newest and not all(name in content for name in ("tool", "created", "table")):
        raise Unreadable("it does not say by what, when and from which table the release was made")
    if newest and content["table"] is None:
        content = {**content, "table": ""}
    if not all(isinstance(content.get(name, ""), str) for name in (*NAMES, "group")):
        raise Unreadable("a name is not text")
    tables: Any = content.get("tables", ())
    if "tables" in content and not tables:
        raise Unreadable("it lists no tables")
    if not all(isinstance(table.get("sensitive", {}), dict) for table in tables):
        raise Unreadable("what is said about a table is not readable")


def _check_names(names: Sequence[str | None], *, named: bool) -> None:
    """Refuse names by which a file elsewhere could be meant, and two names of one file.

    Nobody looks for the only file of a table by its name: it may hold signs that other names may not.
    """
    if not all(isinstance(name, str | None) for name in names) or (named and None in names):
        raise Unreadable("the name of a file is not text")
    forbidden = set(SEPARATORS if named or len(names) > 1 else "/\0")
    if any(name in ("", ".", "..") or set(name or "") & forbidden for name in names):
        raise Unreadable("the name of a file is a path")
    if len({unicodedata.normalize("NFC", name or "").casefold() for name in names}) < len(names):
        raise Unreadable("two files have the same name, or names that differ only in case")
