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
    said = " ".join(tclose(*PUBLISH[:-2]).out.split())
    assert "presence: each of the 200 persons of the population fits exactly one of" in said
    assert "Method: mondrian, because the policy asks for presence and no --method was given." in said
    claim = json.loads((files / "c.json").read_text())["presence"]
    assert (claim["version"], claim["max"], claim["population_rows"]) == (2, 0.5, 200)
    alone = tclose("verify", "r.csv", "--certificate", "c.json")
    assert "whether it keeps presence is not decided" in " ".join(alone.out.split())
    opened = json.loads(tclose("verify", "r.csv", "--certificate", "c.json", "--json").out)
    assert opened["not_verifiable"].count("presence")
    assert opened["presence"]["answer"] == "undecided"
    verified = tclose("verify", "r.csv", "--certificate", "c.json", "--population", "everyone.csv")
    assert verified.status == 0
    assert "each of the 200 persons of the population fits exactly one class" in " ".join(verified.out.split())
    checked = tclose("check", "r.csv", "--policy", "p.toml")
    assert checked.status == 0
    assert "Presence: each of the 200 persons" in checked.out
    attack = tclose(
        "attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", "--population", "everyone.csv", "--json"
    )
    found = {each["name"]: each for each in json.loads(attack.out)["attacks"]}
    assert found["membership"]["release"]["figure"] <= 0.5 < found["membership"]["raw"]["figure"]
    assert found["exchange"]["release"]["details"]["attributes"]["ill"]["rows"] == 60


def test_what_cannot_be_done_is_one_sentence(files: Path, tclose: Callable[..., Any]) -> None:
    (files / "p.toml").write_text(POLICY.replace("max = 0.5", "max = 0.05"))
    refused = tclose(*PUBLISH)
    assert refused.status == 1
    assert "60 of the 200 persons of the population are in the table, so their mean chance is 3/10 (0.3)" in refused.err
    (files / "p.toml").write_text(POLICY)
    tclose(*PUBLISH[:-1], "weave").refuses("method 'weave' cannot keep presence", "choose method 'mondrian'")
    (files / "p.toml").write_text(POLICY.replace('population = "everyone.csv"\n', ""))
    tclose(*PUBLISH).refuses("presence", 'population = "FILE"')
    (files / "p.toml").write_text(POLICY.replace("everyone", "nobody"))
    tclose(*PUBLISH).refuses("nobody.csv")
