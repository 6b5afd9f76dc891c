"""The order of rows by their cells, against a sort in plain Python."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.table.classes import rows_in_order

TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "B", "é", "zz", "[1, 2]", "[10, 2]"]), st.text(max_size=3))
CELLS: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: TEXTS,
    pl.Int64: st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
    pl.UInt8: st.one_of(st.none(), st.integers(0, 255)),
    pl.Float64: st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 0.25, 1e300])),
    pl.Boolean: st.one_of(st.none(), st.booleans()),
    pl.Date: st.one_of(st.none(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    pl.Datetime("us"): st.one_of(st.none(), st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))),
    pl.Decimal(10, 2): st.one_of(st.none(), st.sampled_from([Decimal("1.10"), Decimal("-2.00")])),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    columns = [draw(st.lists(CELLS[kind], min_size=rows, max_size=rows)) for kind in kinds]
    series = [pl.Series(cells, dtype=kind) for kind, cells in zip(kinds, columns, strict=True)]
    return pl.DataFrame([column.alias(f"^{place}$") for place, column in enumerate(series)])


def expected(frame: pl.DataFrame) -> list[int]:
    def place(cell: Any) -> tuple[Any, ...]:
        return (cell is not None, cell.encode() if isinstance(cell, str) else cell if cell is not None else 0)

    rows = frame.rows()
    return sorted(range(len(rows)), key=lambda row: [place(cell) for cell in rows[row]])


@given(frames())
def test_rows_are_sorted_by_their_cells(frame: pl.DataFrame) -> None:
    assert rows_in_order(frame).tolist() == expected(frame)


@pytest.mark.parametrize("columns", [1, 9])
def test_wide_keys_are_ranked_on_the_way(columns: int) -> None:
    """Nine columns of forty bits each do not fit into one integer of 64 bits."""
    cells = [[(row * 7919 + column * 31) % 5 * 2**37 for row in range(40)] for column in range(columns)]
    frame = pl.DataFrame({str(column): values for column, values in enumerate(cells)})
    assert rows_in_order(frame).tolist() == expected(frame)
