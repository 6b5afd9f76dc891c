"""Which values lie inside a published cell, against the definition of each kind of cell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy
from tclose.policy import Quasi
from tclose.recode.cell import class_texts
from tclose.recode.meaning import covered
from tclose.table.classes import Classes
from tclose.table.quasi import read_quasi
from tclose.table.values import values_of

COLUMNS = {
    "numbers": (st.integers(-5, 30).map(str), {}),
    "steps and tails": (st.integers(0, 30).map(str), {"step": 5, "top": 25, "bottom": 3}),
    "dates": (st.dates().map(str), {}),
    "text": (st.sampled_from(["a", "b", "c, d", "{e}", "or missing"]), {}),
    "prefixes": (st.sampled_from(["111", "112", "121", "222"]), {"hierarchy": {"prefix": [2, 1]}}),
}


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_a_class_covers_the_values_of_its_rows(name: str, data: st.DataObject) -> None:
    cells, settings = COLUMNS[name]
    texts = data.draw(st.lists(st.one_of(cells, cells, st.just("")), min_size=1, max_size=12))
    spec = Policy.from_dict({"quasi": {"x": settings}, "k": 2}).quasi["x"]
    column = read_quasi(pl.Series("x", texts), spec, ("",))
    labels = np.unique([data.draw(st.integers(0, 3)) for _ in texts], return_inverse=True)[1]
    classes = Classes.from_labels(labels)
    covers = covered(column, class_texts(column, classes), ("",))
    assert covers[labels, np.where(column.codes < 0, covers.shape[1] - 1, column.codes)].all()


def test_values_outside_are_not_covered() -> None:
    numbers = read_quasi(pl.Series("x", ["1", "5", "9", "20"]), Quasi(), ("",))
    assert covered(numbers, ["[5, 9]", "[100, 200]", "9 or missing", "missing"], ("",)).tolist() == [
        [False, True, True, False, False],
        [False, False, False, False, False],
        [False, False, True, False, True],
        [False, False, False, False, True],
    ]
    text = read_quasi(pl.Series("x", ["a", "b"]), Quasi(), ("",))
    assert covered(text, ["{a, z}", "z", "b"], ("",)).tolist() == [
        [True, False, False], [False, False, False], [False, True, False],
    ]  # fmt: skip


def test_a_kept_column_covers_its_own_value_only() -> None:
    kept = values_of(pl.Series("x", ["1", "2.0", ""]), ("",))
    assert covered(kept, ["1.0", "2", "", "3"], ("",)).tolist() == [
        [True, False, False], [False, True, False], [False, False, True], [False, False, False],
    ]  # fmt: skip
