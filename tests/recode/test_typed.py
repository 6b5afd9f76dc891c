"""Typed columns: every published cell survives them, in any type that a file may give back."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, Policy, Quasi
from tclose.recode.cell import LabelCell, MeanCell, RangeCell, SetCell, class_texts
from tclose.recode.meaning import clear_forms, guessed_form
from tclose.recode.typed_table import check_kept, check_typed_names, text_table, typed_table
from tclose.recode.typed_values import plain
from tclose.table.classes import Classes, classes_of
from tclose.table.quasi import read_quasi
from tclose.table.sources import parse

ZIPS = {"rows": [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["far", "*"]]}


def policy(**spec: Any) -> Policy:
    return Policy(quasi={"q": spec}, sensitive={"s": {"t": 0.5}}, keep=["kept"])


def release(cells: Sequence[object], labels: Sequence[int], **spec: Any) -> tuple[pl.DataFrame, Any]:
    """Publish a column in classes, in the order of its cells, and return the form of its cells."""
    column = read_quasi(pl.Series("q", cells), Quasi(**spec), ())
    classes = Classes.from_labels(np.unique(labels, return_inverse=True)[1])
    texts = pl.Series("q", class_texts(column, classes)).gather(classes.labels_by_row())
    rows = pl.DataFrame({"kept": ["a"] * len(cells), "q": texts, "s": [f"{i % 3}" for i in range(len(cells))]})
    return rows.sort(rows.columns), clear_forms({"q": column})


def typed(cells: Sequence[object], labels: Sequence[int], **spec: Any) -> pl.DataFrame:
    rows, forms = release(cells, labels, **spec)
    return typed_table(rows, policy(**spec), forms)


def as_csv(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the text that a CSV file gives back."""
    file = io.BytesIO()
    frame.write_csv(file)
    return parse(file.getvalue())


numbers = st.lists(
    st.one_of(st.integers(-99, 99).map(str), st.decimals(-9, 9, places=2).map(lambda d: str(d).replace("-0.00", "0"))),
    min_size=1, max_size=12,
)  # fmt: skip
dates = st.lists(st.dates().map(lambda day: f"{day:%Y}".zfill(4) + f"-{day:%m-%d}"), min_size=1, max_size=12)
moments = st.lists(st.datetimes().map(lambda each: each.isoformat(sep=" ", timespec="microseconds")), min_size=1)
words = st.lists(st.sampled_from(["a", "b, c", 'd"', "{e", "f or", "7"]), min_size=1, max_size=12)
leaves = st.lists(st.sampled_from(["x1", "x2", "y1", "far"]), min_size=1, max_size=12)
SPECS = [
    (numbers, {}),
    (numbers, {"step": 5, "top": 50, "bottom": "-20"}),
    (numbers, {"step": 5, "bottom": 3}),
    (numbers, {"publish": "mean"}),
    (dates, {}),
    (moments, {}),
    (words, {}),
    (leaves, {"hierarchy": ZIPS}),
    (leaves, {"hierarchy": {"prefix": [1]}}),
]


@settings(max_examples=examples(40))
@given(data=st.data())
def test_cells_survive_typed_columns(data: Any) -> None:
    """Also as the text of a CSV file."""
    cells, spec = data.draw(st.sampled_from(SPECS))
    values = data.draw(cells) + [""] * data.draw(st.integers(0, 3))
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    rows, forms = release(values, labels, **spec)
    asked = policy(**spec)
    columns = typed_table(rows, asked, forms)
    back = text_table(columns, asked)
    assert classes_of(back[["q"]]).labels_by_row().tolist() == classes_of(rows[["q"]]).labels_by_row().tolist()
    assert typed_table(back.select("kept", "q", "s"), asked, forms).equals(columns)
    assert text_table(as_csv(typed_table(rows, asked, forms, lists=False)), asked).equals(back)


def test_ranges_have_ends_and_a_midpoint() -> None:
    found = typed(["20", "35", "40", "", "7"], [0, 0, 1, 1, 2])
    assert found.schema["q_low"] == pl.Int64
    shown = found.select("q_low", "q_high", "q_mid", "q_missing", "class", "class_size").rows()
    assert (
        shown == [(40, 40, 40.0, "some", 1, 2)] * 2 + [(7, 7, 7.0, "none", 2, 1)] + [(20, 35, 27.5, "none", 3, 2)] * 2
    )


def test_coded_tails_are_open() -> None:
    found = typed(["10", "17", "15", "30", "60", "95"], [0, 0, 1, 1, 2, 2], bottom=18, top=90)
    names = ("q_low", "q_high", "q_mid", "q_bottom", "q_top")
    assert found.select(names).unique(maintain_order=True).rows() == [
        (60, None, None, None, 90),
        (None, 30, None, 18, None),
        (None, 18, None, 18, None),
    ]


def test_days_have_a_day_in_the_middle_and_moments_a_moment() -> None:
    days = typed(["2024-02-01", "2024-02-04"], [0, 0])
    assert days["q_mid"][0].isoformat() == "2024-02-02"
    times = typed(["2024-02-01 10:00", "2024-02-01 11:00"], [0, 0])
    assert times["q_mid"][0].isoformat() == "2024-02-01T10:30:00"


def test_labels_list_the_leaves_of_a_given_hierarchy_and_none_of_one_by_rule() -> None:
    given_rows = typed(["x1", "x2", "y1", "y1"], [0, 0, 1, 1], hierarchy=ZIPS)
    assert given_rows.select("q", "q_label").rows() == [(["x1", "x2"], "x")] * 2 + [(["y1"], "y1")] * 2
    by_rule = typed(["02138", "02139", "90210", "90210"], [0, 0, 1, 1], hierarchy={"prefix": [3]})
    assert by_rule["q"].to_list() == [["021**"]] * 2 + [["90210"]] * 2


