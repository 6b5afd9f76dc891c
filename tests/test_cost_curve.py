"""What protection costs: levels, the lower bound beneath, and samples that keep persons whole."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from tclose import steps
from tclose.errors import PolicyError
from tclose.examples import hospital
from tclose.table.persons import sampled

POLICY = {"k": 2, "quasi": ["age"], "sensitive": {"ldl": {"t": 0.4}}}


def test_the_bound_lies_beneath_and_exposed_rows_are_counted() -> None:
    table = hospital(60, seed=1).select("age", "ldl")
    found = steps.cost_curve(
        table, POLICY, methods=["mondrian:strict"], times=[Fraction(2)], most_rows=40, bound_seconds=0.2
    ).to_dict()
    assert (found["rows"], found["of"], found["levels"]) == (40, 60, [0.4, 0.8])
    losses = found["losses"]["mondrian:strict"]
    assert all(least <= loss for least, loss in zip(found["least"], losses, strict=True))
    assert 0 <= found["trials"][0]["exposed"] <= 40


def test_why_there_is_no_bound_is_said() -> None:
    table = hospital(60, seed=1).select("age", "ldl")
    policy = {**POLICY, "loss": "discernibility"}
    found = steps.cost_curve(table, policy, methods=["mondrian:strict"], times=[], bound_seconds=0.2)
    assert "detail lost" in found.no_bound
    assert found.to_dict()["least"] == []
    with pytest.raises(PolicyError):
        steps.cost_curve(table, POLICY, methods=["mondrain"])


def test_samples_keep_persons_whole() -> None:
    table = pl.DataFrame({"who": [1, 1, 2, 3, 3, 3, 4] * 3, "x": range(21)})
    part = sampled(table, 12, person="who", seed=0)
    assert 0 < part.height <= 12
    assert all(part.filter(who=who).height == table.filter(who=who).height for who in part["who"].unique())
    rows = sampled(table, 5, person=None, seed=0)
    assert rows.height == 5
    assert rows["x"].is_sorted()
    assert sampled(table, 21, person=None, seed=0) is table
