"""What a published value covers: the way back from what `published` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import InputError, Quasi
from tclose.recode.covering import covering_of_series as covering
from tclose.recode.spelling import published
from tclose.table.classes import Classes
from tclose.table.quasi import read_quasi

ZIPS = {"rows": [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["far", "*"]]}
MISSING = ("", "NA")


def covered(text: str, cells: Sequence[Any], known: Sequence[Any] | None = None, **spec: Any) -> list[Any]:
    """Return the cells of a register that a text covers; the table has the same cells unless others are given."""
    register = pl.Series("q", cells)
    found = covering(
        "q",
        Quasi(**spec),
        MISSING,
        original=register if known is None else pl.Series("q", known),
        register=register,
        shown=pl.Series("q", [text]),
    )
    fits = found.covers[found.text_of_class[0], found.cell_of_row]
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
    [("[1, x]", {}), ("oops", {}), ("[1, 2", {}), ("{1, 2}", {}), ("z", {"hierarchy": {"width": [5]}})],
)
def test_what_nothing_could_have_published_is_refused(text: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="does not belong to the table: column 'q' shows 1 value") as caught:
        covered(text, ["1", "2"], **spec)
    assert text in caught.value.detail
    assert text not in str(caught.value)


def test_a_set_with_a_value_that_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="column 'q' shows 1 value"):
        covered("{a, zz}", ["a", "b"])


def test_a_register_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="the register's column 'q' is not all numbers, as the table's is"):
        covered("[1, 2]", ["1", "young"], ["1", "2"])


CELLS = {
    "numbers": st.sampled_from(["1", "2", "2.0", "-3.5", "10", "97", "", "NA"]),
    "text": st.sampled_from(["a", "b", "a,b", "{a", 'q"', "missing", "a or missing", ""]),
    "labels": st.sampled_from(["x1", "x2", "y1", "far", ""]),
    "zips": st.sampled_from(["02101", "02139", "98101", ""]),
    "dates": st.sampled_from(["2024-01-05", "2024-01-09", "2023-03-01", "NA"]),
}
SPECS: list[tuple[str, dict[str, Any]]] = [
    ("numbers", {}),
    ("numbers", {"step": 5}),
    ("numbers", {"step": "1/3", "top": 9, "bottom": 0}),
    ("numbers", {"publish": "mean"}),
    ("numbers", {"hierarchy": {"width": [5, 10]}}),
    ("text", {}),
    ("labels", {"hierarchy": ZIPS}),
    ("zips", {"hierarchy": {"prefix": [3, 1]}}),
    ("dates", {}),
    ("dates", {"hierarchy": {"date": ["month", "year"]}}),
]


@pytest.mark.parametrize(("kind", "spec"), SPECS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_row_fits_what_its_class_publishes(kind: str, spec: dict[str, Any], data: st.DataObject) -> None:
    cells = data.draw(st.lists(CELLS[kind], min_size=1, max_size=12).filter(lambda cells: {*cells} - {*MISSING}))
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells)))
    labels = np.unique(drawn, return_inverse=True)[1]
    column = pl.Series("q", cells)
    shown = pl.Series("q", published(read_quasi(column, Quasi(**spec), MISSING), Classes.from_labels(labels)))
    found = covering("q", Quasi(**spec), MISSING, original=column, register=column, shown=shown)
    assert found.covers[found.text_of_class[labels], found.cell_of_row].all()


def test_an_end_that_would_fill_the_memory_is_no_end() -> None:
    spec = Quasi()
    numbers = pl.Series("q", ["1", "2", "3"])
    with pytest.raises(InputError, match="could not have published"):
        covering("q", spec, (), original=numbers, register=numbers, shown=pl.Series("q", ["[1e400000000, 3]"]))
