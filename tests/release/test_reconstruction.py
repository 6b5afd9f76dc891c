"""What a reader reconstructs: small tables by hand, and two laws about releases of any table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.measure.reconstruction import ColumnChange, before_and_after
from tclose.policy import Policy
from tclose.recode.frame import recoded
from tclose.table import encode_quietly
from tclose.table.classes import Classes
from tclose.table.looks import look_at

ILL = {"ill": {"t": 1}}
TREE = {"rows": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"]]}


def change(before: list[Any], after: list[str | None], spec: dict[str, Any] | None = None) -> ColumnChange:
    """Compare one quasi-identifier before and after."""
    policy = Policy.of({"quasi": {"x": spec or {}}, "sensitive": ILL})
    return before_and_after(pl.DataFrame({"x": before}, strict=False), pl.DataFrame({"x": after}), policy)[0]


def after(before: list[Any], published: list[str | None], spec: dict[str, Any] | None = None) -> list[float]:
    drawn = change(before, published, spec).reconstruction
    assert drawn is not None
    return [round(share, 6) for share in drawn.after]


def test_a_range_is_spread_evenly_over_its_numbers() -> None:
    found = change([1, 1, 1, 4], ["[1, 4]"] * 4).reconstruction
    assert found is not None
    assert (found.labels, found.before, found.after) == (("1", "4"), (0.75, 0.25), (0.5, 0.5))
    assert found.differs == 0.25
    assert after([1, 2, 3, 4], ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"]) == [0.25] * 4


def test_what_lies_between_two_bars_counts_for_the_nearer_one() -> None:
    assert after([0, 1, 10], ["[0, 10]"] * 3) == [round(n / 11, 6) for n in (1, 5, 5)]


def test_a_coded_tail_reaches_to_the_end_of_the_table() -> None:
    assert after([1, 2, 3, 4], ["1", "≥2", "≥2", "≥2"], {"top": 2}) == [0.25] * 4


def test_steps_are_read_as_numbers_that_the_table_need_not_have() -> None:
    assert after([1, 2, 3, 4], ["[0, 5]"] * 4, {"step": 5}) == [round(n / 6, 6) for n in (2, 1, 1, 2)]


@pytest.mark.parametrize(
    ("published", "width"),
    [
        (["[1, 3]", "[1, 3]", "8", "8"], 1),
        (["[1, 3]", "[1, 3]", "[1, 8] or missing", "missing"], 11 / 3),
        (["[1, 3]", "[1, 3]", "≥8", "≥8"], None),  # nobody knows how wide an open range is
        (["[1, 3]", "[1, 3]", "*", "*"], None),
        (["1", "3", "8", "8"], None),
    ],
)
def test_widths_are_known_for_all_cells_or_not_at_all(published: list[str | None], width: float | None) -> None:
    found = change([1, 3, 8, None if published[-1] == "missing" else 8], published).width
    assert found == (None if width is None else pytest.approx(width))


def test_a_mean_counts_for_the_nearest_value() -> None:
    assert after([1, 1, 4, 4], ["2.2", "2.2", "3.1", "4"], {"publish": "mean"}) == [0.5, 0.5]


def test_missing_values_have_a_bar_of_their_own() -> None:
    found = change([1, 4, None], ["[1, 4] or missing"] * 3).reconstruction
    assert found is not None
    assert found.others == ("missing",)
    assert found.after == pytest.approx([1 / 3] * 3)
    assert found.differs == pytest.approx(0)
    assert after([1, None], ["1", "missing"]) == [0.5, 0.5]


def test_a_set_is_spread_over_its_values() -> None:
    assert after(["a", "a", "b", "c"], ["{a, b}"] * 3 + ["c"]) == [0.375, 0.375, 0.25]


def test_a_label_is_spread_over_all_values_below_it() -> None:
    found = change(["a", "a", "b", "c"], ["x", "x", "x", "y"], {"hierarchy": TREE}).reconstruction
    assert found is not None
    assert (found.labels, found.others) == (("a", "b", "c"), ("absent",))
    assert found.after == (0.375, 0.375, 0.125, 0.125)  # d is below y, and no row has it
    assert found.differs == 0.25


def test_numbers_of_a_hierarchy_that_no_row_has_count_for_the_nearest_bar() -> None:
    tree = {"rows": [[str(n), "all"] for n in (1, 2, 3, 9)]}
    assert after([1, 9], ["all", "all"], {"hierarchy": tree}) == [0.75, 0.25]


def test_all_other_texts_have_one_bar() -> None:
    common, rare = [f"v{n:02}" for n in range(12)], ["w1", "w2"]
    found = change([*common * 2, *rare], [*common * 2, *["{w1, w2}"] * 2]).reconstruction
    assert found is not None
    assert found.labels[-1] == "…"
    assert found.differs == pytest.approx(0)


def test_a_leaf_that_no_row_has_is_among_all_other_texts() -> None:
    values = [f"v{n:02}" for n in range(14)]
    tree = {"rows": [[value, "all"] for value in [*values, "unused"]]}
    shares = after([*values[:12] * 2, *values[12:]], ["all"] * 26, {"hierarchy": tree})
    assert shares == [round(1 / 15, 6)] * 12 + [round(3 / 15, 6)]


def test_cells_that_the_policy_could_not_have_published_are_said_to_be_so() -> None:
    found = change([1, 4], ["[1, 4]", "dear reader"])
    assert found.reconstruction is None
    assert "could not have published" in found.unreadable
    assert "dear reader" not in found.unreadable


def test_sensitive_and_kept_columns_change_with_withheld_rows_and_bins() -> None:
    policy = Policy.of(
        {
            "quasi": ["age"],
            "keep": ["year"],
            "sensitive": {"pay": {"t": 1, "bins": {"width": 10}, "publish": "bin"}, "ill": {"t": 1}},
        }
    )
    rows = {"age": [1, 1, 1, 1], "year": [7, 7, 8, 8], "pay": [5, 6, 10, 15], "ill": ["a", "a", "b", "b"]}
    published = {
        "age": ["1"] * 3,
        "year": ["7", "7", "8"],
        "pay": ["(0, 10]", "(0, 10]", "(10, 20]"],
        "ill": ["a", "b", "b"],
    }
    found = {each.name: each for each in before_and_after(pl.DataFrame(rows), pl.DataFrame(published), policy)}
    shares = {name: each.reconstruction.after for name, each in found.items() if each.reconstruction}
    assert shares["year"] == pytest.approx([2 / 3, 1 / 3])
    assert shares["ill"] == pytest.approx([1 / 3, 2 / 3])
    # Within the table, the first bin has the numbers 5 to 10, of which 7 and half of 8 are nearer to 6 than to 10. The
    # second has 11 to 15, of which 11 and 12 are nearer to 10 than to 15.
    assert shares["pay"] == pytest.approx([2 / 3 / 6, 2 / 3 * 2.5 / 6, 2 / 3 * 2.5 / 6 + 1 / 3 * 2 / 5, 1 / 3 * 3 / 5])


NUMBERS = st.one_of(st.none(), st.integers(-30, 60))
TEXTS = st.sampled_from([None, *"abcdefghijklmnopq"])
FIRST = st.tuples(NUMBERS, st.integers(-30, 60), TEXTS)  # intervals need a number
ROWS = st.builds(
    lambda first, others: [first, *others], FIRST, st.lists(st.tuples(NUMBERS, NUMBERS, TEXTS), max_size=40)
)
QUASI: dict[str, Any] = {"n": {}, "wide": {"hierarchy": {"width": [5, 20]}}, "text": {}}


def coded(rows: list[tuple[int | None, int | None, str | None]], quasi: dict[str, Any]) -> tuple[Any, Policy]:
    frame = pl.DataFrame(
        [(None if n is None else str(n), None if w is None else str(w), text, "flu") for n, w, text in rows],
        schema=["n", "wide", "text", "ill"],
        orient="row",
    ).cast(pl.String)
    policy = Policy.of({"quasi": quasi, "sensitive": ILL})
    return encode_quietly(frame, policy), policy


@given(ROWS, st.integers(1, 6), st.sampled_from([{}, {"step": 7}, {"top": 20, "bottom": 0}, {"publish": "mean"}]))
def test_no_row_is_lost_and_none_is_made(rows: list[Any], classes: int, spec: dict[str, Any]) -> None:
    numbers = any(row[0] is not None for row in rows)
    table, policy = coded(rows, {**QUASI, "n": spec if numbers else {}})
    labels = np.unique(np.arange(len(rows)) % classes, return_inverse=True)[1].astype(np.int64)
    for each in before_and_after(table.frame, recoded(table, policy, Classes.from_labels(labels)), policy):
        drawn = each.reconstruction
        assert drawn is not None, each.unreadable
        assert min(drawn.after) >= 0
        assert sum(drawn.before) == pytest.approx(1)
        assert sum(drawn.after) == pytest.approx(1)
        assert 0 <= drawn.differs <= 1


@given(ROWS)
def test_an_exact_release_gives_the_table_itself(rows: list[Any]) -> None:
    table, policy = coded(rows, QUASI)
    seen = {column.name: column.bars for column in look_at(table.frame).columns}
    for each in before_and_after(table.frame, recoded(table, policy), policy):
        drawn = each.reconstruction
        assert drawn is not None, each.unreadable
        assert drawn.differs == pytest.approx(0, abs=1e-12)
        assert drawn.labels == tuple(bar.label for bar in seen[each.name])
        shown = [bar.rows / len(rows) for bar in seen[each.name]]
        assert drawn.before[: len(shown)] == pytest.approx(shown)
