"""Frames of any kind become the same polars frame; the index plays no role."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tclose import InputError
from tclose.table import to_polars
from tclose.table.frames import from_columns, from_stream, kind_of, to_stream

COLUMNS = {"a": ["x", None, "y"], "n": [1, 2, 3], "f": [0.5, None, 2.0], "b": [True, False, True]}


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_the_same_table(make: Any) -> None:
    assert to_polars(make(COLUMNS)).equals(pl.DataFrame(COLUMNS))


def test_a_shuffled_index_plays_no_role() -> None:
    frame = pd.DataFrame(COLUMNS, index=[7, 7, 0])
    assert to_polars(frame).equals(pl.DataFrame(COLUMNS))
    assert to_polars(frame.sort_values("n", ascending=False))["n"].to_list() == [3, 2, 1]


def test_numbered_columns() -> None:
    frame = to_polars(pd.DataFrame(np.array([[1, 2], [3, 4]])))
    assert frame.equals(pl.DataFrame({"0": [1, 3], "1": [2, 4]}))


@pytest.mark.parametrize(
    ("cells", "meant"),
    [
        (pd.Series([1, None, 3], dtype="Int64"), [1, None, 3]),
        (pd.Series([1.5, np.nan]), [1.5, None]),
        (pd.Series(["a", None, "b"], dtype="category"), ["a", None, "b"]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
        (pd.Series([2**70, 1], dtype=object), [2**70, 1]),
        (pd.Series([Decimal("1.10"), None], dtype=object), [Decimal("1.10"), None]),
        (pd.Series([1, 2.5, Decimal("0.1"), None], dtype=object), ["1", "2.5", "0.1", None]),
        (pd.Series([datetime.date(2024, 3, 1), None], dtype=object), [datetime.date(2024, 3, 1), None]),
        (pd.Series(pd.to_datetime(["2024-03-01", None])), [datetime.datetime(2024, 3, 1), None]),
        (pd.Series(pd.cut([1, 15, 1], [0, 10, 20])), ["(0, 10]", "(10, 20]", "(0, 10]"]),
        (pd.Series(pd.PeriodIndex(["2024-01", "2024-02"], freq="M")), ["2024-01", "2024-02"]),
    ],
    ids=str,
)
def test_columns_of_pandas(cells: "pd.Series[Any]", meant: list[object]) -> None:
    assert to_polars(pd.DataFrame({"x": cells}))["x"].to_list() == meant


def test_nanoseconds_survive() -> None:
    moments = pd.Series(np.array([1, 2], dtype="datetime64[ns]"))
    assert to_polars(pd.DataFrame({"x": moments}))["x"].n_unique() == 2


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pl.DataFrame({"a": []}), "the table has no rows"),
        (pd.DataFrame({"a": []}), "the table has no rows"),
        (5, "expected a pandas, polars or pyarrow frame, not int"),
        ({"a": [1]}, "expected a pandas, polars or pyarrow frame, not dict"),
        (pl.Series([1]), "expected a pandas, polars or pyarrow frame, not Series"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "a column name stands in the frame twice: rename one"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "a column name stands in the frame twice: rename one"),
        (pa.Table.from_arrays([[1], [2]], names=["a", "a"]), "a column name stands in the frame twice: rename one"),
        (
            pd.DataFrame({"a": [1, "SECRET"]}, dtype=object),
            "column 'a' mixes kinds of values: make them all text, or all numbers",
        ),
    ],
    ids=["empty", "empty-pandas", "int", "dict", "series", "twice", "twice-as-text", "twice-arrow", "mixed"],
)
def test_refusals(frame: object, says: str) -> None:
    with pytest.raises(InputError) as caught:
        to_polars(frame)
    assert str(caught.value) == says


def test_a_type_that_polars_does_not_know(capfd: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"a": pa.array([Decimal(1)], pa.decimal256(50, 2))})
    with pytest.raises(InputError, match="a column of the frame is of an unusual type"):
        to_polars(table)


# Streams and columns


def test_a_table_survives_its_stream() -> None:
    days = [datetime.date(2024, 1, 31), None]
    table = pl.DataFrame({"zip": ["01234", None], "pay": [1.5, 2.0], "day": days})
    assert from_stream(bytes(to_stream(table))).equals(table)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_columns_become_a_frame_of_the_kind_that_was_given(kind: str) -> None:
    frame = from_columns({"name": (str, ["a", None]), "n": (int, [None, 2]), "x": (float, [0.5, None])}, kind)
    assert kind_of(frame) == kind
    assert to_polars(frame).to_dict(as_series=False) == {"name": ["a", None], "n": [None, 2], "x": [0.5, None]}


def test_a_column_without_a_single_cell_keeps_its_type() -> None:
    assert from_columns({"n": (int, [None])}, "polars").schema == {"n": pl.Int64}
