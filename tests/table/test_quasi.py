"""Quasi-identifier columns: what kind each is, and what a class loses on it, by hand from DESIGN section 4."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, Policy, PolicyError, Quasi
from tclose.table import encode
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, read_quasi

ZIPS = {"rows": [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["y2", "y", "*"], ["y3", "y", "*"]]}


def column(cells: Sequence[object], **spec: Any) -> QuasiColumn:
    return read_quasi(pl.Series("q", cells), Quasi(**spec), ("",))


def classes(labels: str) -> Classes:
    """Take one class per digit, as in "0011"."""
    return Classes.from_labels(np.array([int(label) for label in labels]))


def loss(cells: Sequence[object], labels: str, **spec: Any) -> list[float]:
    return column(cells, **spec).loss(classes(labels)).tolist()


# Which kind a column is


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.50", ""], NumberColumn),
        ([1, None, 3], NumberColumn),
        ([1.5, 2.5], NumberColumn),
        (["2024-01-31", "2024-02-01"], NumberColumn),
        ([datetime.date(2024, 1, 31), None], NumberColumn),
        (["01234", "12345"], SetColumn),
        (["f", "m"], SetColumn),
        (["1", "two"], SetColumn),
        ([True, False], SetColumn),
        (["", ""], SetColumn),
        (pl.Series(["b", "a"], dtype=pl.Categorical), SetColumn),
    ],
)
def test_what_a_column_is(cells: Sequence[object], kind: type) -> None:
    assert isinstance(column(cells), kind)


def test_a_hierarchy_makes_labels(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("x1;x;*\nx2;x;*\ny1;y;*\n")
    found = column(["y1", "", "x2"], hierarchy=tmp_path / "zip.csv")
    assert isinstance(found, LabelColumn)
    assert found.codes.tolist() == [2, -1, 1]
    assert isinstance(column(["02101", "02139"], hierarchy={"prefix": [3]}), LabelColumn)


def test_a_value_that_a_hierarchy_misses_is_refused() -> None:
    with pytest.raises(InputError, match="its hierarchy misses 1 of its values, in 1 row, first in row 2"):
        column(["x1", "z9"], hierarchy=ZIPS)


@pytest.mark.parametrize("spec", [{"step": 5}, {"top": 0}, {"bottom": 0}, {"publish": "mean"}])
@pytest.mark.parametrize(("cells", "kind"), [(["f", "m"], "text"), (["2024-01-31"], "dates"), ([True], "text")])
def test_what_is_for_numbers_is_refused_elsewhere(cells: Sequence[object], kind: str, spec: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=rf"^quasi\.q: .*for numbers, not for {kind}"):
        column(cells, **spec)


def test_what_is_for_numbers_is_no_matter_where_no_value_is() -> None:
    assert loss(["", ""], "01", step=5) == [0, 0]


@pytest.mark.parametrize("spec", [{"step": 5}, {"top": 0}, {"bottom": 0}])
def test_a_hierarchy_has_labels_of_its_own(spec: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=r"^quasi\.q\.hierarchy: "):
        Policy.from_dict({"quasi": {"q": {"hierarchy": {"width": [5]}, **spec}}, "k": 2})


def test_all_columns_of_a_policy() -> None:
    frame = pl.DataFrame({"sex": ["f"], "age": ["3"], "other": ["x"]})
    found = encode(frame, Policy(quasi=["age", "sex"], k=2, others="drop")).quasi
    assert list(found) == ["age", "sex"]


# What a class loses


def test_numbers_lose_their_range() -> None:
    assert loss(["10", "20", "30", "110"], "0011") == [0.1, 0.8]
    assert loss(["10", "", "30", "110"], "0012") == [0.0, 0.0, 0.0]
    assert loss(["", "", "30", "110"], "0011") == [0.0, 1.0]


def test_dates_lose_their_range() -> None:
    assert loss(["2024-01-01", "2024-01-02", "2024-01-11"], "001") == [0.1, 0.0]
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 1, 11)]
    assert loss(days, "001") == [0.1, 0.0]


def test_a_constant_column_loses_nothing() -> None:
    for spec in ({}, {"step": 5}, {"top": 3}, {"bottom": 9}, {"publish": "mean"}, {"hierarchy": {"width": [10]}}):
        assert loss(["7", "7"], "00", **spec) == [0.0], spec
    assert loss(["f", "f"], "00") == [0.0]
    assert loss(["f", "f"], "00", hierarchy={"prefix": [1]}) == [0.0]


def test_a_step_loses_what_is_published() -> None:
    cells = ["3", "7", "12", "23"]  # published as [0, 5], [5, 10], [10, 15], [20, 25], all between 0 and 25
    assert loss(cells, "0123", step=5) == pytest.approx([5 / 25] * 4)
    assert loss(cells, "0011", step=5) == pytest.approx([10 / 25, 15 / 25])


def test_nothing_tells_how_far_a_coded_tail_reaches() -> None:
    for last in ("100", "7654321"):
        cells = ["0", "10", "50", "90", last]
        assert loss(cells, "01234", top=80, bottom=20) == [0.0] * 5
        assert loss(cells, "00111", top=80, bottom=20) == [0.0, 0.5]
        assert loss(cells, "01122", top=80, bottom=20) == [0.0, 0.5, 0.0]
        assert loss(cells, "01234", top=-5) == [1.0] * 5  # says nothing any more


def test_means_lose_the_range_of_the_members() -> None:
    assert loss(["10", "20", "30", "110"], "0011", publish="mean") == [0.1, 0.8]


def test_labels_lose_the_leaves_below_them() -> None:
    cells = ["x1", "x1", "x1", "x2", "y1", "y3", "x1", "y1"]
    assert loss(cells, "00112233", hierarchy=ZIPS) == [0.0, 2 / 5, 3 / 5, 1.0]


def test_labels_count_the_leaves_of_the_file_not_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("".join(f"a{i};a;*\n" for i in range(3)) + "b;*\n")
    assert loss(["a0", "a1", "b"], "001", hierarchy=tmp_path / "h.csv") == [3 / 4, 0.0]
    assert loss(["a0", "b"], "00", hierarchy=tmp_path / "h.csv") == [1.0]


def test_missing_among_labels_costs_nothing_more() -> None:
    assert loss(["x1", "", "", ""], "0011", hierarchy=ZIPS) == [0.0, 0.0]


def test_sets_lose_what_they_add() -> None:
    assert loss(["a", "b", "c", "c", "d", "d"], "001122") == pytest.approx([1 / 3, 0, 0])
    assert loss(["a", "b", "", "c"], "0011") == pytest.approx([1 / 3, 1 / 3])  # missing is a value
    assert loss(["a", "", "", "a"], "0011") == [1.0, 1.0]


def test_some_rows_are_measured_against_each_other() -> None:
    """Withheld rows do not show in a range or a domain; a hierarchy is what it is."""
    rows = np.array([0, 1])
    for cells, spec, expected in (
        (["10", "20", "110"], {}, 1.0),
        (["a", "b", ""], {}, 1.0),
        (["x1", "x2", "y1"], {"hierarchy": ZIPS}, 0.4),
    ):
        assert column(cells, **spec).only(rows).loss(classes("00")).tolist() == [expected]


# Where rows lie


def test_points_lie_between_0_and_1() -> None:
    assert column(["10", "", "20", "110"]).points().tolist() == [0, 0.5, 0.1, 1]
    assert column(["y3", "", "x1", "y1"], hierarchy=ZIPS).points().tolist() == [1, 0.5, 0, 0.5]
    assert column(["c", "", "a", "b"]).points().tolist() == [1, 0.5, 0, 0.5]
    assert column(["7", "7"]).points().tolist() == [0, 0]
    assert column(["", ""]).points().tolist() == [0.5, 0.5]
    assert column(pl.Series([None, None], dtype=pl.Date)).points().tolist() == [0.5, 0.5]


def test_numbers_beyond_floats_have_a_place() -> None:
    assert column(["0", "5e399", "1e400"]).points().tolist() == [0, 0.5, 1]
    assert loss(["0", "5e399", "1e400"], "001") == [0.5, 0.0]
    widest = [datetime.datetime(1678, 1, 1), datetime.datetime(1970, 1, 1), datetime.datetime(2262, 1, 1)]
    places = column(pl.Series(widest, dtype=pl.Datetime("ns"))).points()
    assert places[[0, 2]].tolist() == [0, 1]
    assert 0.49 < places[1] < 0.51


cells = st.lists(st.one_of(st.integers(-50, 50).map(str), st.just("")), min_size=1, max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(cells=cells, data=st.data(), spec=st.sampled_from([{}, {"step": 7}, {"top": 20, "bottom": -20}]))
def test_loss_is_a_share_and_grows_with_a_class(cells: list[str], data: st.DataObject, spec: dict[str, Any]) -> None:
    found = column(cells, **spec)
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells))))
    labels = np.unique(labels, return_inverse=True)[1]
    apart = found.loss(Classes.from_labels(labels))
    together = found.loss(Classes.from_labels(np.zeros_like(labels)))
    assert ((apart >= 0) & (apart <= 1)).all()
    assert (apart <= together + 1e-12).all()


def test_a_column_without_a_value_has_a_hierarchy_all_the_same() -> None:
    assert column(["", ""], hierarchy={"prefix": [1]}).loss(classes("00")).tolist() == [0.0]


numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-500, 500).map(str),
    st.decimals(-50, 50, places=2).map(lambda number: f"{number:f}").filter(lambda text: text != "-0.00"),
)
steps = st.sampled_from(["7", "0.25", "1/3", "1000000000000000000000", "0.001"])
tails = st.sampled_from([{}, {"top": "20.5"}, {"bottom": "-3", "top": "1/3"}, {"top": 10**30}])


@settings(max_examples=examples(150), deadline=None)
@given(cells=st.lists(numbers, min_size=1, max_size=12), step=steps, tails=tails)
def test_values_that_share_their_ends_are_spelled_once_and_rightly(
    cells: list[str], step: str, tails: dict[str, Any]
) -> None:
    found = column(cells, step=step, **tails)
    assert isinstance(found, NumberColumn)
    ends, units = found.ends(), found.values.units
    assert units is not None
    each = [found._coded_ends(Fraction(int(unit), 10**found.values.scale)) for unit in units]
    assert list(ends.low_texts) == [end.low_text for end in each]
    assert list(ends.high_texts) == [end.high_text for end in each]
    first, last = each[0].low, each[-1].high
    if first != last and len(each) > 1:
        assert ends.low.tolist() == [float((end.low - first) / (last - first)) for end in each]
        assert ends.high.tolist() == [float((end.high - first) / (last - first)) for end in each]
