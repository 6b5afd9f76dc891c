"""Tallies add up, and what is learned from them does not depend on how a table was cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Quasi, Sensitive
from tclose.errors import InputError, InternalError
from tclose.table.quasi import QuasiDomain
from tclose.table.sensitive import SensitiveColumn, SensitiveDomain, coded
from tclose.table.values import Tally, ValueDomain, values_of

CELLS = st.lists(st.sampled_from(["1", "1.0", "2.5", "-3", "10", "", "NA", None]), min_size=2, max_size=30)
TEXTS = st.lists(st.sampled_from(["flu", "cold", "ulcer"]), min_size=2, max_size=30)
TREE = {"rows": [["flu", "lung", "*"], ["cold", "lung", "*"], ["ulcer", "gut", "*"]]}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"distance": "value"},
    {"bins": {"quantiles": 3}},
    {"bins": {"count": 4}},
    {"distance": "equal"},
    {"domain": [1, 2.5, -3, 10, 99]},
]


def read_sensitive(column: pl.Series, spec: Sensitive, missing: Sequence[str], rows: Any = None) -> SensitiveColumn:
    """Learn the domain of a whole column and code its rows."""
    return coded(values_of(column, missing, rows), spec)


def column(cells: list[Any]) -> pl.Series:
    return pl.Series("x", cells, dtype=pl.String)


def counts(tally: Tally) -> dict[str, int]:
    return dict(zip(tally.cells.to_list(), tally.counts.tolist(), strict=True))


@given(CELLS, st.integers(1, 29))
def test_parts_add_up_to_the_whole(cells: list[Any], cut: int) -> None:
    whole, parts = Tally.of(column(cells)), Tally.of(column(cells[:cut])) + Tally.of(column(cells[cut:]))
    assert counts(parts) == counts(whole)
    assert (parts.nulls, parts.rows_counted) == (whole.nulls, len(cells))


def test_tallies_of_different_columns_do_not_add_up() -> None:
    with pytest.raises(InternalError, match="different columns"):
        _ = Tally.of(column(["1"])) + Tally.of(pl.Series("y", ["1"]))


@given(CELLS, st.integers(1, 29))
def test_values_learned_from_parts_code_every_part(cells: list[Any], cut: int) -> None:
    whole = values_of(column(cells), ["NA"])
    domain = ValueDomain.of(Tally.of(column(cells[:cut])) + Tally.of(column(cells[cut:])), ["NA"])
    assert (domain.kind, domain.texts, domain.missing) == (whole.kind, whole.texts, whole.missing)
    codes = [domain.codes(column(part)) for part in (cells[:cut], cells[cut:])]
    assert np.concatenate(codes).tolist() == whole.codes.tolist()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(st.lists(st.sampled_from(["1", "2.5", "-3", "10"]), min_size=2, max_size=30), st.integers(1, 29))
def test_a_part_is_judged_against_the_whole(settings: dict[str, Any], cells: list[str], cut: int) -> None:
    spec = Sensitive(t=1, **settings)
    whole = read_sensitive(column(cells), spec, [""])
    domain = SensitiveDomain.of(Tally.of(column(cells[:cut])) + Tally.of(column(cells[cut:])), spec, [""])
    assert domain.labels == whole.labels
    assert domain.reference.tolist() == whole.reference.tolist()
    assert domain.reference.sum() == len(cells)
    assert domain.codes(column(cells[cut:])).tolist() == whole.codes[cut:].tolist()


@given(TEXTS, st.integers(1, 29))
def test_a_hierarchy_and_missing_values_too(cells: list[Any], cut: int) -> None:
    cells = [*cells, None, ""]
    spec = Sensitive(t=1, hierarchy=TREE, missing="value")
    whole = read_sensitive(column(cells), spec, [""])
    domain = SensitiveDomain.of(Tally.of(column(cells[:cut])) + Tally.of(column(cells[cut:])), spec, [""])
    assert (domain.labels, domain.reference.tolist()) == (whole.labels, whole.reference.tolist())
    assert domain.codes(column(cells)).tolist() == whole.codes.tolist()


@pytest.mark.parametrize("settings", [{}, {"step": 5}, {"hierarchy": {"width": [5, 10]}}], ids=str)
@given(st.lists(st.sampled_from(["1", "2.5", "-3", "10", ""]), min_size=2, max_size=30), st.integers(1, 29))
def test_quasi_identifiers_of_a_part(settings: dict[str, Any], cells: list[str], cut: int) -> None:
    if not any(cells):
        return
    spec, values = Quasi(**settings), values_of(column(cells), [""])
    whole = QuasiDomain.of(values.domain, spec).column(values.codes)
    learned = ValueDomain.of(Tally.of(column(cells[:cut])) + Tally.of(column(cells[cut:])), [""])
    part = QuasiDomain.of(learned, spec).column(learned.codes(column(cells[cut:])))
    assert type(part) is type(whole)
    assert part.codes.tolist() == whole.codes[cut:].tolist()
    assert part.points().tolist() == whole.points()[cut:].tolist()


def test_messages_name_the_first_row_where_it_is_known() -> None:
    bad = column(["1", "x", "2", "x"])
    with pytest.raises(InputError, match="in 2 of 4 rows, first in row 2;"):
        SensitiveDomain.of(Tally.of(bad), Sensitive(t=1), [""])
    with pytest.raises(InputError, match="in 2 of 4 rows;"):
        SensitiveDomain.of(Tally.of(bad[:1]) + Tally.of(bad[1:]), Sensitive(t=1), [""])


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns")])
def test_dates_outside_the_years_that_can_be_spelled_are_refused(dtype: pl.DataType) -> None:
    days = pl.Series("day", [0, None, 5], dtype=pl.Int64)
    ticks = {None: 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[
        getattr(dtype, "time_unit", None)
    ]
    fine = (days * ticks).cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
    assert Tally.of(fine).nulls == 1
    if getattr(dtype, "time_unit", None) == "ns":
        return  # 64 bits of nanoseconds end in the year 2262
    for far in (2_932_897, -719_163, 95_026_237):
        cells = (pl.Series("day", [0, far], dtype=pl.Int64) * ticks).cast(fine.to_physical().dtype).cast(dtype)
        with pytest.raises(
            InputError, match="column 'day' has a date outside the years 1 to 9999 in 1 row, first in row 2"
        ):
            Tally.of(cells)
    for near in (2_932_896, -719_162):
        cells = (pl.Series("day", [near], dtype=pl.Int64) * ticks).cast(fine.to_physical().dtype).cast(dtype)
        assert len(Tally.of(cells).cells) == 1
