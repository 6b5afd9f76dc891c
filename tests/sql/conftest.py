"""Databases that judge a table by the query: DuckDB in this process, PostgreSQL and Spark where they are installed."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import tclose

Line = dict[str, Any]
Judge = Callable[[pl.DataFrame, tclose.Policy], list[Line]]
TYPES: dict[Any, str] = {pl.String: "TEXT", pl.Int64: "BIGINT", pl.Float64: "DOUBLE PRECISION", pl.Date: "DATE"}
TYPES |= {pl.Boolean: "BOOLEAN", pl.Datetime: "TIMESTAMP", pl.Null: "TEXT"}


@pytest.fixture(scope="session")
def duckdb_judge() -> Judge:
    """Judge a table in DuckDB."""
    import duckdb

    connection = duckdb.connect()

    def judge(frame: pl.DataFrame, policy: tclose.Policy) -> list[Line]:
        connection.register("visits", frame.to_arrow())
        answer = connection.execute(tclose.sql_check(policy, table="visits", dialect="duckdb"))
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    return judge


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[..., str]]:
    """Start a server of its own, as its own user, and return a function that gives psql something to do."""
    programs = _programs()
    user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="tclose-pg-"))  # of a short name: it holds a socket
    if user:
        shutil.chown(folder, **user)

    def run(program: str, *arguments: str, given: str = "", **more: Any) -> str:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [programs / program, *arguments], cwd=folder, input=given, capture_output=True, text=True, **more
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", **user)
        options = f"-c listen_addresses='' -c fsync=off -k {folder}"
        started = ("-D", "data", "-w", "-l", "log", "-o", options, "start")
        subprocess.run([programs / "pg_ctl", *started], cwd=folder, check=True, stdout=subprocess.DEVNULL, **user)
        try:
            psql = ("-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1", "-h", str(folder), "-U", "postgres")
            yield lambda given: run("psql", *psql, given=given)
        finally:
            run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop", **user)
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    on_path = shutil.which("initdb")
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")), *([Path(on_path)] if on_path else [])]
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install --yes --no-install-recommends postgresql")
    return found[0].resolve().parent


@pytest.fixture(scope="session")
def postgres_judge(postgres: Callable[..., str]) -> Judge:
    """Judge a table in PostgreSQL."""

    def judge(frame: pl.DataFrame, policy: tclose.Policy) -> list[Line]:
        query = tclose.sql_check(policy, table="visits", dialect="postgres")
        columns = ", ".join(
            f'"{name.replace(chr(34), chr(34) * 2)}" {TYPES[dtype.base_type()]}' for name, dtype in frame.schema.items()
        )
        rows = frame.write_csv(include_header=False, null_value="\\N", quote_style="always").replace('"\\N"', "\\N")
        given = f"DROP TABLE IF EXISTS visits; CREATE TABLE visits ({columns});\n"
        given += f"COPY visits FROM STDIN (FORMAT csv, NULL '\\N');\n{rows}\\.\n{query}"
        return [_read(line) for line in csv.DictReader(io.StringIO(postgres(given)))]

    return judge


def _read(line: dict[str, str]) -> Line:
    whole = {"reached_numerator", "reached_denominator", "failing_classes", "smallest_class", "table_rows"}
    whole |= {"table_classes", "withheld_rows"}
    read: Line = {name: int(cell) if name in whole and cell else cell or None for name, cell in line.items()}
    return {**read, "holds": line["holds"] == "t"}


@pytest.fixture(scope="session")
def spark_judge(cluster: SimpleNamespace) -> Judge:
    """Judge a table in Spark, with plans that are neither compiled nor adapted: half the time for small tables."""
    session = cluster.spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return _judge_in(session)


@pytest.fixture(scope="session")
def usual_spark_judge(cluster: SimpleNamespace) -> Judge:
    """Judge a table in Spark as it comes."""
    session = cluster.spark.newSession()
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    return _judge_in(session)


def _judge_in(session: Any) -> Judge:
    session.conf.set("spark.sql.shuffle.partitions", "1")

    def judge(frame: pl.DataFrame, policy: tclose.Policy) -> list[Line]:
        kinds = {**TYPES, pl.String: "STRING", pl.Float64: "DOUBLE", pl.Null: "STRING"}
        columns = [f"`{name.replace('`', '``')}` {kinds[dtype.base_type()]}" for name, dtype in frame.schema.items()]
        session.createDataFrame(frame.rows(), ", ".join(columns)).createOrReplaceTempView("visits")
        query = tclose.sql_check(policy, table="visits", dialect="spark").rstrip(";")
        return [row.asDict() for row in session.sql(query).collect()]

    return judge


@pytest.fixture(scope="session")
def agrees() -> Callable[[list[Line], pl.DataFrame, tclose.Policy], None]:
    """Assert that the lines of an answer say what `check` says, field by field, or that neither can judge."""

    def compare(lines: list[Line], frame: pl.DataFrame, policy: tclose.Policy) -> None:
        try:
            result = tclose.check(frame, policy)
        except tclose.TcloseError:
            result = None
        if result is None:
            assert any(line["problem"] for line in lines)
            assert not all(line["holds"] for line in lines)
            return
        assert [line["problem"] for line in lines] == [None] * len(lines)
        assert [_finding(line) for line in lines] == [
            (model.model, model.attribute, Fraction(model.reached), model.satisfied, model.failing_classes)
            for model in result.models
        ]
        sizes = (result.rows, result.classes, result.smallest_class, result.withheld)
        for line in lines:
            found = (line["table_rows"], line["table_classes"], line["smallest_class"], line["withheld_rows"])
            assert tuple(map(int, found)) == sizes

    return compare


def _finding(line: Line) -> tuple[str, str | None, Fraction, bool, int]:
    reached = Fraction(int(line["reached_numerator"]), int(line["reached_denominator"]))
    return line["model"], line["attribute"], reached, line["holds"], int(line["failing_classes"])
