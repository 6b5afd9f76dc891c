"""The command sql: a query on stdout that a database can run, or one sentence on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POLICY = 'k = 2\nquasi = ["zone"]\n[sensitive.ill]\nt = 0.25\ndistance = "equal"\n'
RUN = "import duckdb, sys; print(duckdb.sql(sys.stdin.read()).fetchall())"


@pytest.fixture
def table(folder: Path) -> Path:
    (folder / "p.toml").write_text(POLICY)
    path = folder / "visits.csv"
    path.write_text("zone,ill\n" + "a,flu\na,cold\nb,flu\nb,cold\nb,flu\n")
    return path


def test_what_is_printed_can_be_run(tclose: Callable[..., Any], table: Path) -> None:
    outcome = tclose("sql", "--policy", "p.toml", "--table", '"visits.csv"', "--dialect", "duckdb")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("-- tclose ")
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=table.parent, input=outcome.out, capture_output=True, text=True, check=True
    )
    answer = tclose("sql", "--policy", "p.toml", "--table", '"visits.csv"', "--dialect", "duckdb", "--json")
    assert json.loads(answer.out) == {"dialect": "duckdb", "query": outcome.out.rstrip("\n")}
    assert "(1, 'k', None, '2', 2.0, True, 0," in run.stdout
    assert "(2, 't', 'ill', '0.25', 0.1, True, 0, Decimal('1'), Decimal('10')," in run.stdout


def test_what_cannot_be_judged_is_one_sentence(tclose: Callable[..., Any], table: Path) -> None:
    given = ("sql", "--policy", "p.toml", "--dialect", "postgres", "--table")
    tclose(*given, "visits; DROP TABLE visits").refuses("the table must be a name")
    (table.parent / "p.toml").write_text(POLICY + "entropy_l = 2\n")
    tclose(*given, "visits").refuses("sensitive.ill.entropy_l: a query judges k, l and t: leave out entropy_l")
    tclose(*given[:3], "--table", "t", "--dialect", "mysql").refuses("'mysql' is not one of", usage=True)
    tclose("sql", "--policy", "absent.toml", "--dialect", "spark", "--table", "t").refuses("absent.toml")


def test_an_absent_extra_is_named(tclose: Callable[..., Any], table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    given = ("sql", "--policy", "p.toml", "--table", "t", "--dialect", "snowflake")
    tclose(*given).refuses("a query needs sqlglot: pip install 'tclose[sql]'")
