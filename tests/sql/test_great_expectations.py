"""The expectation that a table of a warehouse meets a policy: Great Expectations runs our query in PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".integrations-venv" / "bin" / "python"
SCRIPT = """
import json, sys
import great_expectations as gx
from tclose.integrations.great_expectations import unexpected_rows

policy = {"quasi": ["zone"], "sensitive": {"pay": {"t": 0.1, "distance": "ordered"}}, "k": 2}
place = f"postgresql+psycopg2://postgres@/postgres?host={sys.argv[1]}"
source = gx.get_context(mode="ephemeral").data_sources.add_sql("clinic", connection_string=place)
answers = []
for table in ("good", "bad"):
    batch = source.add_table_asset(table, table_name=table).add_batch_definition_whole_table("all").get_batch()
    result = batch.validate(unexpected_rows(policy, dialect="postgres"))
    answers.append((result.success, result.result))
json.dump(answers, sys.stdout)
"""


def test_a_table_that_fails_its_policy_fails_the_expectation(tmp_path: Path, postgres: Callable[..., str]) -> None:
    if not PYTHON.exists():
        pytest.skip("Great Expectations is not installed: make test-integrations")
    rows = {"good": "('a', 3), ('a', 4), ('b', 3), ('b', 4)", "bad": "('a', 3), ('a', 3), ('b', 4), ('b', 4)"}
    for table, values in rows.items():
        postgres(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} AS SELECT * FROM (VALUES {values}) v(zone, pay);")
    folder = postgres("SHOW unix_socket_directories;").splitlines()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "GX_ANALYTICS_ENABLED": "false"}
    command = [str(PYTHON), "-c", SCRIPT, folder]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (good, nothing), (bad, failing) = json.loads(done.stdout)
    assert (good, bad) == (True, False)
    assert (nothing["observed_value"], failing["observed_value"]) == (0, 1)
