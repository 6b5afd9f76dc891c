"""δ-presence and the exchange attack on the real command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

POLICY = """
k = 3
quasi = ["age", "sex"]
[sensitive.ill]
t = 0.5
[presence]
population = "everyone.csv"
max = 0.5
"""
PUBLISH = (
    "anonymize",
    "t.csv",
    "--policy",
    "p.toml",
    "--out",
    "r.csv",
    "--certificate",
    "c.json",
    "--method",
    "mondrian",
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chance = np.random.default_rng(3)
    people = pl.DataFrame({"age": chance.integers(20, 80, 200), "sex": chance.choice(["f", "m"], 200)})
    people.write_csv(tmp_path / "everyone.csv")
    people[:60].with_columns(ill=pl.Series(chance.choice(["flu", "cold"], 60))).write_csv(tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_publish_verify_and_attack(files: Path, tclose: Callable[..., Any]) -> None:
    assert "anyone of a population of 200 rows is in the table" in tclose(*PUBLISH).out
    claim = json.loads((files / "c.json").read_text())["presence"]
    assert (claim["max"], claim["population_rows"]) == (0.5, 200)
    assert json.loads(tclose("verify", "r.csv", "--certificate", "c.json", "--json").out)["not_verifiable"].count(
        "presence"
    )
    verified = tclose("verify", "r.csv", "--certificate", "c.json", "--population", "everyone.csv")
    assert verified.status == 0
    attack = tclose(
        "attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", "--population", "everyone.csv", "--json"
    )
    found = {each["name"]: each for each in json.loads(attack.out)["attacks"]}
    assert found["membership"]["release"]["figure"] <= 0.5 < found["membership"]["raw"]["figure"]
    assert found["exchange"]["release"]["details"]["attributes"]["ill"]["rows"] == 60


def test_what_cannot_be_done_is_one_sentence(files: Path, tclose: Callable[..., Any]) -> None:
    (files / "p.toml").write_text(POLICY.replace("0.5\n[", "0.5\n[").replace("max = 0.5", "max = 0.05"))
    refused = tclose(*PUBLISH)
    assert refused.status == 1
    assert "no partition was found for presence from 0 to 0.05" in refused.err
    (files / "p.toml").write_text(POLICY.replace('population = "everyone.csv"\n', ""))
    tclose(*PUBLISH).refuses("presence", 'population = "FILE"')
    (files / "p.toml").write_text(POLICY.replace("everyone", "nobody"))
    tclose(*PUBLISH).refuses("nobody.csv")
