"""Regression on a release: what its intervals enclose, and that they cover the raw coefficients of a real table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose import InputError, LeakWarning
from tclose.analysis.columns import ExactColumn
from tclose.analysis.regression import fitted

DATA = Path(__file__).parents[3] / "shared" / "data"
SEEDS = 6
ASKED: dict[str, Any] = {"level": 0.95, "direction": "same", "draws": 2, "seed": 0}


def raw_fit(design: Any, y: Any) -> tuple[Any, Any]:
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    residuals = y - design @ found
    return found, np.sqrt(np.diag(inverse) * (residuals @ residuals) / (len(y) - len(found)))


@settings(max_examples=30)
@given(st.data())
def test_extremes_enclose_every_pairing(data: Any) -> None:
    """With x known, every exchange of y within classes gives a coefficient between the extremes."""
    rows = data.draw(st.integers(4, 9))
    x = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), dtype=float)
    x[:2] = 0, 1  # not constant
    y = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), dtype=float)
    labels = np.sort(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    columns = {"x": ExactColumn("x", pl.Series(x))}
    found = fitted(ExactColumn("y", pl.Series(y)), columns, labels, **ASKED)
    order = np.lexsort((data.draw(st.permutations(range(rows))), labels))
    other, _ = raw_fit(np.column_stack([np.ones(rows), x]), y[order])
    assert (found.least - 1e-9 <= other).all()
    assert (other <= found.largest + 1e-9).all()
    assert (found.lower <= found.estimate).all()


def test_rows_of_single_values_give_the_usual_regression() -> None:
    """Where nothing is hidden, the result is that of ordinary least squares."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=50), rng.normal(size=50)
    found = fitted(ExactColumn("y", pl.Series(y)), {"x": ExactColumn("x", pl.Series(x))}, np.arange(50), **ASKED)
    raw, errors = raw_fit(np.column_stack([np.ones(50), x]), y)
    assert found.estimate == pytest.approx(raw)
    assert found.standard_error == pytest.approx(errors)
    assert found.upper - found.lower == pytest.approx(2 * 1.959964 * errors)


def test_texts_are_indicators_and_missing_rows_are_left_out() -> None:
    y = pl.Series([1.0, 2.0, 3.0, 4.0, 5.0, None])
    x = {"town": ExactColumn("town", pl.Series(["a", "a", "b", "b", None, "a"]))}
    found = fitted(ExactColumn("y", y), x, np.arange(6), **ASKED)
    assert found.terms == ("intercept", "town=b")
    assert found.estimate == pytest.approx([1.5, 2.0])
    assert found.rows == 4
    assert found.frame["term"].to_list() == ["intercept", "town=b"]
    assert "town=b: 2 [" in repr(found)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"level": 1}, "level"),
        ({"direction": "up"}, "direction"),
        ({"draws": 1}, "two draws"),
    ],
)
def test_settings_that_say_nothing_are_refused(change: dict[str, Any], why: str) -> None:
    column = ExactColumn("x", pl.Series([1.0, 2.0, 4.0]))
    with pytest.raises(InputError, match=why):
        fitted(ExactColumn("y", pl.Series([1.0, 2.0, 3.0])), {"x": column}, np.arange(3), **{**ASKED, **change})


def test_columns_that_follow_from_each_other_are_refused() -> None:
    x = ExactColumn("x", pl.Series([1.0, 2.0, 4.0, 3.0]))
    twice = ExactColumn("z", pl.Series([2.0, 4.0, 8.0, 6.0]))
    y = ExactColumn("y", pl.Series([1.0, 2.0, 3.0, 5.0]))
    with pytest.raises(InputError, match="follows from the others"):
        fitted(y, {"x": x, "z": twice}, np.arange(4), **ASKED)
    with pytest.raises(InputError, match="at least one"):
        fitted(y, {}, np.arange(4), **ASKED)
    with pytest.raises(InputError, match="both y and x"):
        fitted(y, {"y": y}, np.arange(4), **ASKED)
    with pytest.raises(InputError, match="no numbers"):
        fitted(ExactColumn("y", pl.Series(["a", "b", "c", "d"])), {"x": x}, np.arange(4), **ASKED)


def test_intervals_cover_the_raw_coefficients_of_a_real_table(tmp_path: Path) -> None:
    """A small version of bench/regression.py."""
    if not (DATA / "nhanes_labs.csv").exists():
        pytest.skip(f"the tables of {DATA} are not there")
    columns = ("Age", "Gender", "HHIncomeMid", "BPSysAve")
    whole = pl.read_csv(DATA / "nhanes_labs.csv", infer_schema_length=None).select(columns).drop_nulls()
    policy = tclose.Policy.from_dict({"quasi": columns[:3], "sensitive": {"BPSysAve": {"t": "0.15"}}, "k": 5})
    covered, widths = 0, []
    for seed in range(SEEDS):
        raw = whole[np.random.default_rng(seed).choice(whole.height, 400, replace=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            release = tclose.anonymize(raw, policy, seed=seed, method="mondrian")
        release.write(tmp_path / "r.parquet", certificate=tmp_path / "c.json", release_format="columns")
        found = tclose.load(tmp_path / "r.parquet", tmp_path / "c.json").regression("BPSysAve", ["Age", "Gender"])
        male = (raw["Gender"] == "male").to_numpy().astype(float)
        design = np.column_stack([np.ones(raw.height), raw["Age"].to_numpy(), male])
        coefficients, errors = raw_fit(design, raw["BPSysAve"].to_numpy())
        covered += bool(((found.lower <= coefficients) & (coefficients <= found.upper)).all())
        widths.append((found.upper - found.lower) / (2 * 1.96 * errors))
    assert covered >= 0.9 * SEEDS
    assert np.mean(widths, axis=0).max() <= 4
