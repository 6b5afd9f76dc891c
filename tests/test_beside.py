"""A release beside its table: the limits of classes agree with the certificate, and columns are counted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tclose import steps
from tclose.examples import hospital

POLICY = {
    "k": 3,
    "quasi": ["age", "sex"],
    "sensitive": {"ldl": {"t": 0.4, "bins": {"width": 20}, "publish": "bin"}, "diagnosis": {"t": 0.5}},
}


def test_the_largest_distance_of_all_classes_is_the_certified_one(tmp_path: Path) -> None:
    table = hospital(120, seed=2).select("age", "sex", "ldl", "diagnosis")
    out, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    made = steps.anonymize(table, POLICY, out=out, certificate=certificate, method="mondrian").to_dict()
    limits = [steps.class_limits(out, certificate, class_number=number + 1) for number in range(made["classes"])]
    for name, claim in made["sensitive"].items():
        largest = max(limit.distance for each in limits for limit in each if limit.name == name)
        assert largest == pytest.approx(claim["closeness"])
    assert all(each[0].used >= each[-1].used for each in limits)
    changes = {change.name: change for change in steps.column_changes(out, table, POLICY)}
    cells = pl.read_csv(out, infer_schema=False)["age"]
    assert (changes["age"].before, changes["age"].after) == (table["age"].n_unique(), cells.n_unique())
    exact = cells.is_in(table["age"].cast(pl.String).to_list())
    assert changes["age"].exact == pytest.approx(exact.mean())
    ends = cells.str.extract_groups(r"\[(\d+), (\d+)\]").struct.unnest().cast(pl.Float64)
    assert changes["age"].width == pytest.approx((ends["2"] - ends["1"]).fill_null(0).mean())
