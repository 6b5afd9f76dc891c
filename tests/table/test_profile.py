"""Profiles of columns, from which a policy is drafted: kinds and counts, never a cell."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

from tclose.policy.draft import ColumnProfile, NumberLook
from tclose.table.profile import profiles


def test_a_profile_counts_rows_values_and_missing_cells() -> None:
    frame = pl.DataFrame(
        {"age": ["20", "30", "?", "20"], "ill": ["flu", None, "cold", "NA"], "pay": [1.5, 2.0, 2.5, None]}
    )
    age, ill, pay = profiles(frame)
    assert replace(age, numbers=None) == ColumnProfile(
        name="age", kind="number", rows=4, distinct=2, missing=1, markers=("?",), own=3, longest=2
    )
    assert ill == ColumnProfile(
        name="ill", kind="text", rows=4, distinct=2, missing=2, markers=("NA",), own=2, longest=4
    )
    assert replace(pay, numbers=None) == ColumnProfile(
        name="pay", kind="number", rows=4, distinct=3, missing=1, own=3, longest=3
    )


def test_a_profile_holds_no_cell() -> None:
    frame = pl.DataFrame({"name": ["S3CR3T", "other"], "mixed": ["S3CR3T", "5"]})
    assert "S3CR3T" not in repr(profiles(frame))


def look(cells: list[object]) -> NumberLook:
    (profile,) = profiles(pl.DataFrame({"x": cells}, strict=False))
    assert profile.numbers is not None
    return profile.numbers


def test_how_numbers_look() -> None:
    assert look([1.0, 2.0, 3.0, 5.0]).whole
    assert not look([1.0, 2.5]).whole
    assert look(list(range(50, 90))).consecutive
    assert look([*range(50, 90), 10**6]).consecutive  # one stray number does not matter
    assert not look([number**2 for number in range(40)]).consecutive
    assert look([3, 50, 1000]).rising
    assert look([1000, 50, 3]).rising
    assert not look([3, 1000, 50]).rising
    assert look([1_234_567, 7_654_321]).digits == 7
    assert look([1, 7_654_321]).digits == 0
    assert look([20240331, 19991231]).days
    assert not look([20240331, 19991331]).days
    assert look([1, 2, 3, 999]).stray_end
    assert look([-9, 0, 1, 2]).stray_end
    assert not look([97, 98, 99]).stray_end


@pytest.mark.parametrize(
    ("cells", "step"),
    [
        ([47.0 + row / 1000 for row in range(8000)], "0.1"),
        (list(range(0, 100_000, 7)), "1000"),
        (list(range(10)), None),  # coarser than the step would be
        ([5, 5], None),
    ],
)
def test_a_round_step(cells: list[object], step: str | None) -> None:
    assert look(cells).round_step == (None if step is None else Fraction(step))


def test_values_repeat_as_the_number_of_a_person_does() -> None:
    rows = range(600)
    in_order = {"x": [row // 4 * 13 for row in rows]}
    in_waves = {"x": [row % 150 * 13 for row in rows]}
    some_left = {"x": [row % 150 * 13 if row < 450 or row % 2 else 0 for row in rows]}
    chance = random.Random(1)
    measured = {"x": [round(chance.gauss(500, 50)) for _ in rows]}
    blocks = [profiles(pl.DataFrame(each))[0].in_blocks for each in (in_order, in_waves, some_left, measured)]
    assert blocks == [True, True, False, False]


def test_columns_that_say_the_same_are_twins() -> None:
    ages = [row * 7 % 31 for row in range(100)]
    frame = pl.DataFrame(
        {
            "age": ages,
            "square": [age**2 for age in ages],
            "label": [f"a{age}" for age in ages],
            "other": [row * 3 % 29 for row in range(100)],
            "reading": [row * 1.5 for row in range(100)],
            "falling": [-row for row in range(100)],
            "random": [row * 37 % 101 for row in range(100)],
        }
    )
    assert [each.twin for each in profiles(frame)] == [None, "age", "age", None, None, "reading", None]
