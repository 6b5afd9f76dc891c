"""Where a table lies, and tables of databases: SQLite, DuckDB and PostgreSQL.

A location is a file, a sheet of a workbook (`book.xlsx#Sheet`), or a table of a database (`sqlite:///…#t`). SQLite is
read by the standard library, DuckDB and PostgreSQL by their own clients (`tclose[database]`). A whole table or view is
read, and nothing is ever written. What a client says about an error could quote cells, or the URL with its password, so
it is never repeated: it is only searched for what went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.messages import say
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import TableRead, check_names, column_of
from tclose.words import counted, legible

# Locations: what a name of a table means


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

        >>> location = Location.of("sqlite:///data/ward.db#visits")
        >>> location.scheme, location.part
        ('sqlite', 'visits')
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
        raise InputError(
            "tables are read from files, sqlite:///, duckdb:/// and postgresql://, not from {found}:", found=found[1]
        )


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


# Tables of databases


MOST_NAMED = 20
NAME = re.compile(r"[^@/\\:]+")  # or it is a part of a URL, with a password perhaps, in which # was not written as %23
NO_TABLE = "what follows # is no name of a table: write a # in a password as %23"
DAMAGED = "the table cannot be read from the database: the file is damaged, locked or no such database"
ENDLESS = "the table is a view of the database that takes too long: store what it shows as a table"
REACHES_OUT = "the table is a view of the database that reads other files: store what it shows as a table"
MOST_STEPS, STEPS_AT_ONCE = 2_000_000_000, 1_000_000  # of SQLite's own machine; a row of a table takes some dozens
ALONE: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "lock_configuration": "true",
    "temp_directory": "",
    "threads": "2",
}
TABLES = (
    "SELECT table_schema::text, table_name::text FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
COLUMNS = (
    "SELECT column_name::text, data_type::text FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = {table} ORDER BY ordinal_position"
)
PLAIN_TYPES = frozenset(  # others, as numeric and uuid, come as text, which says the same
    ("smallint", "integer", "bigint", "real", "double precision", "boolean", "date", "timestamp without time zone",
     "text", "character varying")
)  # fmt: skip
BROKEN = (pl.exceptions.PolarsError, OSError)
REASONS = (  # what PostgreSQL's client says, and what is said here
    ("password", "the password is missing or wrong: set PGPASSWORD, or use a .pgpass file"),
    ("no pg_hba.conf entry", "the server does not let this user in from here"),
    ("refused", "no server answers at this host and port"),
    ("could not translate host name", "the host is not known"),
    ("timeout", "the server does not answer in time"),
    ("role", "there is no such user"),
    ("database", "there is no such database"),
)


def read_database_file(scheme: str, path: str, part: str | None, said: SourceSettings | None) -> TableRead:
    """Read a table of a database that is a file; only the isolated process does so."""
    table = asked_table(part, said)
    return _found(scheme, table, *{"sqlite": _sqlite, "duckdb": _duckdb}[scheme](path, table))


def read_server(location: Location, said: SourceSettings | None) -> TableRead:
    """Read a table from the server of a database: the one source that has to be reached from the process itself."""
    table = asked_table(location.part, said)
    return _found("postgresql", table, *_postgresql(location, table))


def asked_table(part: str | None, said: SourceSettings | None) -> str | None:
    """Return the name of the table that is asked for; a part of a URL is no such name."""
    table = part or (None if said is None else said.table)
    if table is not None and not NAME.fullmatch(table):
        raise InputError(NO_TABLE)
    return table


def _found(scheme: str, table: str | None, frame: pl.DataFrame, name: str) -> TableRead:
    check_names(list(frame.columns))
    return TableRead(frame, SourceSettings() if table else SourceSettings(format=scheme, table=name))


def _chosen(tables: Sequence[str], asked: str | None) -> str:
    """Return the table that is asked for, or the only one."""
    listed = ", ".join(f"'{legible(table)}'" for table in tables[:MOST_NAMED])
    if asked is None:
        if len(tables) != 1:
            names = say(": {listed}", listed=listed) if tables else ""
            raise InputError(
                "the database has {tables}{names}; name one, as in URL#TABLE",
                tables=counted(len(tables), "table"),
                names=names,
            )
        return tables[0]
    if asked not in tables:
        raise InputError(
            "the database has no table '{asked}'; it has {listed}", asked=legible(asked), listed=listed or "none"
        )
    return asked


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite(path: str, table: str | None) -> tuple[pl.DataFrame, str]:
    import sqlite3

    try:
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
        try:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            name = _chosen([each for (each,) in listed if not each.startswith("sqlite_")], table)
            connection.set_progress_handler(_Steps(), STEPS_AT_ONCE)
            rows = connection.execute(f"SELECT * FROM {_quoted(name)}")
            names = [column[0] for column in rows.description]
            cells = list(zip(*rows.fetchall(), strict=True)) or [()] * len(names)
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise InputError(ENDLESS if "interrupted" in str(error) else DAMAGED) from None
    except (sqlite3.Error, UnicodeDecodeError):
        raise InputError(DAMAGED) from None
    columns = [column_of(name, list(some)) for name, some in zip(check_names(names), cells, strict=True)]
    return pl.DataFrame(columns), name


class _Steps:
    """Counts what a view makes SQLite do, and ends it where it never ends by itself."""

    def __init__(self) -> None:
        self.left = MOST_STEPS // STEPS_AT_ONCE

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def _duckdb(path: str, table: str | None) -> tuple[pl.DataFrame, str]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", "database", "a table of DuckDB") from None
    try:
        with duckdb.connect(path, read_only=True, config=ALONE) as connection:
            listed = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
            tables = {each if schema == "main" else f"{schema}.{each}": (schema, each) for schema, each in listed}
            name = _chosen(list(tables), table)
            relation = connection.sql(f"SELECT * FROM {'.'.join(map(_quoted, tables[name]))}")
            return pl.DataFrame(relation), name
    except duckdb.PermissionException:
        raise InputError(REACHES_OUT) from None
    except duckdb.Error:
        raise InputError(DAMAGED) from None


def _postgresql(location: Location, table: str | None) -> tuple[pl.DataFrame, str]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtra("adbc-driver-postgresql", "database", "a table of PostgreSQL") from None
    url = re.sub(r"^\w+:/{1,2}", "postgresql://", location.url)
    with _safely(lambda: dbapi.connect(url), dbapi.Error) as connection, connection.cursor() as cursor:

        def asked(query: str) -> pl.DataFrame:
            stream = _safely(lambda: (cursor.execute(query), cursor.fetch_arrow())[1], dbapi.Error)
            return _safely(lambda: pl.DataFrame(stream), (*BROKEN, dbapi.Error))  # type: ignore[no-any-return]

        listed = asked(TABLES).rows()
        tables = {each if schema == "public" else f"{schema}.{each}": (schema, each) for schema, each in listed}
        name = _chosen(list(tables), table.removeprefix("public.") if table else None)
        schema, own = tables[name]
        columns = asked(COLUMNS.format(schema=_text(schema), table=_text(own))).rows()
        shown = ", ".join(_quoted(column) + ("" if kind in PLAIN_TYPES else "::text") for column, kind in columns)
        return asked(f"SELECT {shown} FROM {_quoted(schema)}.{_quoted(own)}"), name


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _safely(work: Callable[[], Any], refused: type[Exception] | tuple[type[Exception], ...]) -> Any:
    """Do some work with a client; its own words are searched for the reason, and go no further."""
    try:
        return work()
    except refused as error:
        text = str(error)
    reason = next((said for sign, said in REASONS if sign in text), "the server refuses it")
    raise InputError("the table cannot be read from the database: {reason}", reason=reason)
