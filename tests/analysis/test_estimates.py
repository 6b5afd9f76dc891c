"""Counts, means and quantiles: their bounds hold for every table that could have been published so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Estimate, InputError, LoadedRelease, Policy, Quasi
from tclose.analysis.columns import columns_of
from tclose.recode.cell import class_texts
from tclose.recode.meaning import clear_forms
from tclose.recode.typed_table import typed_table
from tclose.table.classes import Classes
from tclose.table.quasi import read_quasi

WORDS = ["a", "b", "c"]


@dataclass
class Sample:
    """A raw table, and its release."""

    raw: pl.DataFrame
    release: LoadedRelease


def released(raw: pl.DataFrame, labels: list[int], quasi: dict[str, dict[str, Any]], **more: Any) -> LoadedRelease:
    """Publish a table in given classes; rows keep their order."""
    classes = Classes.from_labels(np.unique(labels, return_inverse=True)[1])
    policy = Policy(quasi=quasi, sensitive={"pay": {"t": 1}})
    columns = {name: read_quasi(raw[name], Quasi(**spec), ()) for name, spec in quasi.items()}
    texts = {name: pl.Series(class_texts(column, classes)) for name, column in columns.items()}
    rows = raw.with_columns(texts[name].gather(classes.labels_by_row()).alias(name) for name in quasi)
    typed = typed_table(rows, policy, clear_forms(columns))
    others = tuple(name for name in raw.columns if name not in quasi)
    return LoadedRelease(typed, columns_of(typed, tuple(quasi), others), 0, more.get("kind", "polars"))


def counted(release: LoadedRelease, conditions: dict[str, Any]) -> Estimate:
    """Count rows; values that the release surely does not have are left out of the question, else it is refused."""
    try:
        return release.expected_counts(conditions)
    except InputError:
        known = {value for each in release.typed["ward"] for value in each}
        return release.expected_counts({**conditions, "ward": [ward for ward in conditions["ward"] if ward in known]})


ages = st.one_of(st.none(), st.integers(18, 30))
SPECS: list[dict[str, Any]] = [{}, {"step": 5}, {"top": 27, "bottom": 20}]


@st.composite
def samples(draw: st.DrawFn, missing: bool = True) -> Sample:
    rows = draw(st.integers(2, 12))
    age = draw(st.lists(ages if missing else st.integers(18, 30), min_size=rows, max_size=rows))
    ward = draw(st.lists(st.sampled_from(WORDS), min_size=rows, max_size=rows))
    pay = draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows))
    raw = pl.DataFrame({"age": age, "ward": ward, "pay": pay}, schema_overrides={"age": pl.Int64})
    if raw["age"].null_count() == rows:
        raw = raw.with_columns(age=pl.lit(20))
    labels = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    return Sample(raw, released(raw, labels, {"age": draw(st.sampled_from(SPECS)), "ward": {}}))


@settings(max_examples=examples(25))
@given(samples(), st.integers(15, 32), st.integers(0, 8), st.lists(st.sampled_from(WORDS), unique=True))
def test_counts_lie_within_their_bounds(sample: Sample, low: int, width: int, wards: list[str]) -> None:
    raw, high = sample.raw, low + width
    found = counted(sample.release, {"age": (low, high), "ward": wards, "pay": (None, 2)})
    fits = raw["age"].is_between(low, high).fill_null(False) & raw["ward"].is_in(wards) & (raw["pay"] <= 2)
    assert found.lower <= fits.sum() <= found.upper
    assert found.lower - 1e-9 <= found.expected <= found.upper + 1e-9


@settings(max_examples=examples(25))
@given(samples(), st.floats(0, 1))
def test_means_and_quantiles_lie_within_their_bounds(sample: Sample, q: float) -> None:
    known = sample.raw["age"].drop_nulls()
    mean, quantile = sample.release.mean("age"), sample.release.quantile("age", q)
    value = float(np.quantile(known.to_numpy(), q, method="inverted_cdf"))
    assert mean.lower - 1e-9 <= known.mean() <= mean.upper + 1e-9
    assert quantile.lower <= value <= quantile.upper
    assert mean.lower <= mean.expected <= mean.upper
    groups = sample.release.mean("age", by="pay")
    for pay, rows, expected, lower, upper, fewest, most in groups.rows():
        own = sample.raw.filter(pl.col("pay") == pay)
        assert rows == own.height == fewest == most
        if (average := own["age"].mean()) is not None:
            assert lower - 1e-9 <= average <= upper + 1e-9
            assert lower - 1e-9 <= expected <= upper + 1e-9


def test_sensitive_figures_are_exact() -> None:
    raw = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 2, 7]})
    release = released(raw, [0, 0, 1, 1], {"age": {}})
    assert release.mean("pay") == type(release.mean("pay"))(3.0, 3.0, 3.0)
    assert release.quantile("pay", 0.5).expected == 2.0
    assert release.expected_counts({"pay": [2, 7]}).lower == 3


def test_expected_counts_spread_evenly() -> None:
    raw = pl.DataFrame({"age": [20, 29, 40, 40], "ward": ["a", "b", "a", "a"], "pay": [1, 2, 3, 4]})
    release = released(raw, [0, 0, 1, 1], {"age": {}, "ward": {}})
    found = release.expected_counts({"age": (20, 24)})
    assert (found.expected, found.lower, found.upper) == (1.0, 0, 2)
    assert release.expected_counts({"ward": "a"}).expected == 3.0
    assert release.expected_counts({"age": (20, 24), "ward": "a"}).expected == 0.5


def test_dates_are_dates() -> None:
    raw = pl.DataFrame({"day": ["2024-01-01", "2024-01-03", "2024-02-01", "2024-02-01"], "pay": [1, 2, 3, 4]})
    release = released(raw, [0, 0, 1, 1], {"day": {}})
    assert release.mean("day").lower.isoformat() == "2024-01-16T12:00:00"
    assert release.expected_counts({"day": ("2024-01-02", None)}).upper == 4
    assert release.quantile("day", 0.9).expected.isoformat() == "2024-02-01T00:00:00"
    assert release.resample(1).schema["day_synthetic"] == pl.Date


@settings(max_examples=10)
@given(samples(), st.integers(0, 2**32))
def test_synthetic_values_lie_within_what_is_published(sample: Sample, seed: int) -> None:
    drawn, typed = sample.release.resample(seed), sample.release.typed
    assert drawn.equals(sample.release.resample(seed))
    low = typed["age_low"].fill_null(-999)
    high = typed["age_high"].fill_null(999)
    known = drawn["age_synthetic"].is_not_null()
    assert ((drawn["age_synthetic"] >= low) & (drawn["age_synthetic"] <= high)).filter(known).all()
    assert all(value in each for value, each in zip(drawn["ward_synthetic"], typed["ward"], strict=True))
    assert drawn["pay"].to_list() == sample.raw["pay"].to_list()


def test_synthetic_values_reach_both_ends_and_every_value() -> None:
    raw = pl.DataFrame({"age": [20, 35, 29, 31], "ward": ["a", "b", "c", "a"], "pay": [1, 2, 3, 4]})
    drawn = released(raw, [0, 0, 0, 0], {"age": {}, "ward": {}}).resample(5)
    assert (drawn["age_synthetic"].min(), drawn["age_synthetic"].max()) == (20, 35)
    assert {*drawn["ward_synthetic"]} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda r: r.mean("wage"), "no column 'wage'"),
        (lambda r: r.mean("ward"), "no numbers"),
        (lambda r: r.mean("pay", by="age"), "values or of bins"),
        (lambda r: r.quantile("age", 2), "between 0 and 1"),
        (lambda r: r.expected_counts({"age": (1, 2, 3)}), "two ends"),
        (lambda r: r.expected_counts({"age": "old"}), "neither"),
        (lambda r: r.expected_counts({"ward": (1, 2)}), "no ranges"),
        (lambda r: r.mean("pay", by="weight"), "class means"),
        (lambda r: r.quantile("weight", 0.5), "class means"),
        (lambda r: r.expected_counts({"ward": "A"}), "no value 'A' .did you mean 'a'"),
        (lambda r: r.expected_counts({"weight": 70}), "class means"),
    ],
)
def test_questions_without_an_answer_are_refused(ask: Any, why: str) -> None:
    raw = pl.DataFrame({"age": [20, 30], "ward": ["a", "b"], "weight": [70, 80], "pay": [1, 2]})
    release = released(raw, [0, 0], {"age": {}, "ward": {}, "weight": {"publish": "mean"}})
    assert release.mean("weight").expected == 75.0
    with pytest.raises(InputError, match=why):
        ask(release)
