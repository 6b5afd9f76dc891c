"""The published frame: which columns, which cells, in which order, and that nothing else is in it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, Policy
from tclose.recode.frame import _plain, ordered, recoded
from tclose.table import encode
from tclose.table.classes import Classes

FRAME = pl.DataFrame(
    {
        "pay": ["1.10", "2.50", "1.1"],
        "name": ["Ann", "Bob", "Cyd"],
        "ward": ["01", "1", "1.0"],
        "age": ["30", "40", "50"],
        "batch": ["x", "", "y"],
        "extra": ["1", "2", "3"],
    }
)


def published(frame: pl.DataFrame, labels: list[int], **policy: Any) -> pl.DataFrame:
    asked = Policy.from_dict(policy)
    classes = Classes.from_labels(np.array(labels))
    return recoded(encode(frame, asked), asked, classes)


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_columns_keep_their_order_and_cells_their_letters() -> None:
    found = published(
        FRAME,
        [0, 1, 0],
        identifiers=["name"],
        keep=["ward"],
        unlinkable=["batch"],
        quasi=["age"],
        sensitive={"pay": {"t": 1}},
        others="drop",
    )
    assert found.columns == ["pay", "ward", "age", "batch"]
    assert found.rows() == [
        ("1.1", "01", "[30, 50]", "x"),  # 1.10 and 1.1 are one number, spelled as the shortest (decision 139)
        ("2.50", "1", "40", ""),
        ("1.1", "1.0", "[30, 50]", "y"),
    ]


def test_bins_are_published_where_asked() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": ["0.5", "1.0", "7"]})
    found = published(
        frame, [0, 0, 0], quasi=["age"], sensitive={"pay": {"t": 1, "bins": {"width": 1}, "publish": "bin"}}
    )
    assert found["pay"].to_list() == ["(0, 1]", "(0, 1]", "(6, 7]"]
    learned = {"pay": {"t": 1, "bins": {"count": 2}, "publish": "bin"}}
    assert published(frame, [0, 0, 0], quasi=["age"], sensitive=learned)["pay"].to_list() == [
        "[0.5, 3.75]",
        "[0.5, 3.75]",
        "(3.75, 7]",
    ]


def test_a_cell_without_a_bin_stays_as_it_is() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": ["0.5", "NA", ""]})
    spec = {"t": 1, "bins": {"width": 1}, "publish": "bin", "distance": "equal", "missing": "value"}
    found = published(frame, [0, 0, 0], quasi=["age"], sensitive={"pay": spec}, missing=["", "NA"])
    assert found["pay"].to_list() == ["(0, 1]", "NA", ""]


def test_dictionaries_are_dropped() -> None:
    letters = pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b", "S3CR3T"]))
    frame = pl.DataFrame({"age": [1, 2, 3], "ward": letters, "ill": letters.cast(pl.Categorical)})
    found = published(frame, [0, 0, 0], quasi=["age"], keep=["ward"], sensitive={"ill": {"t": 1}})
    assert found.schema == {"age": pl.String, "ward": pl.String, "ill": pl.String}


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize("cells", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"x", b"y"]])
def test_what_a_table_cannot_show_is_refused(cells: list[object]) -> None:
    frame = pl.DataFrame({"age": [1, 2], "scan": cells})
    with pytest.raises(InputError, match="column 'scan' is of type"):
        published(frame, [0, 0], quasi=["age"], unlinkable=["scan"], k=2)


@pytest.mark.parametrize("text", ["a rather long text, number {}", "ääääää {}"])  # more bytes than letters
def test_rows_that_were_filtered_are_not_in_it(text: str) -> None:
    """Columns of text share memory with the table that they come from; a file must not get at it."""
    texts = [text.format(number) for number in range(10)]
    frame = pl.DataFrame({"ill": texts, "ward": texts, "row": range(10)}).filter(pl.col("row") != 7)
    assert texts[7].encode() in pickle.dumps(frame)  # else there is nothing to guard against
    found = published(frame, [0] * 9, quasi=["row"], keep=["ward"], sensitive={"ill": {"t": 1}})
    assert texts[7].encode() not in pickle.dumps(found)
    assert found["ill"].to_list() == frame["ill"].to_list()


# The order of rows


def test_rows_are_ordered_by_what_is_published() -> None:
    frame = pl.DataFrame({"b": ["y", "x", "x", None], "a": [1, 3, 2, 9]})
    found, order = ordered(frame)
    assert found.rows() == [(None, 9), ("x", 2), ("x", 3), ("y", 1)]
    assert order.tolist() == [3, 2, 1, 0]
    assert found.columns == ["b", "a"]


def test_names_that_polars_takes_for_patterns() -> None:
    frame = pl.DataFrame({"^b$": ["y", "x"], "^.*$": [1, 2], "position": [5, 6], "": ["p", "q"]})
    found, order = ordered(frame)
    assert found.columns == frame.columns
    assert found.rows() == [frame.row(1), frame.row(0)]
    assert order.tolist() == [1, 0]


def test_categories_of_ones_own_leave_no_dictionary_behind() -> None:
    column = pl.Series("x", ["SECRET", "a", "b"]).cast(pl.Categorical(pl.Categories("mine")))
    assert _plain(column[1:]).dtype == pl.String


def test_each_published_column_beats() -> None:
    policy = Policy.from_dict({"quasi": ["ward"], "sensitive": {"age": {"t": 1}}, "others": "drop"})
    beats = list[int]()
    recoded(encode(FRAME, policy), policy, Classes.from_labels(np.array([0, 0, 0])), lambda: beats.append(1))
    assert len(beats) == 2
