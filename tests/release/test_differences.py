"""What subtracting two releases reveals is judged, and a continued release must hold the one before."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy
from tclose.errors import InternalError
from tclose.release.continuation import ChainJudge, differences

POLICY = Policy.from_dict({"quasi": ["age"], "sensitive": {"ill": {"t": 0.5, "l": 2}}, "k": 2})
BEFORE = pl.DataFrame({"age": ["1"] * 4, "ill": ["a", "a", "b", "b"]})


def judged(*rows: tuple[str, str, int]) -> None:
    """Judge rows, each with the batch that it came with."""
    rows = tuple(sorted(rows))
    frame = pl.DataFrame({"age": [row[0] for row in rows], "ill": [row[1] for row in rows]})
    ChainJudge(POLICY, None, batches=np.array([row[2] for row in rows]), before=BEFORE).confirm(frame)


OLD = [("1", "a", 0), ("1", "a", 0), ("1", "b", 0), ("1", "b", 0)]


def test_a_group_that_holds_by_itself_may_join() -> None:
    judged(*OLD, ("1", "a", 1), ("1", "b", 1))


@pytest.mark.parametrize(
    "added",
    [
        [("1", "a", 1)],  # one row more
        [("1", "a", 1), ("1", "a", 1)],  # of one value
        [("1", "a", 1), ("1", "b", 1), ("2", "a", 1)],  # a class of one row
    ],
)
def test_a_group_that_does_not_hold_is_never_released(added: list[tuple[str, str, int]]) -> None:
    with pytest.raises(InternalError):
        judged(*OLD, *added)


def test_a_row_of_the_release_before_must_stay() -> None:
    with pytest.raises(InternalError, match="difference"):
        judged(("1", "a", 0), ("1", "b", 0), ("1", "b", 0), ("1", "b", 0), ("1", "a", 1), ("1", "a", 1), ("1", "b", 1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
def test_each_difference_holds_the_rows_that_came_later(rows: list[tuple[int, int]]) -> None:
    labels, batches = (np.array(column) for column in zip(*rows, strict=True))
    found = list(differences(labels, batches, newest=2))
    for first, classes in enumerate(found):
        groups = {frozenset(classes.members(number).tolist()) for number in range(len(classes))}
        later = [row for row in range(len(rows)) if batches[row] >= first]
        assert groups == {
            frozenset(row for row in later if labels[row] == label) for label in set(labels[later].tolist())
        }
    assert len(found) == batches.max() + 1
