"""Which values a published text covers: all that a reader must reckon with, and no others."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, Quasi
from tclose.recode.cell import class_texts
from tclose.recode.coverage import Coverage, covering, worth_of
from tclose.table.classes import Classes
from tclose.table.quasi import QuasiColumn, read_quasi
from tclose.table.values import values_of

ZIPS = {"rows": [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["far", "*"]]}
DECADES = {"rows": [["39", "thirties", "*"], ["40", "forties", "*"]]}
MISSING = ("", "NA")


def covered(text: str, cells: Sequence[Any], known: Sequence[Any] | None = None, **spec: Any) -> list[Any]:
    """Return the cells of a register that a text covers; without other values, the table is the register."""
    column = read_quasi(pl.Series("q", cells if known is None else known), Quasi(**spec), MISSING)
    register = None if known is None else values_of(pl.Series("q", cells), MISSING)
    return fitting(covering(column, [text], register), cells)


def kept(text: str, cells: Sequence[Any], missing: Sequence[str] = MISSING) -> list[Any]:
    """Return the cells of a kept column that a text covers."""
    return fitting(covering(values_of(pl.Series("q", cells), missing), [text], missing=missing), cells)


def fitting(read: Coverage, cells: Sequence[Any]) -> list[Any]:
    fits = read.covers[read.text_of_class[0], read.cell_of_row]
    return [cell for cell, fit in zip(cells, fits.tolist(), strict=True) if fit]


def test_a_range_covers_what_lies_between_its_ends() -> None:
    assert covered("[2, 4]", ["1", "2", "3.5", "4", "5"]) == ["2", "3.5", "4"]
    assert covered("2", ["1", "2.0", "3"]) == ["2.0"]
    assert covered("[-5, 1e3]", ["-6", "-5", "999", "1001"]) == ["-5", "999"]
    assert covered("[1/3, 2/3]", ["0.3", "0.5", "0.7"], step="1/3") == ["0.5"]
    assert covered("[2, 4]", [1, 2, 3, 4, 5]) == [2, 3, 4]


def test_tails_are_open() -> None:
    cells = ["5", "18", "40", "90", "97"]
    assert covered("≥90", cells, top=90) == ["90", "97"]
    assert covered("≤18", cells, bottom=18) == ["5", "18"]
    assert covered("[≤18, 40]", cells, bottom=18) == ["5", "18", "40"]
    assert covered("[40, ≥90]", cells, top=90) == ["40", "90", "97"]
    assert covered("[≤18, ≥90]", cells, top=90, bottom=18) == cells


def test_dates() -> None:
    days = ["2023-12-30", "2023-12-31", "2024-02-01", "2024-02-02"]
    assert covered("[2023-12-31, 2024-02-01]", days) == days[1:3]
    assert covered("2024-02-02", days) == days[3:]


def test_missing_cells_fit_where_the_text_says_so() -> None:
    assert covered("[1, 2] or missing", ["1", "", "NA", "3"]) == ["1", "", "NA"]
    assert covered("missing", ["1", "", "NA"]) == ["", "NA"]
    assert covered("[1, 2]", ["1", "", "2"]) == ["1", "2"]
    assert covered("{a, b} or missing", ["a", "b", "c", ""]) == ["a", "b", ""]


def test_sets() -> None:
    assert covered("{a, b}", ["a", "b", "c"]) == ["a", "b"]
    assert covered('{"a,b", c}', ["a", "b", "c", "a,b"]) == ["c", "a,b"]
    assert covered(r'{"say \"no\"", "x}"}', ['say "no"', "x}", "x"]) == ['say "no"', "x}"]
    assert covered("a, b", ["a, b", "a", "b"]) == ["a, b"]
    assert covered("{x", ["{x", "x"]) == ["{x"]  # a value on its own is not quoted
    assert covered("{false, true}", [True, False]) == [True, False]


def test_labels_cover_what_lies_below_them() -> None:
    cells = ["x1", "x2", "y1", "far"]
    assert covered("x", cells, hierarchy=ZIPS) == ["x1", "x2"]
    assert covered("x1", cells, hierarchy=ZIPS) == ["x1"]
    assert covered("far", cells, hierarchy=ZIPS) == ["far"]
    assert covered("*", cells, hierarchy=ZIPS) == cells
    assert covered("x or missing", [*cells, ""], hierarchy=ZIPS) == ["x1", "x2", ""]


def test_a_stranger_of_the_register_fits_the_root_alone() -> None:
    assert covered("x", ["x1", "zz"], ["x1", "x2"], hierarchy=ZIPS) == ["x1"]
    assert covered("*", ["x1", "zz"], ["x1", "x2"], hierarchy=ZIPS) == ["x1", "zz"]


def test_labels_made_by_rule_cover_values_that_the_table_lacks() -> None:
    assert covered("476**", ["47677", "47699", "47905"], ["47677", "47602"], hierarchy={"prefix": [3]}) == [
        "47677",
        "47699",
    ]
    longer = ["47677-0001", "47677"]  # would change every label
    assert covered("476**", longer, ["47677", "47602"], hierarchy={"prefix": [3]}) == ["47677"]
    assert covered("[20, 30)", ["19", "20", "29", "30"], ["21", "22"], hierarchy={"width": [10]}) == ["20", "29"]
    months = {"date": ["month", "year"]}
    assert covered("2024-01", ["2024-01-31", "2024-02-01"], ["2024-01-05"], hierarchy=months) == ["2024-01-31"]


def test_a_mean_says_nothing_about_single_values() -> None:
    assert covered("2.5", ["1", "4", ""], publish="mean") == ["1", "4"]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("[1, x]", {}),
        ("oops", {}),
        ("[1, 2", {}),
        ("[2, 2]", {}),
        ("[7, 9]", {}),
        ("+1", {}),
        ("1_0", {}),
        ("{1, 2}", {}),
        ("z", {"hierarchy": {"width": [5]}}),
        ("[1, 2]", {"publish": "mean"}),
        ("≥1", {"publish": "mean"}),
    ],
)
def test_what_nothing_could_have_published_is_refused(text: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="does not belong to the table: column 'q' shows 1 value") as caught:
        covered(text, ["1", "2"], **spec)
    assert text in caught.value.detail
    assert text not in str(caught.value)


def test_a_set_with_a_value_that_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="column 'q' shows 1 value"):
        covered("{a, zz}", ["a", "b"])
    with pytest.raises(InputError, match="column 'q' shows 1 value"):
        covered(r'{"\q", a}', ["a", "b"])  # an escape that JSON does not have


def test_a_register_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="the register's column 'q' is not all numbers, as the table's is"):
        covered("[1, 2]", ["1", "young"], ["1", "2"])


def test_a_register_may_be_spelled_in_another_way() -> None:
    assert covered("{false, true}", ["True", "FALSE"], ["true", "false"]) == ["True", "FALSE"]
    assert covered("[1, 2.50]", ["1.00", "2.5", "3"], ["1", "2.50"]) == ["1.00", "2.5"]
    assert covered("thirties", ["39.0", "40"], ["39", "40"], hierarchy=DECADES) == ["39.0"]
    assert covered("39", ["39.0", "39", "40"], ["39.0", "40"], hierarchy=DECADES) == ["39.0", "39"]
    assert covered("39.0", ["39.0", "40"], hierarchy=DECADES) == ["39.0"]  # a table that was not recoded


def test_a_register_gives_a_text_no_further_readings() -> None:
    """The table has the value {a, b}, but neither a nor b; and nobody below the label a."""
    assert covered("{a, b}", ["a", "b", "{a, b}"], ["{a, b}", "c"]) == ["{a, b}"]
    assert covered("a or missing", ["a", "", "e"], ["e", "E"], hierarchy=AMBIGUOUS) == ["e"]


def test_a_kept_value_is_found_in_a_register_of_another_kind() -> None:
    column, register = values_of(pl.Series("q", ["true", "TRUE"]), ()), values_of(pl.Series("q", ["TRUE", "maybe"]), ())
    assert fitting(covering(column, ["true"], register), ["TRUE", "maybe"]) == ["TRUE"]


def test_a_register_without_values_fits_missing_texts_alone() -> None:
    assert covered("[1, 2]", ["", "NA"], ["1", "2"]) == []
    assert covered("[1, 2] or missing", ["", "NA"], ["1", "2"]) == ["", "NA"]


def test_moments_as_fine_as_a_frame_can_hold() -> None:
    moments = [datetime.datetime(2024, 1, day) for day in (1, 2, 3)]
    for kind in (pl.Datetime("ns"), pl.Datetime("ms"), pl.Datetime("us", "UTC")):
        column = read_quasi(pl.Series("q", moments, dtype=kind), Quasi(), MISSING)
        texts = class_texts(column, Classes.from_labels(np.array([0, 0, 1])))
        assert covering(column, texts).covers.tolist() == [[True, True, False, False], [False, False, True, False]]
        register = values_of(pl.Series("q", moments[1:], dtype=kind), MISSING)
        assert covering(column, texts, register).cell_of_row.tolist() == [1, 2]


def test_numbers_beyond_any_float_have_a_worth() -> None:
    values = values_of(pl.Series("q", ["-1e400", "2", "1e400"]), MISSING)
    worth = worth_of(values)
    assert worth is not None
    assert worth.tolist() == [-1e300, 2, 1e300]
    column = read_quasi(pl.Series("q", ["1", "2e400"]), Quasi(publish="mean"), MISSING)
    read = covering(column, class_texts(column, Classes.from_labels(np.array([0, 1]))))
    assert read.spread().tolist() == [[1, 0, 0], [0, 1, 0]]


# Kept columns


def test_a_kept_cell_covers_its_value_alone() -> None:
    assert kept("a", ["a", "b", ""]) == ["a"]
    assert kept("1.0", ["1", "1.0", "2"]) == ["1", "1.0"]
    assert kept("a or missing", ["a", "a or missing", ""]) == ["a or missing"]
    assert kept("{a, b}", ["a", "b", "{a, b}"]) == ["{a, b}"]
    assert kept("missing", ["missing", ""]) == ["missing"]


def test_a_kept_cell_that_means_missing() -> None:
    assert kept("", ["a", "", "NA"]) == ["", "NA"]
    assert kept("NA", ["1", "", "NA"]) == ["", "NA"]
    assert kept("999.0", [999.0, 1.5], missing=["999"]) == [999.0]


@pytest.mark.parametrize(("text", "cells"), [("c", ["a", "b"]), ("3", ["1", "2"]), ("x", ["1", "2"])])
def test_a_kept_cell_that_nobody_has_is_refused(text: str, cells: list[str]) -> None:
    with pytest.raises(InputError, match="column 'q' shows 1 value that the policy could not have published"):
        kept(text, cells)


# Laws

CELLS = {
    "numbers": st.sampled_from(["1", "2", "2.0", "-3.5", "10", "97", "1e2", "-0", "0.0", "", "NA"]),
    "text": st.sampled_from(
        [
            "a",
            "b",
            "a,b",
            "{a",
            "{a}",
            "{a, b}",
            "{a, b} or missing",
            'q"',
            "\\",
            "missing",
            "a or missing",
            "[1, 2]",
            "≥9",
            "é",
            " ",
            "NA",
            "",
        ]
    )
    | st.text(st.characters(codec="utf-8", exclude_characters="0123456789"), max_size=3),
    "flags": st.sampled_from(["true", "False", "TRUE", ""]),
    "labels": st.sampled_from(["x1", "x2", "y1", "far", ""]),
    "ambiguous": st.sampled_from(["a", "A", "b", "c", "d", "D", "e", "E", ""]),
    "zips": st.sampled_from(["02101", "02139", "98101", ""]),
    "dates": st.sampled_from(["2024-01-05", "2024-01-09 10:30", "2023-03-01", "2024-03-01", "NA"]),
}
AMBIGUOUS = {
    "rows": [
        ["a", "both", "*"],
        ["A", "both", "*"],
        ["b", "missing", "*"],
        ["c", "missing", "*"],
        ["d", "b or missing", "*"],  # also what the leaf b publishes beside missing cells
        ["D", "b or missing", "*"],
        ["e", "a or missing", "*"],
        ["E", "a or missing", "*"],
    ]
}
SPECS: list[tuple[str, dict[str, Any]]] = [
    ("numbers", {}),
    ("numbers", {"step": 5}),
    ("numbers", {"step": "1/3", "top": 9, "bottom": 0}),
    ("numbers", {"publish": "mean"}),
    ("numbers", {"hierarchy": {"width": [5, 10]}}),
    ("text", {}),
    ("flags", {}),
    ("labels", {"hierarchy": ZIPS}),
    ("ambiguous", {"hierarchy": AMBIGUOUS}),
    ("zips", {"hierarchy": {"prefix": [3, 1]}}),
    ("dates", {}),
    ("dates", {"hierarchy": {"date": ["month", "year"]}}),
]


def drawn(data: st.DataObject, kind: str, most: int = 12) -> list[str]:
    """Draw cells of a kind, at least one of which is not missing."""
    return data.draw(st.lists(CELLS[kind], min_size=1, max_size=most).filter(lambda cells: {*cells} - {*MISSING}))


@pytest.mark.parametrize(("kind", "spec"), SPECS)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_every_row_fits_what_its_class_publishes(kind: str, spec: dict[str, Any], data: st.DataObject) -> None:
    cells = drawn(data, kind)
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells)))
    labels = np.unique(numbers, return_inverse=True)[1]
    column = read_quasi(pl.Series("q", cells), Quasi(**spec), MISSING)
    texts = class_texts(column, Classes.from_labels(labels))
    for register in (None, values_of(pl.Series("q", cells), MISSING)):
        read = covering(column, texts, register)
        assert read.covers[read.text_of_class[labels], read.cell_of_row].all()


def every_class(cells: Sequence[str], spec: Quasi) -> tuple[QuasiColumn, Classes]:
    """Return a table in which every set of some of the cells is a class."""
    sets = [chosen for many in range(1, len(cells) + 1) for chosen in combinations(cells, many)]
    column = read_quasi(pl.Series("q", [cell for chosen in sets for cell in chosen]), spec, MISSING)
    return column, Classes.from_labels(np.repeat(np.arange(len(sets)), [len(chosen) for chosen in sets]))


@pytest.mark.parametrize(
    ("kind", "spec"), [each for each in SPECS if each[0] != "ambiguous" and "publish" not in each[1]]
)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_a_text_covers_the_rows_of_the_classes_that_publish_it(
    kind: str, spec: dict[str, Any], data: st.DataObject
) -> None:
    """Exactly these: a reader of the text must reckon with every class that would publish it, and with no other."""
    check_exactly(sorted({*drawn(data, kind, most=6), ""}), Quasi(**spec))


def test_an_ambiguous_label_covers_the_rows_of_the_classes_that_publish_it() -> None:
    check_exactly([*(row[0] for row in AMBIGUOUS["rows"]), ""], Quasi(hierarchy=AMBIGUOUS))


def check_exactly(cells: Sequence[str], spec: Quasi) -> None:
    column, classes = every_class(cells, spec)
    read = covering(column, class_texts(column, classes))
    expected = np.zeros_like(read.covers)
    expected[read.text_of_class[classes.labels_by_row()], read.cell_of_row] = True
    assert (read.covers == expected).all()


@pytest.mark.parametrize(("kind", "spec"), SPECS)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_a_register_changes_nothing_for_the_people_of_the_table(
    kind: str, spec: dict[str, Any], data: st.DataObject
) -> None:
    cells, others = drawn(data, kind), drawn(data, kind)
    column = read_quasi(pl.Series("q", cells), Quasi(**spec), MISSING)
    texts = class_texts(column, Classes.from_labels(np.arange(len(cells)) % max(len(cells) // 2, 1)))
    alone = covering(column, texts)
    assert all(alone.meanings)
    beside = covering(column, texts, values_of(pl.Series("q", [*cells, *others]), MISSING))
    assert (beside.covers[:, beside.cell_of_row[: len(cells)]] == alone.covers[:, alone.cell_of_row]).all()
    assert [[way.spelled for way in ways] for ways in beside.meanings] == [
        [way.spelled for way in ways] for ways in alone.meanings
    ]


@pytest.mark.parametrize(
    ("text", "spec"), [("[1e400000000, 3]", {}), ("1e99999", {}), ("1e99999", {"publish": "mean"})]
)
def test_an_end_that_would_fill_the_memory_is_no_end(text: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="could not have published"):
        covered(text, ["1", "2", "3"], **spec)


def test_a_column_of_a_frame_is_read_with_its_register() -> None:
    table, register = pl.Series("q", [1, 2, None]), pl.Series("q", ["2.0", "5"])
    read = covering(read_quasi(table, Quasi(), MISSING), ["[1, 2]", "missing"], values_of(register, MISSING))
    assert read.values == ("1", "2", "5")
    assert read.covers[:, read.cell_of_row].tolist() == [[True, False], [False, False]]
