"""Where a table lies: a file, a sheet of a workbook (`book.xlsx#Sheet`), or a table of a database (`sqlite:///…#t`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tclose.errors import InputError

SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
URL = re.compile(rf"^({'|'.join(SCHEMES)}):/{{1,3}}", re.IGNORECASE)  # a Path makes one slash of several


@dataclass(frozen=True)
class Location:
    """What a name of a table means; a URL may hold a password, so it stands in no `repr`."""

    path: Path | None  # of the file, also of a database in a file
    part: str | None = None  # the sheet or the table in it
    scheme: str | None = None
    url: str = field(default="", repr=False)  # without the table

    @classmethod
    def of(cls, given: str | Path) -> Location:
        """Read the name of a table; a file whose own name has a # comes first.

        >>> Location.of("sqlite:///data/ward.db#visits").part
        'visits'
        """
        text = str(given)
        if found := URL.match(text):
            return _database(text, found[1].lower())
        name, mark, part = text.rpartition("#")
        if not mark or not name or _exists(text):
            return cls(Path(given))
        return cls(Path(name), part or None) if _exists(name) else cls(Path(given))


def check_scheme(given: str | Path) -> None:
    """Refuse a URL of another kind, without repeating it: it may hold a password."""
    if (
        (found := re.match(r"^([A-Za-z][\w+.-]+):/", str(given)))
        and not URL.match(str(given))
        and not _exists(str(given))
    ):
        raise InputError(f"tables are read from files, sqlite:///, duckdb:/// and postgresql://, not from {found[1]}:")


def _database(text: str, scheme: str) -> Location:
    url, mark, part = text.rpartition("#")
    url, part = (url, unquote(part)) if mark else (text, "")
    if scheme in ("postgres", "postgresql"):
        return Location(None, part or None, "postgresql", url)
    name = Path(unquote(re.sub(r"^\w+:/*", "", url)))
    absolute = url.lower().startswith(f"{scheme}:////") or (not _exists(str(name)) and _exists(f"/{name}"))
    return Location(Path("/") / name if absolute else name, part or None, scheme)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def files_of(given: str | Path) -> list[Path]:
    """Return the file that a table is read from, if it is read from one."""
    path = Location.of(given).path
    return [] if path is None else [path]


def name_of(given: str | Path) -> str | Path:
    """Return what a table may be called in a certificate: its file, or its own name in a database, never a URL."""
    location = Location.of(given)
    if location.scheme is not None:
        return (location.part or "").rpartition(".")[2] or location.scheme
    return location.path or ""
