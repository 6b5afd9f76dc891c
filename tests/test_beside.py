"""A release beside its table: the limits of classes agree with the certificate, and columns are counted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tclose import steps
from tclose.errors import InputError, LeakWarning
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
    listed = steps.class_list(out, table, POLICY, certificate)
    assert [each.used for each in listed.classes] == pytest.approx([each[0].used for each in limits])
    sizes = [each.rows for each in listed.classes]
    lost = sum(each.rows * each.loss for each in listed.classes if each.loss is not None) / sum(sizes)
    assert lost == pytest.approx(made["measures"]["gcp"], abs=1e-4)
    fits = [steps.class_reasons(out, table, POLICY, class_number=each.number).fit for each in listed.classes]
    assert all(fit >= size for fit, size in zip(fits, sizes, strict=True))
    changes = {change.name: change for change in steps.column_changes(out, table, POLICY)}
    cells = pl.read_csv(out, infer_schema=False)["age"]
    assert (changes["age"].before, changes["age"].after) == (table["age"].n_unique(), cells.n_unique())
    exact = cells.is_in(table["age"].cast(pl.String).to_list())
    assert changes["age"].exact == pytest.approx(exact.mean())
    ends = cells.str.extract_groups(r"\[(\d+), (\d+)\]").struct.unnest().cast(pl.Float64)
    assert changes["age"].width == pytest.approx((ends["2"] - ends["1"]).fill_null(0).mean())


def test_values_that_are_counted_beside_the_rows_are_known_exactly(tmp_path: Path) -> None:
    table = hospital(60, seed=2).select("age", "diagnosis")
    policy = {
        "k": 3,
        "both": ["age"],
        "quasi": {"age": {}},
        "sensitive": {"age": {"t": 0.9}, "diagnosis": {"t": 0.9}},
    }
    out, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    steps.anonymize(table, policy, out=out, certificate=certificate)
    changes = {change.name: change for change in steps.column_changes(out, table, policy)}
    assert changes["age"].exact < 1
    assert changes["age"].reconstruction is not None
    assert changes["age"].reconstruction.differs == pytest.approx(0)
    look = steps.look_inside(out, policy, class_number=1)
    limits = steps.class_limits(out, certificate, class_number=1)
    listed = steps.class_list(out, table, policy, certificate)
    assert listed.classes[0].rows == look.chosen.rows
    assert listed.classes[0].used == pytest.approx(limits[0].used)
    assert {limit.name for limit in limits} == {"age", "diagnosis"}


def test_groups_are_no_classes_that_a_t_could_bound(tmp_path: Path) -> None:
    table = hospital(60, seed=2).select("age", "diagnosis")
    policy = {"k": 3, "quasi": ["age"], "sensitive": {"diagnosis": {"t": 0.9}}}
    out, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    with pytest.warns(LeakWarning, match="published exactly"):
        steps.anonymize(table, policy, out=out, certificate=certificate, method="permutation")
    assert set(steps.class_list(out, table, policy, certificate).orders) == {"loss", "rows"}
    for told in (
        lambda: steps.class_limits(out, certificate, class_number=1),
        lambda: steps.class_reasons(out, table, policy, class_number=1),
    ):
        with pytest.raises(InputError, match="has groups"):
            told()
    (change, _) = steps.column_changes(out, table, policy)
    assert change.reconstruction is not None
    assert change.reconstruction.differs == 0