def test_classes_are_numbered_in_the_published_order() -> None:
    found = typed(["9", "9", "1", "1"], [0, 0, 1, 1])
    assert found.select("q_low", "class").rows() == [(1, 1)] * 2 + [(9, 2)] * 2


@pytest.mark.parametrize("value", ["missing", "a or missing", "{a, b}"])
def test_values_that_can_be_read_in_two_ways_are_refused(value: str) -> None:
    with pytest.raises(InputError, match="read in two ways"):
        typed([value, "a", "b"], [0, 1, 1])
    with pytest.raises(InputError, match="read in two ways"):
        typed(["a", "b"], [0, 0], hierarchy={"rows": [["a", "x or missing", "*"], ["b", "x or missing", "*"]]})


@pytest.mark.parametrize(
    ("values", "spec", "why"),
    [
        (["1.5", "2"], {"step": Fraction(1, 3)}, "neither decimal numbers nor dates"),
        (["1" * 30, "2"], {}, "beyond 64 bits"),
        (["1.5", "0.12345678901234567890123"], {}, "no float holds exactly"),
    ],
)
def test_numbers_that_no_type_holds_are_refused(values: list[str], spec: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        typed(values, [0, 0], **spec)


def test_kept_cells_that_would_become_equal_are_refused() -> None:
    rows, forms = release(["1", "2"], [0, 0])
    with pytest.raises(InputError, match="spells one value in several ways"):
        check_kept(two := rows.with_columns(kept=pl.Series(["5", "5.0"])), typed_table(two, policy(), forms), policy())


def test_other_columns_have_types() -> None:
    rows, forms = release(["1", "2", "3"], [0, 0, 0])
    given_rows = rows.with_columns(
        s=pl.Series(["1.50", "?", "2"]),
        day=pl.Series(["2024-01-01", "", "2024-01-02"]),
        note=pl.Series(["a", "?", "7"]),
    )
    found = typed_table(given_rows, Policy(quasi=["q"], sensitive={"s": {"t": 1}}, missing=["?"]), forms)
    assert found["s"].to_list() == [1.5, None, 2.0]
    assert found.schema["day"] == pl.Date
    assert found["note"].to_list() == ["a", None, "7"]


@pytest.mark.parametrize("clash", ["class", "Class_Size", "q_low", "Q_MID", "q_missing", "q_label"])
def test_names_that_clash_are_refused(clash: str) -> None:
    with pytest.raises(InputError, match=clash):
        check_typed_names(Policy(quasi=["q"], sensitive={clash: {"t": 0.5}}))
    with pytest.raises(InputError, match=clash):
        check_typed_names(
            Policy(quasi=["q"], sensitive={"s": {"t": 0.5}}, identifiers=[clash], pseudonym={clash: {"key": "x.key"}})
        )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (pl.col("q_mid") + 1, "midpoints"),
        (pl.col("q_low").cast(pl.String) + "x", "neither"),
        (pl.lit(None, dtype=pl.Int64).alias("q_low"), "cannot be read"),
        (pl.col("class") + pl.int_range(pl.len()), "does not number"),
        (pl.lit(1).alias("class"), "does not number"),
        (pl.col("class_size") + 1, "sizes"),
        (pl.lit("few").alias("q_missing"), "cannot be read"),
        (pl.lit("all").alias("q_missing"), "cannot be read"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(change: pl.Expr, why: str) -> None:
    found = typed(["1", "3", "4", "8"], [0, 0, 1, 1])
    with pytest.raises(InputError, match=why):
        text_table(found.with_columns(change), policy())


@pytest.mark.parametrize("cell", ["[", "[]", "[1]", '"a"', ""])
def test_lists_that_are_none_are_refused(cell: str) -> None:
    found = typed(["a", "b"], [0, 0]).with_columns(q=pl.lit(cell))
    with pytest.raises(InputError, match="cannot be read"):
        text_table(found, policy())


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="typed columns of 'q'"):
        text_table(typed(["1", "3"], [0, 0]).drop("q_high"), policy())


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["[1, 2]", "7", "missing"], RangeCell),
        (["[≤1, 2] or missing", "≥9"], RangeCell),
        (["[2024-01-01, 2024-02-01]"], RangeCell),
        (["[1, 2]", "a"], SetCell),
        (["02138", "1"], SetCell),
        (["missing"], SetCell),
    ],
)
def test_forms_are_guessed_from_texts(texts: list[str], form: Any) -> None:
    assert guessed_form(texts) is form
    assert guessed_form(texts, hierarchy=True) is LabelCell
    assert guessed_form(texts, mean=True) is MeanCell


@settings(max_examples=examples(20))
@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1))
def test_a_number_has_one_plain_spelling(values: list[Any]) -> None:
    floats, texts = pl.Series([float(value) for value in values]), pl.Series([f"{value:f}" for value in values])
    assert plain(floats).to_list() == plain(texts).to_list()


def test_class_and_class_size_stand_beside_the_rows_of_the_class() -> None:
    """Rows come in the order of all published cells, so those of a class need not come together."""
    rows = pl.DataFrame({"s": [*"12345"], "kept": ["a"] * 5, "q": ["[1, 2]", "9", "[1, 2]", "9", "[1, 2]"]})
    made = typed_table(rows, policy(), {"q": RangeCell})
    assert made["class"].to_list() == [1, 2, 1, 2, 1]
    assert made["class_size"].to_list() == [3, 2, 3, 2, 3]
