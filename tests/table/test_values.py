"""The kinds of a column's values, their exact units, and what counts as missing."""

import datetime
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import InputError
from tclose.table import numbers
from tclose.table.values import Values, exact_values, values_of


def values(cells: Sequence[object], *, missing: Sequence[str] = ("",), dtype: pl.DataType | None = None) -> Values:
    return values_of(pl.Series("x", cells, dtype=dtype), missing)


def exact(found: Values) -> list[Fraction]:
    assert found.units is not None
    return [Fraction(int(unit), 10**found.scale) for unit in found.units]


@pytest.mark.parametrize(
    ("cells", "kind", "texts"),
    [
        (["2", "10", "-1"], "number", ("-1", "2", "10")),
        (["1.10", "1.1", "1.0", "1"], "number", ("1", "1.1")),
        (["0.30", "0.3", "0.05"], "number", ("0.05", "0.3")),
        (["1e3", "1000", "2e-05", "1E3"], "number", ("2e-05", "1E3")),
        (["-0", "0", "-0.0"], "number", ("0",)),
        (["01234", "01235"], "text", ("01234", "01235")),
        (["01234", "11235"], "mixed", ("01234", "11235")),
        (["+5", "+6"], "text", ("+5", "+6")),
        ([" 5", " 6"], "text", (" 5", " 6")),
        ([".5", "5."], "text", (".5", "5.")),
        (["1,5", "2,5"], "text", ("1,5", "2,5")),
        (["NaN", "inf"], "text", ("NaN", "inf")),
        (["9223372036854775808", "9223372036854775807"], "number", ("9223372036854775807", "9223372036854775808")),
        (["1e999", "-1e999", "1e-999"], "number", ("-1e999", "1e-999", "1e999")),
        (["1e1000", "1"], "mixed", ("1", "1e1000")),
        (["9" * 101, "1"], "mixed", ("1", "9" * 101)),
        (["2024-03-01", "2023-12-31"], "date", ("2023-12-31", "2024-03-01")),
        (["2024-03-01T10:00", "2024-03-01 09:59:59.5"], "date", ("2024-03-01 09:59:59.5", "2024-03-01T10:00")),
        (["2024-03-01", "2024-02-29 23:59"], "date", ("2024-02-29 23:59", "2024-03-01")),
        (["2024-03-01", "2024-03-01 00:00"], "date", ("2024-03-01",)),
        (["2024-02-30", "2024-03-01"], "mixed", ("2024-02-30", "2024-03-01")),
        (["2024-02-30", "2024-13-01"], "text", ("2024-02-30", "2024-13-01")),
        (["2024-03-01 25:00", "2024-03-01 10:00"], "mixed", ("2024-03-01 10:00", "2024-03-01 25:00")),
        (["true", "false"], "boolean", ("false", "true")),
        (["True", "FALSE"], "boolean", ("FALSE", "True")),
        (["true", "unknown"], "text", ("true", "unknown")),
        (["b", "a", "B"], "text", ("B", "a", "b")),
        ([True, False], "boolean", ("false", "true")),
        ([2, 10, -1], "number", ("-1", "2", "10")),
        ([0.1, 1e22, 0.0], "number", ("0.0", "0.1", "1e+22")),
        ([Decimal("1.10"), Decimal("-3")], "number", ("-3.00", "1.10")),
        ([datetime.date(2024, 3, 1), datetime.date(2023, 1, 1)], "date", ("2023-01-01", "2024-03-01")),
        (["", ""], "text", ()),
        ([None, None], "text", ()),
    ],
    ids=str,
)
def test_kinds(cells: list[object], kind: str, texts: tuple[str, ...]) -> None:
    found = values(cells)
    assert found.kind == kind
    assert found.texts == texts
    spelled = [None if code < 0 else texts[code] for code in found.codes]
    assert len(spelled) == len(cells)


def test_codes_say_which_value_each_row_has() -> None:
    found = values(["10", "", "2", "10.0", None])
    assert found.texts == ("2", "10")
    assert found.codes.tolist() == [1, -1, 0, 1, -1]
    assert found.missing == 2
    assert found.domain.where(-1) == "2 rows, first in row 2"
    assert found.domain.where([1]) == "2 rows, first in row 1"


