"""A test for dbt, made from a policy and run by dbt itself on DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.integrations.dbt import dbt_test, main

pytest.importorskip("sqlglot", reason="pip install 'tclose[sql]'")
POLICY = 'k = 2\n[quasi.zone]\n[sensitive.pay]\nt = 0.1\ndistance = "ordered"\n'
PROFILES = "clinic: {target: dev, outputs: {dev: {type: duckdb, path: clinic.duckdb}}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("models", "seeds", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: clinic\nversion: '1.0'\nprofile: clinic\n")
    (tmp_path / "profiles.yml").write_text(PROFILES)
    (tmp_path / "models" / "visits.sql").write_text("select * from {{ ref('raw_visits') }}\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_dbt_runs_the_test(project: Path, run_there: Any) -> None:
    made = run_there(
        "python", "-m", "tclose.integrations.dbt", "policy.toml", "--model", "visits", "--dialect", "duckdb",
        folder=project,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (project / "tests" / "visits_policy.sql").write_text(made.stdout)
    seed = project / "seeds" / "raw_visits.csv"
    for pay, verdict in ((3, 4, 3, 4), "PASS=3"), ((3, 3, 4, 4), "PASS=2 WARN=0 ERROR=1"):
        rows = zip("aabb", pay, strict=True)
        seed.write_text("zone,pay\n" + "".join(f"{zone},{each}\n" for zone, each in rows))
        done = run_there("dbt", "build", "--profiles-dir", ".", folder=project)
        assert verdict in done.stdout, done.stdout


def test_the_query_returns_the_requirements_that_fail() -> None:
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    test = dbt_test({"quasi": ["zone"], "k": 2}, model="visits", dialect="duckdb")
    query = test.replace("{{ ref('visits') }}", "visits")
    connection = duckdb.connect()
    connection.execute("create table visits as select * from (values ('a'), ('a'), ('b')) v(zone)")
    answer = connection.execute(query)
    names = [column[0] for column in answer.description]
    assert [dict(zip(names, row, strict=True))["model"] for row in answer.fetchall()] == ["k"]
    connection.execute("insert into visits values ('b')")
    assert connection.execute(query).fetchall() == []


@pytest.mark.parametrize("name", ["{{ 7 * 7 }}", "{% raw %}", "{# no #}"])
def test_a_name_that_dbt_would_run_is_refused(name: str) -> None:
    with pytest.raises(tclose.PolicyError, match="rename it"):
        dbt_test({"quasi": [name], "k": 2}, model="visits", dialect="duckdb")


@pytest.mark.parametrize("model", ["visits') }} {{ 7", "a-b", ""])
def test_a_model_is_a_name(model: str) -> None:
    with pytest.raises(tclose.InputError, match="letters, digits and underscores"):
        dbt_test({"quasi": ["zone"], "k": 2}, model=model, dialect="duckdb")


def test_bad_input_is_one_sentence_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.toml"), "--model", "visits", "--dialect", "duckdb"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_the_module_is_a_command(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(POLICY)
    command = [sys.executable, "-m", "tclose.integrations.dbt", "p.toml", "--model", "visits", "--dialect", "nosuch"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no dialect 'nosuch'" in done.stderr
