"""`tclose.sklearn.Anonymizer`: scikit-learn's own checks, what it publishes, and what it keeps to itself."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose

sklearn = pytest.importorskip("sklearn", minversion="1.6", reason="pip install 'tclose[learn]'")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import make_column_selector, make_column_transformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from tclose.sklearn import Anonymizer  # noqa: E402

NO_GUARANTEE = "ignore:new rows are only recoded:tclose.errors.LeakWarning"
OWN_VALUES = "ignore:.*:tclose.errors.LeakWarning"
MAY_FAIL = {"check_fit2d_1sample": "one row is not k-anonymous: Infeasible says so, and is no ValueError"}
POLICY: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi": {"age": {}, "zip": {"hierarchy": {"prefix": [3, 1]}}, "sex": {}},
    "sensitive": {"salary": {"t": 0.4}},
    "k": 2,
}
TABLE = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(12)],
        "age": [20, 71, 22, 69, 24, 67, 26, 65, 28, 63, 30, 61],
        "zip": ["02139", "10001", "02138", "10002", "02141", "10003"] * 2,
        "sex": ["f", "m", "f", "f", "m", "m"] * 2,
        "salary": [3, 4, 5, 3, 4, 5] * 2,
    }
)


class AllQuasi:
    """A policy for any table; it spells itself alike in every process, since the names of tests do."""

    def __call__(self, names: Sequence[str]) -> dict[str, Any]:
        return {"quasi": list(names), "k": 2}

    def __repr__(self) -> str:
        return "AllQuasi()"


@pytest.mark.filterwarnings(OWN_VALUES)
@parametrize_with_checks(
    [Anonymizer(AllQuasi(), method="mondrian", numbers="midpoints")],
    expected_failed_checks=lambda estimator: MAY_FAIL,
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_checks_that_may_fail_do() -> None:
    with pytest.raises(tclose.Infeasible):
        Anonymizer(AllQuasi()).fit(np.zeros((1, 2)))


# What is published


def fitted(**settings: Any) -> tuple[Anonymizer, pl.DataFrame]:
    anonymizer = Anonymizer(POLICY, method="mondrian", **settings)
    return anonymizer, anonymizer.fit_transform(TABLE)


def ends(text: str) -> tuple[int, int]:
    low, _, high = text.strip("[]").partition(", ")
    return int(low), int(high or low)


def test_fitted_rows_get_the_values_of_the_release_in_their_own_order() -> None:
    anonymizer, shown = fitted()
    assert shown.columns == ["age", "zip", "sex", "salary"] == anonymizer.get_feature_names_out().tolist()
    assert shown["salary"].to_list() == TABLE["salary"].to_list()
    assert sorted(shown.rows()) == sorted(anonymizer.release_.frame.rows())
    for text, age in zip(shown["age"], TABLE["age"], strict=True):
        low, high = ends(text)
        assert low <= age <= high


def test_the_release_is_written_and_verified_as_any_other(tmp_path: Any) -> None:
    anonymizer, _ = fitted()
    anonymizer.release_.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert tclose.verify(tmp_path / "r.csv", tmp_path / "c.json").holds


@given(st.data())
@settings(max_examples=examples(25))
@pytest.mark.filterwarnings("ignore")
def test_every_fitted_row_gets_a_class_that_covers_it(data: st.DataObject) -> None:
    """The law behind `fit_transform`, for numbers with steps and tails, labels and sets, missing cells among them."""
    rows = data.draw(st.integers(4, 30))
    ages = data.draw(st.lists(st.none() | st.integers(0, 99), min_size=rows, max_size=rows))
    zones = data.draw(st.lists(st.none() | st.sampled_from("abc"), min_size=rows, max_size=rows))
    table = pl.DataFrame({"age": ages, "zone": zones}, schema={"age": pl.Int64, "zone": pl.String})
    policy = {"quasi": {"age": {"step": 10, "top": 90, "bottom": 18}, "zone": {}}, "k": 2}
    anonymizer = Anonymizer(policy, method="kanonymity")
    shown = anonymizer.fit_transform(table)
    fits = anonymizer.fitted_classes_._distances(table)
    visible = anonymizer.fitted_classes_.shown.rows()
    for row, cells in enumerate(shown.rows()):
        assert fits[row, visible.index(cells)] == 0


def test_withheld_rows_have_no_values() -> None:
    policy = {**POLICY, "suppress": 0.5, "sensitive": {"salary": {"t": 0.4, "missing": "suppress"}}}
    table = TABLE.with_columns(salary=pl.Series([None, *TABLE["salary"].to_list()[1:]]))
    shown = Anonymizer(policy, method="mondrian").fit_transform(table)
    assert shown.height == 12
    assert shown.row(0) == (None,) * 4
    assert None not in shown.row(1)


def test_y_joins_the_table_and_is_judged() -> None:
    policy = {"identifiers": ["name"], "quasi": ["age", "zip", "sex"], "sensitive": {"pay": {"t": 0.4}}, "k": 2}
    anonymizer = Anonymizer(policy, target="pay", method="mondrian")
    shown = anonymizer.fit_transform(TABLE.drop("salary"), TABLE["salary"].to_numpy())
    assert shown.columns == ["age", "zip", "sex"]
    assert anonymizer.release_.results[0].sensitive["pay"].closeness <= 0.4
    with pytest.warns(tclose.LeakWarning, match="no guarantee"):
        assert anonymizer.transform(TABLE.drop("salary")).columns == shown.columns


BAD: dict[str, tuple[dict[str, Any], pl.DataFrame, Any, str]] = {
    "no y": ({"target": "pay"}, TABLE, None, "fit needs y"),
    "y twice": ({"target": "salary"}, TABLE, [1] * 12, "has a column 'salary' already"),
    "y too short": ({"target": "pay"}, TABLE, [1], "one value for each of the 12 rows"),
    "several tables": ({"method": "anatomy"}, TABLE, None, "publishes several tables"),
    "no such numbers": ({"numbers": "middle"}, TABLE, None, "numbers is one of ranges, midpoints"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.filterwarnings(OWN_VALUES)
def test_what_cannot_be_fitted_is_refused(case: str) -> None:
    settings, table, y, message = BAD[case]
    with pytest.raises(tclose.TcloseError, match=message):
        Anonymizer(POLICY, **settings).fit(table, y)


# New rows


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_new_rows_get_the_published_values_of_one_class() -> None:
    anonymizer, shown = fitted()
    new = TABLE[:2].with_columns(age=pl.Series([1, 99]), zip=pl.Series(["02100", "10099"]), salary=pl.Series([7, 8]))
    recoded = anonymizer.transform(new)
    assert recoded["salary"].to_list() == [7, 8]
    assert set(recoded[["age", "zip", "sex"]].rows()) <= set(shown[["age", "zip", "sex"]].rows())


@given(st.lists(st.integers(0, 50), min_size=4, max_size=20), st.lists(st.integers(-10, 60), min_size=1))
@settings(max_examples=examples(25))
@pytest.mark.filterwarnings("ignore")
def test_a_new_number_goes_to_the_nearest_range_and_to_the_narrowest_that_covers_it(
    ages: list[int], new: list[int]
) -> None:
    anonymizer = Anonymizer({"quasi": ["age"], "k": 2}, method="kanonymity").fit(pl.DataFrame({"age": ages}))
    ranges = {text: ends(text) for text in anonymizer.release_.frame["age"]}

    def key(text: str, age: int) -> tuple[int, int]:
        low, high = ranges[text]
        return max(low - age, age - high, 0), high - low

    for age, text in zip(new, anonymizer.transform(pl.DataFrame({"age": new}))["age"], strict=True):
        assert key(text, age) == min(key(other, age) for other in ranges)


def test_new_rows_warn_that_nothing_is_guaranteed() -> None:
    anonymizer, _ = fitted()
    with pytest.warns(tclose.LeakWarning, match="no guarantee holds for them"):
        anonymizer.transform(TABLE)


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_new_rows_of_another_kind_are_refused() -> None:
    anonymizer, _ = fitted()
    with pytest.raises(tclose.InputError, match="'age' is not all numbers"):
        anonymizer.transform(TABLE.with_columns(age=pl.lit("old")))
    with pytest.raises(ValueError, match="feature"):
        anonymizer.transform(TABLE.drop("zip"))


@pytest.mark.filterwarnings(NO_GUARANTEE)
@pytest.mark.parametrize("hierarchy", [{"width": [10, 50]}, {"rows": [[str(age), "*"] for age in range(100)]}])
def test_rules_and_listed_hierarchies_cover_new_values(hierarchy: dict[str, Any]) -> None:
    policy = {**POLICY, "quasi": {"age": {"hierarchy": hierarchy}, "zip": {}, "sex": {}}}
    anonymizer = Anonymizer(policy, method="mondrian").fit(TABLE)
    new = TABLE.with_columns(age=TABLE["age"] + 1)
    columns = anonymizer.fitted_classes_
    distances = columns.texts["age"].distances(tclose.table.values.values_of(new["age"], ("",)))
    assert (distances[:-1].min(axis=1) == 0).any()
    assert anonymizer.transform(new).height == 12


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_sensitive_bins_hold_for_new_rows() -> None:
    bins = {"bins": {"edges": [0, 3, 9]}, "publish": "bin"}
    anonymizer = Anonymizer({**POLICY, "sensitive": {"salary": {"t": 0.5, **bins}}}, method="mondrian").fit(TABLE)
    new = TABLE[:4].with_columns(salary=pl.Series([1, 9, 10, None]))
    assert anonymizer.transform(new)["salary"].to_list() == ["(0, 3]", "(3, 9]", None, None]


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_bins_that_are_learned_are_those_of_the_published_rows() -> None:
    """A withheld row has the largest value: an edge that knows it would tell."""
    pay = {"t": 0.5, "bins": {"quantiles": 3}, "publish": "bin"}
    policy = {**POLICY, "suppress": 0.2, "sensitive": {"salary": pay, "ill": {"t": 1, "missing": "suppress"}}}
    ills = [None, *(["flu", "cold"] * 6)[1:]]
    table = TABLE.with_columns(salary=pl.Series([987_654, *range(11)]), ill=pl.Series(ills))
    anonymizer = Anonymizer(policy, method="mondrian")
    shown = anonymizer.fit_transform(table)
    assert shown["salary"][0] is None
    assert anonymizer.transform(table)["salary"].to_list() == shown["salary"].to_list()
    assert not any("98" in label or "99" in label for label in anonymizer.fitted_classes_.bins["salary"].labels)


# What it keeps to itself


def test_a_pickle_holds_published_values_only() -> None:
    anonymizer, _ = fitted()
    data = pickle.dumps(anonymizer)
    assert b"person" not in data
    for value in ("02139", "10003"):
        assert value.encode() not in data
    again = pickle.loads(data)
    assert not hasattr(again, "release_")
    with pytest.warns(tclose.LeakWarning, match="no guarantee"):
        assert again.transform(TABLE).height == 12


def test_it_prints_itself_without_a_seed_or_a_cell() -> None:
    anonymizer, _ = fitted()
    for text in (repr(anonymizer), anonymizer._repr_html_()):
        assert "seed" not in text
        assert "person 1" not in text


# Habits of scikit-learn


def test_a_clone_has_the_same_parameters_and_is_not_fitted() -> None:
    anonymizer, _ = fitted(numbers="midpoints")
    copy = clone(anonymizer).set_params(options={"effort": "fast"})
    assert copy.get_params()["policy"] == POLICY
    assert not hasattr(copy, "release_")


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_frames_come_back_as_they_were_given() -> None:
    anonymizer = Anonymizer(POLICY, method="mondrian", numbers="midpoints")
    frame = TABLE.to_pandas().set_index(pd.Index(range(100, 112)))
    shown = anonymizer.fit_transform(frame)
    assert isinstance(shown, pd.DataFrame)
    assert shown.index.tolist() == frame.index.tolist()
    assert shown["age"].dtype == float
    assert isinstance(anonymizer.fit(TABLE).transform(TABLE), pl.DataFrame)
    assert isinstance(anonymizer.fit(TABLE).set_output(transform="pandas").transform(TABLE), pd.DataFrame)


@pytest.mark.filterwarnings(NO_GUARANTEE)
def test_a_pipeline_learns_from_midpoints() -> None:
    policy = {"identifiers": ["name"], "quasi": ["age", "zip", "sex"], "sensitive": {"pay": {"t": 0.5}}, "k": 2}
    numbers, texts = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encoded = make_column_transformer(("passthrough", numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
    model = make_pipeline(
        Anonymizer(policy, target="pay", method="mondrian", numbers="midpoints"),
        encoded,
        RandomForestClassifier(n_estimators=5, random_state=0),
    )
    X, y = TABLE.drop("salary").to_pandas(), TABLE["salary"].to_numpy()
    assert model.fit(X, y).predict(X).shape == (12,)
