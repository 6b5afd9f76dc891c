"""Tables of databases, and Arrow streams: read as they are; no password in any message."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import tclose
from tclose import InputError, steps
from tclose.errors import WholeTableWarning
from tclose.policy.settings import without_password
from tclose.release.output import table_name
from tclose.table import to_polars
from tclose.table.sources.databases import Location, files_of

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning")
SECRET = "S3CR3T"
FRAME = pl.DataFrame({"zone": ["Süd", "Nord", None], "pay": [1, 2, 3], "share": [0.5, None, 1.5]})
POLICY = {"quasi": ["zone"], "sensitive": {"pay": {"t": 1}}, "others": "drop", "k": 1}


@pytest.fixture
def sqlite(tmp_path: Path) -> Path:
    path = tmp_path / "ward.db"
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE "all visits" (zone TEXT, pay INTEGER, share REAL)')
    connection.executemany('INSERT INTO "all visits" VALUES (?, ?, ?)', FRAME.rows())
    connection.execute("CREATE TABLE odd (x)")
    connection.executemany("INSERT INTO odd VALUES (?)", [(1,), (SECRET,)])
    connection.execute("CREATE TABLE german (x TEXT)")
    connection.executemany("INSERT INTO german VALUES (?)", [("3,5",), ("24,5",)])
    connection.commit()
    connection.close()
    return path


def test_sqlite(sqlite: Path) -> None:
    assert tclose.read(f"sqlite:///{sqlite}#all visits").equals(FRAME)
    assert tclose.read(f"sqlite:////{str(sqlite)[1:]}#all%20visits").equals(FRAME)
    assert tclose.read(Path(f"sqlite:///{sqlite}#all visits")).equals(FRAME)
    assert tclose.read(f"sqlite:///{sqlite}", source={"table": "all visits"}).equals(FRAME)
    assert tclose.read(f"sqlite:///{sqlite}#german")["x"].to_list() == ["3.5", "24.5"]
    assert steps.check(f"sqlite:///{sqlite}#all visits", POLICY).rows == 3


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("", "the database has 3 tables: 'all visits', 'german', 'odd'; name one, as in URL#TABLE"),
        ("#visits", "the database has no table 'visits'; it has 'all visits', 'german', 'odd'"),
        ("#odd", "column 'x' mixes kinds of values"),
    ],
)
def test_bad_tables_of_sqlite(sqlite: Path, part: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        tclose.read(f"sqlite:///{sqlite}{part}")
    assert str(caught.value).startswith(says)
    assert SECRET not in str(caught.value)


def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + b"\1" * 200)
    for url, says in (
        (f"sqlite:///{tmp_path}/x.db#t", "the table cannot be read from the database"),
        (f"sqlite:///{tmp_path}/no.db#t", "there is no file"),
        (f"mysql://ann:{SECRET}@host/db#t", "tables are read from files, sqlite:///"),
        (f"postgresql://ann:{SECRET}#x@host/db", "what follows # is no name of a table"),
    ):
        with pytest.raises(InputError, match=says) as caught:
            tclose.read(url)
        assert SECRET not in str(caught.value)
    held = pytest.warns(WholeTableWarning, match="databases are not read in batches")
    with held, pytest.raises(InputError, match="the table cannot be read from the database"):
        steps.check(f"sqlite:///{tmp_path}/x.db#t", POLICY, engine="disk")


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="pip install 'tclose[database]'")
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.register("given", FRAME.to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.visits AS SELECT DATE '2024-01-31' AS day")
    assert tclose.read(f"duckdb:///{tmp_path}/ward.duckdb#visits").equals(FRAME)
    assert tclose.read(f"duckdb:///{tmp_path}/ward.duckdb#old.visits").rows() == [(date(2024, 1, 31),)]
    with pytest.raises(InputError, match="has no table 'vsits'; it has "):
        tclose.read(f"duckdb:///{tmp_path}/ward.duckdb#vsits")
    (tmp_path / "bad.duckdb").write_bytes(b"x" * 5000)
    with pytest.raises(InputError, match="the table cannot be read from the database"):
        tclose.read(f"duckdb:///{tmp_path}/bad.duckdb#visits")


def test_arrow_streams_and_relations_are_frames() -> None:
    arrow = FRAME.to_arrow()

    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return arrow.__arrow_c_stream__(requested_schema)

    for given in (arrow.to_reader(), Stream(), arrow.to_batches()[0]):
        assert to_polars(given).equals(FRAME)
    release = tclose.anonymize(Stream(), {**POLICY, "k": 3}, method="mondrian")
    assert isinstance(release.table, pl.DataFrame)
    for bad in (pa.chunked_array([[1, 2]]), object()):
        with pytest.raises(InputError, match=r"Arrow stream|expected a pandas"):
            to_polars(bad)
    duckdb = pytest.importorskip("duckdb", reason="pip install 'tclose[database]'")
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        assert tclose.check(connection.sql("SELECT * FROM given"), {**POLICY}).rows == 3


# Names


@pytest.mark.parametrize(
    ("given", "name", "files"),
    [
        (f"postgresql://ann:{SECRET}@host/db#clinic.visits", "visits", []),
        (f"postgres://ann:{SECRET}@host/db", "postgresql", []),
        ("sqlite:///folder/x.db#visits", "visits", [Path("folder/x.db")]),
        ("folder/t.csv", "t.csv", [Path("folder/t.csv")]),
    ],
)
def test_a_certificate_names_the_table_only(given: str, name: str, files: list[Path]) -> None:
    assert table_name(given) == name
    assert files_of(given) == files
    assert SECRET not in repr(Location.of(given))
    assert SECRET not in without_password(given)


def test_passwords_are_hidden() -> None:
    assert without_password("postgresql://h/db?user=a&password=x#t") == "postgresql://h/db?user=a&password=…#t"
    assert without_password("postgresql://a:p@ss@h/db#t") == "postgresql://a:…@h/db#t"
    assert without_password("data/a:b@c.csv") == "data/a:b@c.csv"


# A real PostgreSQL


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    """Start a server that asks for a password, as its own user; yield the folder of its socket and the port."""
    pytest.importorskip("adbc_driver_postgresql", reason="pip install 'tclose[database]'")
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")), *filter(None, [shutil.which("initdb")])]
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install --yes --no-install-recommends postgresql")
    programs = Path(found[0]).resolve().parent
    user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="tclose-pg-"))
    (folder / "password").write_text(SECRET)
    for path in (folder, folder / "password") if user else ():
        shutil.chown(path, **user)

    def run(program: str, *arguments: str, **more: Any) -> None:
        done = subprocess.run([programs / program, *arguments], cwd=folder, stdout=subprocess.DEVNULL, **more)
        assert done.returncode == 0

    try:
        run(
            "initdb",
            "-D",
            "data",
            "-U",
            "ann",
            "-A",
            "scram-sha-256",
            "--pwfile=password",
            "-E",
            "UTF8",
            "--no-sync",
            **user,
        )
        run(
            "pg_ctl",
            "-D",
            "data",
            "-w",
            "-l",
            "log",
            "-o",
            f"-c listen_addresses='' -c fsync=off -k {folder}",
            "start",
            **user,
        )
        try:
            yield str(folder), str(programs / "psql")
        finally:
            run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop", **user)
    finally:
        shutil.rmtree(folder)


def test_postgresql(server: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, psql = server
    where = folder.replace("/", "%2F")
    made = """
        CREATE SCHEMA clinic; CREATE TABLE clinic."Visits" (zone text, pay numeric(10, 2), day date, ok boolean);
        INSERT INTO clinic."Visits" VALUES ('Süd', 1.5, '2024-01-31', true), ('Nord', 2, NULL, false),
            (NULL, 3, NULL, NULL);
    """
    environment = {**os.environ, "PGPASSWORD": SECRET}
    subprocess.run(
        [psql, "-X", "-q", "-h", folder, "-U", "ann", "postgres"], input=made, text=True, env=environment, check=True
    )
    for url in (f"postgresql://ann:{SECRET}@{where}/postgres", f"postgres://ann@{where}/postgres"):
        if SECRET not in url:
            monkeypatch.setenv("PGPASSWORD", SECRET)
        frame = tclose.read(f"{url}#clinic.Visits")
        assert frame["zone"].to_list() == ["Süd", "Nord", None]
        assert [float(cell) for cell in frame["pay"]] == [1.5, 2, 3]
        assert frame["day"].to_list() == [date(2024, 1, 31), None, None]
        assert tclose.read(url, source={"table": "clinic.Visits"}).equals(frame)
    files = {"out": tmp_path / "r.csv", "certificate": tmp_path / "c.json", "record": tmp_path / "record.json"}
    steps.anonymize(
        f"postgresql://ann:{SECRET}@{where}/postgres#clinic.Visits", {**POLICY, "k": 3}, **files, method="mondrian"
    )
    for path in files.values():
        assert SECRET not in path.read_text()
        assert "ann" not in path.read_text()
    assert '"table": "Visits"' in files["certificate"].read_text()


@pytest.mark.parametrize(
    ("user", "database", "says"),
    [
        ("ann:wrong", "postgres#clinic.Visits", "the password is missing or wrong: set PGPASSWORD"),
        ("ann", "postgres#clinic.Visits", "the password is missing or wrong: set PGPASSWORD"),
        (f"ann:{SECRET}", "nowhere#x", "there is no such database"),
        (f"ann:{SECRET}", "postgres#absent", "the database has no table 'absent'"),
    ],
)
def test_what_postgresql_refuses(server: tuple[str, str], user: str, database: str, says: str) -> None:
    where = server[0].replace("/", "%2F")
    with pytest.raises(InputError) as caught:
        tclose.read(f"postgresql://{user}@{where}/{database}")
    assert says in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error!r}{error.args}"
        assert "wrong@" not in repr(error)
        error = error.__context__


def test_a_server_that_does_not_answer() -> None:
    pytest.importorskip("adbc_driver_postgresql", reason="pip install 'tclose[database]'")
    with pytest.raises(InputError, match="no server answers at this host and port") as caught:
        tclose.read(f"postgresql://ann:{SECRET}@127.0.0.1:1/db#t")
    assert SECRET not in repr(caught.value)
