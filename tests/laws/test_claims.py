"""Whatever tclose claims has one shape: an answer of three, a sentence, and what an undecided answer needs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose.steps import anonymize

TABLES = 2 * TIMES  # `make soak` sets it
FINDING = {"figure", "rows", "share", "sentence", "details", "answer", "says"}


def claims(content: Any) -> Iterator[dict[str, Any]]:
    """Yield everything in a JSON that claims something."""
    if isinstance(content, dict):
        if "answer" in content:
            yield content
        for value in content.values():
            yield from claims(value)
    elif isinstance(content, list):
        for value in content:
            yield from claims(value)


def check_shape(claim: dict[str, Any]) -> None:
    """Assert what CONTRACTS says of a claim."""
    assert claim["answer"] in ("yes", "no", "undecided")
    assert isinstance(claim["says"], str)
    assert claim["says"]
    assert ("needs" in claim) == (claim["answer"] == "undecided")
    assert claim.get("needs", "said")


@pytest.mark.parametrize("seed", range(TABLES))
def test_all_claims_have_one_shape(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(12, 40))
    table = pl.DataFrame({"age": draw.integers(20, 60, rows), "sex": draw.choice(["f", "m"], rows)}).with_columns(
        ill=pl.Series(draw.choice(["flu", "cold", "gout"], rows)), pay=pl.Series(draw.integers(0, 9, rows))
    )
    register = table[["age", "sex"]].with_columns(age=pl.col("age") + int(draw.choice([0, 500])))
    policy = {"quasi": ["age", "sex"], "sensitive": {"ill": {"t": 0.9, "distance": "equal"}, "pay": {"t": 0.9}}, "k": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        table.write_csv(tmp_path / "t.csv")
        files = {"out": tmp_path / "r.csv", "certificate": tmp_path / "c.json"}
        made = anonymize(tmp_path / "t.csv", tclose.Policy.from_dict(policy), method="mondrian", seed=seed, **files)
        release = pl.read_csv(tmp_path / "r.csv", infer_schema=False)
        attacked = tclose.attack(release, original=table, policy=policy, register=register).to_dict()
        told = [tclose.check(table, policy), made, tclose.verify(tmp_path / "r.csv", tmp_path / "c.json")]
    for claim in claims([attacked, *(each.to_dict() for each in told)]):
        check_shape(claim)
    findings = [finding for each in attacked["attacks"] for name, finding in each.items() if name in attacked["tables"]]
    assert len(findings) == 3 * len(attacked["attacks"])
    for finding in findings:
        assert finding.keys() - {"needs"} == FINDING
        assert finding["says"] == finding["sentence"]
        assert (finding["answer"] == "no") == (finding["rows"] > 0)
        if finding["figure"] is None and not finding["rows"]:
            assert finding["answer"] == "undecided"
