"""The grammar of published cells: what a class publishes, to the letter, and that every text is read back."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tclose import Quasi
from tclose.policy import Builder
from tclose.recode.cell import (
    Cell,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    ValueCell,
    cells_of,
    class_texts,
    different_cells,
    readings,
    rule_cell,
    write,
)
from tclose.table.classes import Classes
from tclose.table.quasi import read_quasi

ZIPS = {"rows": [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["far", "*"]]}


def shown(cells: Sequence[object], labels: str = "", **spec: Any) -> list[str]:
    """Return what each class (one per digit; all rows are one without labels) publishes."""
    column = read_quasi(pl.Series("q", cells), Quasi(**spec), ("", "NA"))
    numbers = np.array([int(label) for label in labels or "0" * len(cells)])
    return class_texts(column, Classes.from_labels(numbers))


def test_ranges_have_both_ends_as_they_were_spelled() -> None:
    assert shown(["1.10", "2.5", "30"]) == ["[1.10, 30]"]
    assert shown(["-5", "1e3"]) == ["[-5, 1e3]"]
    assert shown(["2.50", "1.10", "7.0"], "001") == ["[1.10, 2.50]", "7.0"]
    assert shown([1.5, 2.0]) == ["[1.5, 2.0]"]
    assert shown([3, 12, 100], "011") == ["3", "[12, 100]"]
    assert shown(["9", "10"]) == ["[9, 10]"]  # by value, not by letter


def test_ends_that_coincide_are_a_plain_value() -> None:
    assert shown(["1.10", "1.10"]) == ["1.10"]
    assert shown(["1.10", "1.1"]) == ["1.1"]  # one number in two spellings has the shorter


def test_dates_are_ranges() -> None:
    assert shown(["2024-02-01", "2023-12-31"]) == ["[2023-12-31, 2024-02-01]"]
    assert shown(["2024-02-01", "2024-02-01"]) == ["2024-02-01"]
    assert shown(["2024-02-01 10:00", "2024-02-01 09:30"]) == ["[2024-02-01 09:30, 2024-02-01 10:00]"]


def test_a_missing_value_is_told() -> None:
    assert shown(["1", "", "5"]) == ["[1, 5] or missing"]
    assert shown(["1", "NA"]) == ["1 or missing"]
    assert shown(["", "NA", "5"], "001") == ["missing", "5"]
    assert shown(["", "b", "a"]) == ["{a, b} or missing"]
    assert shown(["", "b"]) == ["b or missing"]
    assert shown(["x1", "", "x2"], hierarchy=ZIPS) == ["x or missing"]
    assert shown(["", ""], hierarchy=ZIPS) == ["missing"]
    assert shown(["1", "", "4"], publish="mean") == ["2.5 or missing"]
    assert shown(["", "", "4"], "001", publish="mean") == ["missing", "4"]


def test_a_step_snaps_outward() -> None:
    assert shown(["21", "34"], step=5) == ["[20, 35]"]
    assert shown(["20", "35"], step=5) == ["[20, 35]"]
    assert shown(["20", "20"], step=5) == ["20"]
    assert shown(["21", "21"], step=5) == ["[20, 25]"]
    assert shown(["-1", "1"], step=5) == ["[-5, 5]"]
    assert shown(["0.3", "1.1"], step="0.5") == ["[0, 1.5]"]
    assert shown(["1", "1"], step="1/3") == ["1"]
    assert shown(["0.5", "0.5"], step="1/3") == ["[1/3, 2/3]"]


def test_tails_are_coded() -> None:
    cells = ["5", "18", "40", "90", "97"]
    assert shown(cells, "01234", top=90, bottom=18) == ["≤18", "≤18", "40", "≥90", "≥90"]
    assert shown(cells, "00111", top=90, bottom=18) == ["≤18", "[40, ≥90]"]
    assert shown(cells, "00011", top=90, bottom=18) == ["[≤18, 40]", "≥90"]
    assert shown(cells, "00000", top=90, bottom=18) == ["[≤18, ≥90]"]
    assert shown(["88", "97"], top=90, step=5) == ["[85, ≥90]"]
    assert shown(["5", ""], bottom=18) == ["≤18 or missing"]


def test_labels_are_the_lowest_that_cover_a_class() -> None:
    cells = ["x1", "x1", "x1", "x2", "x1", "y1", "far", "far"]
    assert shown(cells, "00112233", hierarchy=ZIPS) == ["x1", "x", "*", "far"]
    assert shown(["far", "x1"], hierarchy=ZIPS) == ["*"]


def test_labels_of_builders() -> None:
    zips = ["02101", "02139", "02142", "98101"]
    assert shown(zips, "0111", hierarchy={"prefix": [3, 1]}) == ["02101", "*"]
    assert shown(zips, "0001", hierarchy={"prefix": [3, 1]}) == ["021**", "98101"]
    assert shown(["3", "7", "12"], "001", hierarchy={"width": [10]}) == ["[0, 10)", "12"]
    days = ["2024-01-05", "2024-01-09", "2024-03-01"]
    assert shown(days, "001", hierarchy={"date": ["month", "year"]}) == ["2024-01", "2024-03-01"]
    assert shown(days, "000", hierarchy={"date": ["month", "year"]}) == ["2024"]


def test_a_leaf_reads_as_its_file_spells_it() -> None:
    rows = {"rows": [["39", "thirties", "*"], ["45", "forties", "*"]]}
    assert shown(["39.0", "45.0"], "01", hierarchy=rows) == ["39", "45"]


def test_sets_are_sorted_and_told_apart() -> None:
    assert shown(["m", "f", "m"]) == ["{f, m}"]
    assert shown(["m", "m"]) == ["m"]
    assert shown([True, False]) == ["{false, true}"]
    assert shown(["b", "a", "Z", "é"]) == ["{Z, a, b, é}"]


@pytest.mark.parametrize(
    ("cell", "quoted"),
    [("a,b", '"a,b"'), ("{x", '"{x"'), ("x}", '"x}"'), ('say "no"', r'"say \"no\""'), ("a b", "a b"), ("ü,", '"ü,"')],
)
def test_a_value_that_could_be_misread_is_quoted_in_a_set(cell: str, quoted: str) -> None:
    assert shown(["zz", cell]) == ["{" + ", ".join(sorted([quoted, "zz"], key=lambda text: text.strip('"'))) + "}"]
    assert shown([cell, cell]) == [cell]


def test_means_have_one_digit_more() -> None:
    assert shown(["1", "2", "2"], publish="mean") == ["1.7"]
    assert shown(["1.25", "1.5"], publish="mean") == ["1.375"]
    assert shown(["1.0", "2.0"], publish="mean") == ["1.5"]
    assert shown(["4", "4"], publish="mean") == ["4"]
    assert shown(["-1", "-2"], publish="mean") == ["-1.5"]
    assert shown(["1e400", "3e400"], publish="mean") == ["2" + "0" * 400]


def test_means_are_of_a_class_not_of_its_different_values() -> None:
    assert shown(["0", "0", "0", "10", "4"], "00001", publish="mean") == ["2.5", "4"]


def test_an_empty_label_beside_missing_values_is_told() -> None:
    rows = {"rows": [["a", "", "*"], ["b", "", "*"], ["c", "*"]]}
    assert shown(["a", "b", "", "a", "b"], "00011", hierarchy=rows) == [" or missing", ""]


# Reading: the inverse of writing

NUMBERS = (
    st.integers().map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(str)
    | st.sampled_from(["1.0", "1e5", "1E-05", "-0", "-0.50", "1/3", "-7/3", "2" + "0" * 400])
)
DATES = st.dates().map(str) | st.datetimes().map(str) | st.sampled_from(["2024-01-02 03:04:05.000000+01:00"])
TEXTS = (
    st.text()
    | st.text(',{}"[]≥≤\\\n ab1')
    | st.sampled_from(
        [
            "",
            "missing",
            " or missing",
            "a or missing",
            "{a, b}",
            '{"a", b}',
            "[1, 2]",
            "[1, 2] or missing",
            "≥90",
            "é, ü",
        ]
    )
)


@st.composite
def ranges(draw: st.DrawFn) -> RangeCell:
    ends = draw(st.sampled_from([NUMBERS, DATES]))
    low, high = draw(ends), draw(ends)
    if low == high or draw(st.booleans()):
        low = high = draw(st.sampled_from(["", "≤", "≥"])) + low
    else:
        low, high = draw(st.sampled_from(["", "≤"])) + low, draw(st.sampled_from(["", "≥"])) + high
    return RangeCell(low, high, draw(st.booleans()))


CELLS: dict[Form, st.SearchStrategy[Cell]] = {
    RangeCell: ranges(),
    MeanCell: st.builds(MeanCell, NUMBERS, st.booleans()),
    LabelCell: st.builds(LabelCell, TEXTS, st.booleans()),
    SetCell: st.builds(SetCell, st.lists(TEXTS, min_size=1, max_size=4).map(tuple), st.booleans()),
    ValueCell: st.builds(ValueCell, TEXTS),
}
WRITTEN = st.one_of(*(cells.map(write) for cells in CELLS.values()))


@pytest.mark.parametrize("form", CELLS)
@given(data=st.data())
def test_what_was_written_is_among_the_readings_of_its_text(form: Form, data: st.DataObject) -> None:
    cell = data.draw(CELLS[form])
    assert cell in readings(write(cell), form)


@pytest.mark.parametrize("form", CELLS)
@given(text=TEXTS | WRITTEN | TEXTS.map("{{{}}}".format) | TEXTS.map("[{}]".format))
@example(text='{"\\q", b}')  # an escape that JSON does not have
@example(text='{"a", b}')  # quotes that nobody would write
@example(text="[5, 5]")
@example(text="{a}")
@example(text="{}")
def test_every_reading_of_a_text_is_written_as_this_text(form: Form, text: str) -> None:
    found = readings(text, form)
    assert [write(cell) for cell in found] == [text] * len(found)
    assert len({*found}) == len(found)


@pytest.mark.parametrize("form", [RangeCell, MeanCell])
@given(data=st.data())
def test_numbers_and_dates_are_read_in_one_way_only(form: Form, data: st.DataObject) -> None:
    cell = data.draw(CELLS[form])
    assert readings(write(cell), form) == (cell,)


@pytest.mark.parametrize("form", [RangeCell, MeanCell, LabelCell, SetCell])
def test_missing_values_alone(form: Form) -> None:
    assert MissingCell() in readings(write(MissingCell()), form)


def test_a_kept_cell_says_no_more_than_its_value() -> None:
    assert readings("missing", ValueCell) == (ValueCell("missing"),)
    assert readings("a or missing", ValueCell) == (ValueCell("a or missing"),)


def test_a_text_that_can_be_read_in_several_ways() -> None:
    assert readings("{a, b} or missing", SetCell) == (
        SetCell(("{a, b} or missing",)),
        SetCell(("{a, b}",), missing=True),
        SetCell(("a", "b"), missing=True),
    )
    assert readings("missing", LabelCell) == (LabelCell("missing"), MissingCell())


@pytest.mark.parametrize("text", ["", "x", "[1, 2", "[1,2]", "[2, 2]", "[≥1, 2]", "[1, ≤2]", "{1, 2}", "1, 2", " 1"])
def test_what_is_no_range(text: str) -> None:
    assert readings(text, RangeCell) == ()


@given(st.data())
def test_the_cells_of_a_column_are_among_the_readings_of_its_texts(data: st.DataObject) -> None:
    cells = data.draw(
        st.lists(TEXTS | NUMBERS, min_size=1, max_size=8) | st.lists(NUMBERS, min_size=1) | st.lists(DATES, min_size=1)
    )
    column = read_quasi(pl.Series("q", cells), Quasi(), ("", "NA"))
    labels = data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells)))
    classes = Classes.from_labels(np.unique(labels, return_inverse=True)[1])
    for cell in different_cells(column, classes)[0]:
        form = SetCell if isinstance(cell, MissingCell) else type(cell)
        assert cell in readings(write(cell), form)


# What cells say


@pytest.mark.parametrize(
    ("cell", "ends", "tails"),
    [
        (RangeCell("20", "30"), (20, 30), (None, None)),
        (RangeCell("≤18", "30"), (None, 30), (18, None)),
        (RangeCell("20", "≥90"), (20, None), (None, 90)),
    ],
)
def test_an_end_in_a_coded_tail_is_open(cell: RangeCell, ends: Any, tails: Any) -> None:
    (said,) = cells_of([cell], "age")
    assert (said.low, said.high) == ends
    assert (said.bottom, said.top) == tails
    assert not said.exact


def test_a_unit_of_a_rule_ends_before_the_next_begins() -> None:
    year, next_year = (rule_cell(label, Builder("date", ("year",)), missing=False) for label in ("2024", "2025"))
    assert (year.high, year.below_high, next_year.above_low) == (next_year.low, True, False)
    ten = rule_cell("[20, 30)", Builder("width", (Fraction(10),)), missing=False)
    assert (ten.low, ten.high, ten.below_high) == (20, 30, True)
    leaf = rule_cell("20", Builder("width", (Fraction(10),)), missing=False)
    assert (leaf.low, leaf.high, leaf.below_high, leaf.exact) == (20, 20, False, True)
