"""What a text means in its column: which codes a reader finds, by spelling, by size and by label."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError, Quasi
from tclose.recode.cell import LabelCell, MissingCell, RangeCell, SetCell
from tclose.recode.meaning import HierarchyLabels, KnownValues, meanings, reader_of
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import read_quasi
from tclose.table.values import values_of

TREE = [["x1", "x", "x", "*"], ["x2", "x", "x", "*"], ["y1", "y1", "y", "*"], ["z", "y", "*"], ["far", "*"]]


def known(*cells: object) -> KnownValues:
    return KnownValues.of(values_of(pl.Series("q", list(cells)), ("",)))


def test_a_value_is_found_by_its_spelling_and_by_its_size() -> None:
    numbers = known("1.50", "2", "-0")
    assert [numbers.code(text) for text in ("1.50", "1.5", "15e-1", "2.0", "0", "3", "x")] == [
        1,
        1,
        1,
        2,
        0,
        None,
        None,
    ]
    days = known("2024-01-05", "2024-01-09 10:30")
    assert [days.code(text) for text in ("2024-01-05", "2024-01-05 00:00", "2024-01-06")] == [0, 0, None]
    assert [known("true", "false").code(text) for text in ("False", "TRUE", "1")] == [0, 1, None]
    assert [known("a", "A").code(text) for text in ("a", "A", "b")] == [1, 0, None]


@pytest.mark.parametrize("text", ["1e99999", "1e1000", "+1", "1_0", " 1", "01", "1.", "١", "1/0", "x", "", "9" * 5000])
def test_what_no_table_spells_is_no_number(text: str) -> None:
    assert known("1", "10").number(text) is None


@given(st.lists(st.decimals(-9, 9, places=2), min_size=1), st.data())
def test_codes_between_bounds(cells: list[Decimal], data: st.DataObject) -> None:
    """Bounds lie anywhere, on a value, or a little beside one."""
    near = [Fraction(cell) + Fraction(step, 1000) for cell in cells for step in (-1, 0, 1)]
    bounds = st.none() | st.fractions(-10, 10) | st.sampled_from(near)
    low, high = data.draw(bounds), data.draw(bounds)
    numbers = known(*(f"{cell:f}" for cell in cells))
    sizes = [numbers.number(text) for text in numbers.texts]
    inside = [code for code, size in enumerate(sizes) if _within(size, low, high)]
    assert list(range(len(sizes)))[numbers.between(low, high)] == inside


def test_a_bound_between_two_values_covers_neither_beyond_it() -> None:
    numbers = known("1", "2", "3")
    assert numbers.between(Fraction(3, 2), None) == slice(1, 3)
    assert numbers.between(None, Fraction(5, 2)) == slice(0, 2)
    assert numbers.between(Fraction(9, 4), Fraction(11, 4)) == slice(2, 2)


def _within(size: Fraction | None, low: Fraction | None, high: Fraction | None) -> bool:
    assert size is not None
    return (low is None or size >= low) and (high is None or size <= high)


@given(st.lists(st.integers(-1, len(TREE) - 1)))
def test_codes_below_a_label_are_those_whose_path_has_it(leaves: list[int]) -> None:
    """What lies at no leaf is below the root alone; x stands at two heights, above the same leaves."""
    hierarchy = Hierarchy.from_rows(TREE)
    labels, paths = HierarchyLabels(hierarchy, np.array(leaves, dtype=np.int64)), [*hierarchy.rows(), ("*",)]
    for label in ("x1", "x2", "x", "y1", "y", "z", "far", "*"):
        codes = labels.below(label)
        assert codes is not None
        assert codes.tolist() == [code for code, leaf in enumerate(leaves) if label in paths[leaf]]
    assert labels.below("nowhere") is None


def test_every_way_to_read_a_text() -> None:
    sets = reader_of(read_quasi(pl.Series("q", ["a", "b", "{a, b}", "missing"]), Quasi(), ("",)))
    plain, several = meanings(sets, ["{a, b}"], name="q")[0]
    assert plain.spelled == SetCell(("{a, b}",))
    assert several.spelled == SetCell(("a", "b"))
    value, nothing = meanings(sets, ["missing"], name="q")[0]
    assert value.spelled == SetCell(("missing",))
    assert nothing.spelled == MissingCell()
    assert nothing.missing
    assert not value.missing


def test_a_reading_that_the_column_cannot_have_is_dropped() -> None:
    sets = reader_of(read_quasi(pl.Series("q", ["a", "b"]), Quasi(), ("",)))
    assert [way.spelled for way in meanings(sets, ["a or missing"], name="q")[0]] == [SetCell(("a",), missing=True)]
    labels = reader_of(read_quasi(pl.Series("q", ["x1"]), Quasi(hierarchy={"rows": TREE}), ("",)))
    assert [way.spelled for way in meanings(labels, ["y or missing"], name="q")[0]] == [LabelCell("y", missing=True)]


def test_cells_that_mean_missing_in_the_table_do_so_in_a_release() -> None:
    numbers = reader_of(read_quasi(pl.Series("q", ["1", "2"]), Quasi(), ("", "NA", "999")))
    ways = meanings(numbers, ["", "NA", "999.0", "[1, 2]"], name="q", missing=("", "NA", "999"))
    assert [way.spelled for (way,) in ways] == [MissingCell(), MissingCell(), MissingCell(), RangeCell("1", "2")]


def test_what_cannot_be_read_is_counted_and_told_apart_from_the_message() -> None:
    numbers = reader_of(read_quasi(pl.Series("q", ["1", "2"]), Quasi(), ("",)))
    with pytest.raises(InputError) as caught:
        meanings(numbers, ["1", "S3CR3T", "{1, 2}"], name="q")
    assert str(caught.value) == (
        "the release does not belong to the table: column 'q' shows 2 values that the policy could not have published"
    )
    assert caught.value.detail == "the first is 'S3CR3T'"
