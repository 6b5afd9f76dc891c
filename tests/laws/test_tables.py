"""What holds for check() on any table: only the content of the rows matters, never their order, kind or coding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose

MODELS = {"t": 0.25, "l": 2, "entropy_l": 1.5, "recursive": {"c": 2, "l": 2}, "alpha": 0.6, "beta": 1}
POLICY = tclose.Policy(
    quasi=["zone", "sex"],
    keep=["ward"],
    sensitive={
        "ranked": {**MODELS, "delta": 0.5},
        "measured": {**MODELS, "distance": "value"},
        "named": {**MODELS, "distance": "equal", "n": 5, "enhanced_beta": 2},
    },
    k=2,
)
row = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["f", "m"]),
    st.integers(1, 2),
    st.integers(1, 5),
    st.sampled_from([0.5, 1.25, 7.0, 100.0]),
    st.sampled_from(["flu", "cold", "ulcer"]),
)
COLUMNS = ["zone", "sex", "ward", "ranked", "measured", "named"]
brief = settings(max_examples=examples(12), deadline=None)


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def found(frame: Any, policy: tclose.Policy = POLICY) -> dict[str, Any]:
    """Everything that check() tells, but the numbers of classes, which go by the order of rows, and last digits."""
    told = tclose.check(frame, policy).to_dict()
    for attribute in told["sensitive"].values():
        del attribute["worst_class"]
    for model in told["models"]:
        if isinstance(model["reached"], float):
            model["reached"] = round(model["reached"], 12)
    return told


@brief
@given(data=st.data(), rows=st.lists(row, min_size=1, max_size=30))
def test_the_order_of_rows_and_columns_does_not_matter(data: st.DataObject, rows: list[tuple[Any, ...]]) -> None:
    frame = frame_of(rows)
    shuffled = frame_of(data.draw(st.permutations(rows))).select(data.draw(st.permutations(COLUMNS)))
    assert found(shuffled) == found(frame)


@brief
@given(rows=st.lists(row, min_size=1, max_size=30), seed=st.integers(0, 99))
def test_the_kind_of_frame_does_not_matter(rows: list[tuple[Any, ...]], seed: int) -> None:
    frame = frame_of(rows)
    straight = found(frame)
    index = np.random.default_rng(seed).permutation(len(rows))
    pandas = pd.DataFrame(rows, columns=COLUMNS, index=index)
    assert found(pandas) == straight
    assert found(pandas.sort_index()) == straight
    assert found(pa.table(frame.to_dict(as_series=False))) == straight
    assert found(frame.with_columns(pl.col("zone", "sex", "named").cast(pl.Categorical))) == straight
    assert found(pandas.astype({"zone": "category", "named": "category"})) == straight
    assert found(frame.with_columns(pl.col("ward", "ranked").cast(pl.String))) == straight


@brief
@given(rows=st.lists(row, min_size=1, max_size=30))
def test_what_values_are_called_does_not_matter(rows: list[tuple[Any, ...]]) -> None:
    """Classes and equal values by any other name; ranks and magnitudes in another unit."""
    renamed = {"flu": "x", "cold": "z", "ulcer": "y"}
    other = [(f"zone {z}", {"f": 1, "m": 0}[s], w + 7, 10 * r, m * 4, renamed[n]) for z, s, w, r, m, n in rows]
    assert found(frame_of(other)) == found(frame_of(rows))


@brief
@given(rows=st.lists(row, min_size=1, max_size=12), copies=st.integers(2, 9))
def test_copying_every_row_changes_no_closeness(rows: list[tuple[Any, ...]], copies: int) -> None:
    once, often = tclose.check(frame_of(rows), POLICY), tclose.check(frame_of(rows * copies), POLICY)
    for name, attribute in once.sensitive.items():
        assert often.sensitive[name].closeness == attribute.closeness
        assert often.sensitive[name].worst_class == attribute.worst_class
    assert often.smallest_class == once.smallest_class * copies


@brief
@given(rows=st.lists(row, min_size=1, max_size=30))
def test_dropping_a_quasi_identifier_merges_classes_and_never_hurts(rows: list[tuple[Any, ...]]) -> None:
    plain = {"t": 0.25, "l": 2, "entropy_l": 1.5, "recursive": {"c": 2, "l": 2}, "alpha": 0.6, "beta": 1, "delta": 0.5}
    sensitive = {"ranked": plain, "measured": {**plain, "distance": "value"}, "named": plain}
    fine = tclose.check(frame_of(rows), tclose.Policy(quasi=["zone", "sex", "ward"], sensitive=sensitive, k=2))
    coarse = tclose.check(frame_of(rows), tclose.Policy(quasi=["zone"], sensitive=sensitive, k=2, others="drop"))
    for name, attribute in fine.sensitive.items():
        assert coarse.sensitive[name].closeness <= attribute.closeness
    for before, after in zip(fine.models, coarse.models, strict=True):
        assert (before.model, before.attribute) == (after.model, after.attribute)
        assert after.satisfied or not before.satisfied


@brief
@given(rows=st.lists(row, min_size=1, max_size=20))
def test_explain_and_check_tell_the_same(rows: list[tuple[Any, ...]]) -> None:
    frame = frame_of(rows)
    result = tclose.check(frame, POLICY)
    for name, attribute in result.sensitive.items():
        told = [
            tclose.explain(frame, POLICY, attribute=name, class_number=number + 1).closeness
            for number in range(result.classes)
        ]
        assert attribute.closeness == max(told)
        assert attribute.worst_class == told.index(max(told)) + 1
        if name != "named":  # which is judged by (n,t)
            assert attribute.failing_classes == sum(closeness > Fraction(1, 4) for closeness in told)


@pytest.mark.parametrize("rows", [1, 5])
def test_a_constant_column_and_a_single_row_are_at_distance_0(rows: int) -> None:
    frame = frame_of([("a" if i % 2 else "b", "f", 1, 3, 1.25, "flu") for i in range(rows)])
    sensitive = {"ranked": {"t": 0}, "measured": {"t": 0, "distance": "value"}, "named": {"t": 0}}
    result = tclose.check(frame, tclose.Policy(quasi=["zone", "sex", "ward"], sensitive=sensitive))
    assert result.satisfied
    assert {found.closeness for found in result.sensitive.values()} == {0}
