"""Groups of values: few, whole, and the moves between them cost as much as all moves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy
from tclose.privacy.explanation import OTHERS, ValueGroups
from tclose.privacy.judge import distance_of
from tclose.table import SensitiveColumn, encode

SETTINGS: dict[str, dict[str, Any]] = {
    "ordered": {"t": 1},
    "with missing": {"t": 1, "missing": "value"},
    "value": {"t": 1, "distance": "value"},
    "equal": {"t": 1, "distance": "equal"},
    "bins": {"t": 1, "bins": {"width": 3}},
    "hierarchical": {"t": 1, "hierarchy": {"width": [5, 25]}},
}


def coded(values: list[int], kind: str) -> SensitiveColumn:
    cells = ["" if kind == "with missing" and value == 7 else str(value) for value in values]
    frame = pl.DataFrame({"q": ["a"] * len(values), "x": cells})
    return encode(frame, Policy(quasi=["q"], sensitive={"x": SETTINGS[kind]})).sensitive["x"]


@pytest.mark.parametrize("kind", SETTINGS)
@given(values=st.lists(st.integers(0, 60), min_size=2, max_size=90), most=st.integers(2, 20), data=st.data())
def test_moves_between_groups_cost_as_much_as_all_moves(
    kind: str, values: list[int], most: int, data: st.DataObject
) -> None:
    column = coded(values, kind)
    groups = ValueGroups.of(column, most)
    shown = np.flatnonzero(column.reference)
    assert len(groups.names) <= max(most, 1)
    assert sorted(set(groups.group_of[shown].tolist())) == list(range(len(groups.names)))
    assert (np.delete(groups.group_of, shown) == -1).all()
    members = column.codes[: data.draw(st.integers(1, len(values)))]
    plan = distance_of(column).plan(np.bincount(members, minlength=len(column.reference)), column.reference)
    moves = groups.moves(plan)
    assert sum((move.cost for move in moves), Fraction(0)) == sum((move.cost for move in plan), Fraction(0))
    assert sum((move.mass for move in moves), Fraction(0)) == sum((move.mass for move in plan), Fraction(0))
    assert len({(move.source, move.target) for move in moves}) == len(moves)
    assert [move.cost for move in moves] == sorted((move.cost for move in moves), reverse=True)


def test_neighbours_on_a_line_form_groups_with_names_of_their_ends() -> None:
    column = coded(list(range(1, 41)), "ordered")
    assert ValueGroups.of(column, 4).names == ("1 – 10", "11 – 20", "21 – 30", "31 – 40")
    assert ValueGroups.of(coded(list(range(1, 41)), "bins"), 4).names[0] == "(0, 12]"


def test_a_missing_value_is_a_group_of_its_own() -> None:
    names = ValueGroups.of(coded(list(range(1, 41)), "with missing"), 4).names
    assert len(names) == 4
    assert names[-1] == "(missing)"


def test_rare_values_form_one_group_where_there_is_no_line() -> None:
    column = coded([1, 1, 1, 2, 2, 3, 4, 5], "equal")
    assert ValueGroups.of(column, 3).names == ("1", "2", OTHERS)
    assert ValueGroups.of(column, 5).names == ("1", "2", "3", "4", "5")