def test_row_numbers_are_those_before_rows_were_withheld() -> None:
    found = values_of(pl.Series("x", ["a", "b"]), [""], rows=np.array([3, 7]))
    assert found.domain.where([1]) == "1 row, first in row 8"


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["b", "a", "unused"]), pl.String])
def test_coding_of_text_plays_no_role(dtype: pl.DataType) -> None:
    found = values(["b", "a", None, "b"], dtype=dtype)
    assert (found.kind, found.texts, found.codes.tolist()) == ("text", ("a", "b"), [1, 0, -1, 1])


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Decimal(10, 2)])
def test_coding_of_numbers_plays_no_role(dtype: pl.DataType) -> None:
    found = values([3, 1, None, 3], dtype=dtype)
    assert exact(found) == [1, 3]
    assert (found.kind, found.codes.tolist()) == ("number", [1, 0, -1, 1])


def test_a_float_of_32_bits_is_its_own_shortest_decimal() -> None:
    found = values([0.1, 0.2, 0.3], dtype=pl.Float32())
    assert found.texts == ("0.1", "0.2", "0.3")
    assert exact(found) == [Fraction(1, 10), Fraction(2, 10), Fraction(3, 10)]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_floats_are_their_shortest_decimals(cells: list[float]) -> None:
    found = values(cells)
    assert [exact(found)[code] for code in found.codes] == [Fraction(repr(cell)) for cell in cells]


WHOLE = st.integers(-(2**80), 2**80).map(str)
WRITTEN = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9).map(str)


@settings(deadline=None)
@given(st.lists(WRITTEN | WHOLE | st.sampled_from(["1e-05", "1.50", "2E+8"]), min_size=1))
def test_numbers_are_read_exactly(cells: list[str]) -> None:
    found = numbers.read(pl.Series(cells))
    assert [Fraction(int(unit), 10**found.scale) for unit in found.units] == [Fraction(cell) for cell in cells]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [(["1", "999", "NA"], pl.String()), ([1, 999, None], pl.Int64()), ([1.0, 999.0, None], pl.Float64()),
     ([Decimal(1), Decimal("999.00"), None], pl.Decimal(10, 2))],
)  # fmt: skip
def test_missing_markers_work_in_any_coding(cells: list[object], dtype: pl.DataType) -> None:
    assert values(cells, missing=["NA", "999"], dtype=dtype).codes.tolist() == [0, -1, -1]


def test_nanoseconds_are_kept() -> None:
    found = values([1, 2, 2], dtype=pl.Datetime("ns"))
    assert exact(found) == [Fraction(1, 1000), Fraction(2, 1000)]
    assert found.codes.tolist() == [0, 1, 1]


def test_dates_of_any_unit_are_the_same_moments() -> None:
    day = [datetime.datetime(2024, 3, 1), datetime.datetime(1960, 3, 1, 12)]
    meant = exact_values(["1960-03-01T12:00", "2024-03-01"], "date")
    for dtype in (pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns")):
        assert exact(values(day, dtype=dtype)) == meant


def test_exact_values_of_each_kind() -> None:
    assert exact_values(["1.50", "x", "01"], "number") == [Fraction(3, 2), None, None]
    assert exact_values(["1970-01-02", "x"], "date") == [Fraction(86_400_000_000), None]
    assert exact_values(["TRUE", "false", "x"], "boolean") == [1, 0, None]
    assert exact_values(["a", "b"], "text") == [None, None]


@pytest.mark.parametrize(
    ("cells", "dtype", "kind"),
    [([[1], [2]], None, "List"), ([b"s", b"t"], None, "Binary"), ([{"a": 1}, {"a": 2}], None, "Struct"),
     ([datetime.time(1), datetime.time(2)], None, "Time"), ([datetime.timedelta(1)], None, "Duration"),
     ([["secret"]], pl.List(pl.Enum(["secret"])), "List")],
)  # fmt: skip
def test_other_types_are_refused_without_their_values(cells: list[object], dtype: pl.DataType, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        values(cells, dtype=dtype)
    assert str(caught.value) == f"column 'x' is of type {kind}: make it text, a number or a date"


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_refused(odd: float) -> None:
    with pytest.raises(InputError) as caught:
        values([1.0, None, odd, odd])
    assert str(caught.value) == (
        "column 'x' has NaN or infinity in 2 rows, first in row 3: make it missing or a number"
    )


def test_categories_of_ones_own_are_text() -> None:
    own = pl.Series("x", ["b", "a", "b"]).cast(pl.Categorical(pl.Categories("mine")))
    found = values_of(own, [])
    assert (found.kind, found.texts, found.codes.tolist()) == ("text", ("a", "b"), [1, 0, 1])
