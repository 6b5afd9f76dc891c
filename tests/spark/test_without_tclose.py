"""Executors whose Python lacks tclose, or has another version of it, are named in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = """
import json
import sys

import tclose.spark
from pyspark.sql import SparkSession

builder = SparkSession.builder.master(sys.argv[1]).appName("executors without tclose")
for name, value in json.loads(sys.argv[2]).items():
    if name not in ("spark.executorEnv.PYTHONPATH", "spark.plugins"):
        builder = builder.config(name, value)
spark = builder.getOrCreate()
frame = spark.createDataFrame([(20, 1), (30, 2)] * 4, ["age", "pay"])
policy = {"quasi": ["age"], "sensitive": {"pay": {"t": 1}}}
for work in (tclose.spark.check, tclose.spark.anonymize):
    try:
        work(frame, policy)
    except tclose.TcloseError as error:
        print(error)
spark.stop()
"""


def python_without_tclose(folder: Path, other: str = "") -> Path:
    """Return a Python with every library of this one but tclose, or with an `other` version of it."""
    libraries = folder / "libraries"
    libraries.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "tclose" not in path.name:
            (libraries / path.name).symlink_to(path)
    if other:
        (libraries / f"tclose-{other}.dist-info").mkdir()
        (libraries / f"tclose-{other}.dist-info" / "METADATA").write_text(f"Name: tclose\nVersion: {other}\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec {sys.base_prefix}/bin/python3 "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.soak  # a session of its own takes 10 s of CPU
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("", "the Python of the executors has no tclose"),
        ("0.0.1", "the executors have another version of tclose than the driver"),
    ],
)
def test_the_sentence_says_what_is_lacking(cluster: SimpleNamespace, tmp_path: Path, other: str, said: str) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": str(python_without_tclose(tmp_path, other))}
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    command = [sys.executable, "-c", SCRIPT, cluster.machines.address, json.dumps(cluster.settings)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    sentence = f"{said}: docs/large-tables.md says how to bring it there"
    assert done.stdout.splitlines() == [sentence, sentence], done.stderr[-3000:]
