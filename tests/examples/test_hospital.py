from __future__ import annotations

import tomllib
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.examples import DIAGNOSES, EDUCATION, JOBS, LABS, REGIONS, SSN_COUNT, STATUS, hospital

SCHEMA = {
    "name": pl.String,
    "ssn": pl.String,
    "zip": pl.String,
    "age": pl.Int64,
    "sex": pl.String,
    "education": pl.String,
    "occupation": pl.String,
    "ldl": pl.Int64,
    "hdl": pl.Int64,
    "hemoglobin": pl.Float64,
    "systolic": pl.Int64,
    "glucose": pl.Int64,
    "length_of_stay": pl.Int64,
    "charges": pl.Int64,
    "diagnosis": pl.String,
}
LEAVES = [each.leaf for each in DIAGNOSES]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return hospital(20_000, seed=1)


def explained(table: pl.DataFrame, lab: str) -> float:
    """Return R² of an ordinary least squares fit of the laboratory value on age, sex and diagnosis."""
    dummies = [table["diagnosis"] == leaf for leaf in LEAVES[1:]]
    known = np.column_stack([np.ones(table.height), table["age"], table["sex"] == "male", *dummies])
    values = table[lab].to_numpy()
    left = values - known @ np.linalg.lstsq(known, values)[0]
    return float(1 - left.var() / values.var())


def looks_like_a_hospital(table: pl.DataFrame) -> bool:
    """Return whether every cell is well formed and within the bounds of life."""
    bounds = [pl.col(lab.name).is_between(lab.low, lab.high) for lab in LABS]
    return table.select(
        pl.all_horizontal(
            pl.col("name").str.contains(r"^[A-Z][a-z]+ [A-Z][a-z]+$"),
            pl.col("ssn").str.contains(r"^9\d\d-[0-4]\d-\d{4}$"),
            pl.col("zip").str.contains(r"^\d{5}$"),
            pl.col("age").is_between(0, 95),
            pl.col("sex").is_in(["female", "male"]),
            pl.col("education").is_in(list(EDUCATION)),
            pl.col("occupation").is_in([*STATUS, *JOBS]),
            pl.col("hemoglobin") == pl.col("hemoglobin").round(1),
            pl.col("length_of_stay") >= 1,
            pl.col("charges") > 0,
            pl.col("diagnosis").is_in(LEAVES),
            *bounds,
        ).all()
    ).item()


def test_schema(table: pl.DataFrame) -> None:
    assert dict(table.schema) == SCHEMA
    assert list(table.columns) == list(SCHEMA)
    assert table.null_count().sum_horizontal().item() == 0


def test_same_seed_same_table(table: pl.DataFrame) -> None:
    assert table.equals(hospital(20_000, seed=1))
    assert not table.equals(hospital(20_000, seed=2))
    assert hospital(50).equals(hospital(50, seed=0))


@given(rows=st.integers(1, 60), seed=st.integers(0, 2**64))
def test_any_size_and_seed(rows: int, seed: int) -> None:
    table = hospital(rows, seed=seed)
    assert table.height == rows
    assert dict(table.schema) == SCHEMA
    assert table["ssn"].n_unique() == rows
    assert looks_like_a_hospital(table)
    assert table.equals(hospital(rows, seed=seed))


@pytest.mark.parametrize("rows", [0, -1, SSN_COUNT + 1])
def test_impossible_size_is_refused(rows: int) -> None:
    with pytest.raises(ValueError, match="ask for 1 to"):
        hospital(rows)


def test_one_row() -> None:
    assert hospital(1).shape == (1, len(SCHEMA))


def test_cells_are_well_formed(table: pl.DataFrame) -> None:
    assert looks_like_a_hospital(table)


@pytest.mark.parametrize("seed", [0, 3])
def test_ssns_are_unique(seed: int) -> None:
    assert hospital(300_000, seed=seed)["ssn"].n_unique() == 300_000


def test_there_are_ssns_for_ten_million_rows() -> None:
    assert SSN_COUNT >= 10_000_000


def test_zips_cluster_in_regions_and_some_start_with_zero(table: pl.DataFrame) -> None:
    assert table["zip"].str.slice(0, 3).unique().sort().to_list() == sorted(REGIONS)
    assert 200 <= table["zip"].n_unique() <= 500
    assert 0.1 < table["zip"].str.starts_with("0").sum() / table.height < 0.9


def test_every_option_occurs(table: pl.DataFrame) -> None:
    assert set(table["education"]) == set(EDUCATION)
    assert set(table["occupation"]) == {*STATUS, *JOBS}
    assert set(table["diagnosis"]) == set(LEAVES)


def test_age_decides_school_and_work(table: pl.DataFrame) -> None:
    assert set(table.filter(pl.col("age") < 6)["occupation"]) == {"child"}
    assert set(table.filter(pl.col("age") < 6)["education"]) == {"none"}
    assert set(table.filter(pl.col("age").is_between(6, 17))["occupation"]) == {"student"}
    assert set(table.filter(pl.col("age") >= 30)["occupation"]).isdisjoint({"child"})


@pytest.mark.parametrize("lab", [lab.name for lab in LABS])
@pytest.mark.parametrize("seed", range(4))
def test_labs_depend_on_age_sex_and_diagnosis(lab: str, seed: int) -> None:
    assert explained(hospital(20_000, seed=seed), lab) >= 0.25


def test_labs_vary_and_hardly_reach_their_bounds(table: pl.DataFrame) -> None:
    for lab in LABS:
        assert table[lab.name].n_unique() > 50
        assert np.isin(table[lab.name], [lab.low, lab.high]).mean() < 0.001


def test_labs_and_stay_are_correlated(table: pl.DataFrame) -> None:
    assert table.select(pl.corr("hdl", "glucose")).item() < -0.1
    assert table.select(pl.corr("ldl", "systolic")).item() > 0.1
    assert table.select(pl.corr("length_of_stay", "charges")).item() > 0.5


def test_hierarchy_covers_the_diagnoses() -> None:
    rows = [
        line.split(";") for line in files("tclose.examples").joinpath("diagnosis.csv").read_text("utf-8").splitlines()
    ]
    leaves, groups, chapters, roots = zip(*rows, strict=True)
    assert list(leaves) == LEAVES
    assert set(roots) == {"*"}
    assert 1 < len(set(chapters)) < len(set(groups)) < len(leaves)
    assert len(set(zip(groups, chapters, strict=True))) == len(set(groups))


def test_policy_names_every_column_once() -> None:
    policy = tomllib.loads(files("tclose.examples").joinpath("policy.toml").read_text("utf-8"))
    named = [*policy["identifiers"], *policy["quasi"], *policy["sensitive"]]
    assert sorted(named) == sorted(SCHEMA)
    assert files("tclose.examples").joinpath(policy["sensitive"]["diagnosis"]["hierarchy"]).is_file()
