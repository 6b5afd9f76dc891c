"""A reader finds in a published cell what was put into it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tclose.errors import InputError
from tclose.measure.queries import value_shares
from tclose.policy import Quasi
from tclose.recode.cell import class_texts
from tclose.recode.coverage import covering
from tclose.table.classes import Classes
from tclose.table.quasi import QuasiColumn, read_quasi

TREE = {"rows": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "*"]]}


def column(cells: list[Any], **spec: Any) -> QuasiColumn:
    return read_quasi(pl.Series("q", cells), Quasi(**spec), ("",))


def shares(cells: list[Any], texts: list[str], first: int, last: int, **spec: Any) -> list[float]:
    return value_shares(column(cells, **spec), texts).shares(first, last).tolist()


def test_whole_numbers_spread_over_their_values() -> None:
    ages = [20, 21, 25, 29]
    texts = ["[20, 29]", "21", "[21, 25] or missing", "missing"]
    assert shares(
        ages,
        texts,
        0,
        1,
    ) == [0.2, 1, 1 / 6, 0]
    assert shares(ages, texts, 0, 3) == [1, 1, 5 / 6, 0]


def test_the_grain_is_the_greatest_common_step() -> None:
    assert shares([1000, 1500, 3000], ["[1000, 3000]"], 0, 1) == [2 / 5]
    assert shares([0.5, 0.75, 2], ["[0.5, 2]"], 1, 2) == [6 / 7]
    days = ["2024-01-01", "2024-01-02", "2024-01-10"]
    assert shares(days, ["[2024-01-01, 2024-01-10]", "2024-01-02"], 0, 1) == [0.2, 1]
    assert shares([7], ["7"], 0, 0) == [1]


def test_numbers_beyond_any_float() -> None:
    wide = ["1", "2", "1e400"]
    assert shares(wide, ["[1, 1e400]", "2"], 0, 2) == [1, 1]
    assert shares(wide, ["[1, 1e400]", "1e400"], 0, 1) == pytest.approx([0, 0], abs=1e-9)


def test_snapped_ends_and_coded_tails() -> None:
    ages = [3, 12, 18, 40, 44, 90, 99]
    texts = ["[40, 45]", "[≤18, 45]", "≥90", "[40, ≥90]", "≤18"]
    found = shares(ages, texts, 3, 4, step=5, top=90, bottom=18)
    assert found == pytest.approx([5 / 6, 5 / 43, 0, 5 / 60, 0])
    assert shares(ages, texts, 0, 6, step=5, top=90, bottom=18) == pytest.approx([5 / 6 + 1 / 6, 1, 1, 1, 1])


def test_a_snapped_end_stays_off_the_next_value() -> None:
    """The grain of 21 and 24 is 3; still [20, 22] does not reach 24, nor [22, 24] reach 21."""
    assert shares([21, 24], ["[20, 22]"], 1, 1, step=2) == [0]
    assert shares([21, 24], ["[22, 24]"], 0, 0, step=2) == [0]


def test_means_are_points() -> None:
    assert shares([1, 2, 6], ["3.0", "1.5", "2.5 or missing", "missing"], 1, 2, publish="mean") == [1, 0, 0.5, 0]


def test_labels_spread_over_their_leaves() -> None:
    texts = ["x", "*", "c", "y", "x or missing", "missing", "d"]
    assert shares(["a", "b", "c"], texts, 1, 2, hierarchy=TREE) == [0.5, 0.5, 1, 1, 1 / 3, 0, 0]


def test_sets_spread_over_their_members() -> None:
    cells = ["a", "b", "c, d", '"', "{"]
    order = ['"', "a", "b", "c, d", "{"]
    texts = ["a", '{a, "c, d"}', '{"\\"", a, b}', "c, d", '{b, "{"} or missing', "missing", "a or missing"]
    assert shares(cells, texts, order.index("a"), order.index("b")) == [1, 0.5, 2 / 3, 0, 1 / 3, 0, 0.5]


def test_a_text_spreads_over_every_way_to_read_it() -> None:
    assert shares(["a", "b", "{a, b}"], ["{a, b}"], 0, 1) == [2 / 3]
    twice = {"rows": [["a", "b or missing", "*"], ["d", "b or missing", "*"], ["b", "*"]]}  # or b, beside missing ones
    assert shares(["a", "b", "d"], ["b or missing"], 0, 0, hierarchy=twice) == [0.25]


def test_what_nothing_could_have_published_is_refused() -> None:
    for text in ("x", "[1, 2", "[7, 9]", "[1e99999, 3]"):
        with pytest.raises(InputError, match="column 'q' shows 1 value that the policy could not have published"):
            value_shares(column([1, 2, 3]), ["2", text])


CELLS = {
    "numbers": (st.integers(-5, 40), {}),
    "decimals": (st.decimals(-3, 3, places=2).map(lambda number: f"{number + 0:f}"), {}),
    "steps": (st.integers(-5, 40), {"step": 4, "top": 30, "bottom": 0}),
    "dates": (st.dates().map(str), {}),
    "labels": (st.sampled_from("abcd"), {"hierarchy": TREE}),
    "sets": (st.text(',{}" ab[]≥', min_size=1, max_size=3), {}),
}


@pytest.mark.parametrize("kind", CELLS)
@settings(deadline=None)
@given(st.data())
def test_every_row_lies_in_what_its_class_publishes(kind: str, data: st.DataObject) -> None:
    """And nothing lies beyond its values, where a range says exactly that."""
    values, spec = CELLS[kind]
    cells = data.draw(st.lists(values | st.none(), min_size=1, max_size=8))
    assume(any(cell is not None for cell in cells))
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells))))
    quasi = column([None if cell is None else str(cell) for cell in cells], **spec)
    classes = Classes.from_labels(np.unique(labels, return_inverse=True)[1])
    texts = class_texts(quasi, classes)
    spread, by_row = value_shares(quasi, texts), classes.labels_by_row()
    for row, code in enumerate(quasi.codes.tolist()):
        if code >= 0:
            assert spread.shares(code, code)[by_row[row]] > 0
    for label, text in enumerate(texts):
        codes = quasi.codes[by_row == label]
        present = codes[codes >= 0]
        whole = spread.shares(int(present.min()), int(present.max()))[label] if len(present) else 0.0
        if not len(present):
            assert text == "missing"
        elif kind in ("numbers", "decimals", "dates"):
            assert whole == pytest.approx(1) or (
                len(present) < len(codes) and whole < 1 and text.endswith("or missing")
            )


@pytest.mark.parametrize("kind", CELLS)
@settings(deadline=None)
@given(st.data())
def test_queries_and_attacks_agree_on_what_a_text_covers(kind: str, data: st.DataObject) -> None:
    values, spec = CELLS[kind]
    cells = data.draw(st.lists(values | st.none(), min_size=1, max_size=8))
    assume(any(cell is not None for cell in cells))
    quasi = column([None if cell is None else str(cell) for cell in cells], **spec)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells)))
    texts = [*dict.fromkeys(class_texts(quasi, Classes.from_labels(np.unique(labels, return_inverse=True)[1])))]
    spread, read = value_shares(quasi, texts), covering(quasi, texts)
    for row, code in enumerate(quasi.codes.tolist()):
        if code >= 0:
            assert ((spread.shares(code, code) > 0) == read.covers[:, read.cell_of_row[row]]).all()
