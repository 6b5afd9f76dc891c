"""The same through Spark Connect, in a process that has no session of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tclose import Policy, anonymize, check, verify
from tclose.examples import hospital

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),  # of py4j
]
ASKED = {
    "plain": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
    "(n,t)": {"ldl": {"t": 0.3, "n": 20}},
}
SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import tclose, tclose.spark
remote, folder, policies = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spark = SparkSession.builder.remote(remote).getOrCreate()
frame = spark.read.parquet(folder + "/table.parquet")
for asked in policies:
    print(json.dumps(tclose.spark.check(frame, asked).to_dict()))
with tclose.spark.anonymize(frame, policies[0], effort="fast", part_rows=100) as release:
    release.write(folder + "/mine", certificate=folder + "/mine.json")
print(tclose.spark.verify(spark, folder + "/mine", folder + "/mine.json").holds)
print(tclose.spark.verify(spark, folder + "/release", folder + "/certificate.json").holds)
def impatient(share, phase=""):
    if share == 0.0 and not phase:
        raise tclose.Cancelled
endless = spark.range(10**12).selectExpr("id AS age", "id AS ldl")
try:
    tclose.spark.check(endless, policies[1] | {"quasi": ["age"]}, progress=impatient)
except tclose.Cancelled:
    print("cancelled")
"""


def test_results_are_the_same(cluster: SimpleNamespace, tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")
    table = hospital(200, seed=3)
    table.write_parquet(tmp_path / "table.parquet")
    policies = [
        {"quasi": ["age", "sex"], "sensitive": sensitive, "k": 2, "others": "drop"} for sensitive in ASKED.values()
    ]
    release = anonymize(table, Policy.from_dict(policies[0]), method="mondrian", seed=1)
    release.write(tmp_path / "release", certificate=tmp_path / "certificate.json", part_rows=90)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, cluster.remote, str(tmp_path), json.dumps(policies)],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    *found, mine, verified, cancelled = done.stdout.splitlines()
    table = pl.read_parquet(tmp_path / "table.parquet")
    assert [json.loads(line) for line in found] == [
        json.loads(json.dumps(check(table, Policy.from_dict(asked)).to_dict())) for asked in policies
    ]
    assert (mine, verified, cancelled) == ("True", "True", "cancelled")
    assert verify(tmp_path / "mine", tmp_path / "mine.json").holds
