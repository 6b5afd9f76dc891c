"""Bins are (low, high], exact at every edge, and an empty bin is a bin."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import InputError, PolicyError, Sensitive
from tclose.table.sensitive import SensitiveColumn, coded
from tclose.table.values import values_of


def read_sensitive(column: pl.Series, spec: Sensitive, missing: Sequence[str], rows: Any = None) -> SensitiveColumn:
    """Learn the domain of a whole column and code its rows."""
    return coded(values_of(column, missing, rows), spec)


def binned(cells: Sequence[object], **bins: object) -> SensitiveColumn:
    return read_sensitive(pl.Series("x", cells), Sensitive(t=1, bins=bins), [""])  # type: ignore[arg-type]


def shown(cells: Sequence[object], **bins: object) -> list[str]:
    column = binned(cells, **bins)
    return [column.labels[code] for code in column.codes]


def test_width() -> None:
    column = binned(["1", "2", "2.01", "10"], width=2)
    assert column.labels == ("(0, 2]", "(2, 4]", "(4, 6]", "(6, 8]", "(8, 10]")
    assert column.codes.tolist() == [0, 0, 1, 4]
    assert column.distance == "ordered"


def test_width_below_zero() -> None:
    assert shown(["-1", "0", "1"], width=1) == ["(-2, -1]", "(-1, 0]", "(0, 1]"]


def test_decimals_meet_their_edges() -> None:
    assert shown(["0.1", "0.2", "0.3", "0.30"], width=0.1) == ["(0, 0.1]", "(0.1, 0.2]", "(0.2, 0.3]", "(0.2, 0.3]"]
    assert shown([0.1, 0.2, 0.3], width=0.1) == ["(0, 0.1]", "(0.1, 0.2]", "(0.2, 0.3]"]
    assert shown([0.3, 0.1 + 0.2], width=0.1) == ["(0.2, 0.3]", "(0.3, 0.4]"]  # 0.1 + 0.2 is a float above 0.3
    assert shown(["0.5", "1"], width="1/3") == ["(1/3, 2/3]", "(2/3, 1]"]


def test_edges() -> None:
    column = binned([1, 5, 20], edges=[0, 1, 4, 10, 20])
    assert column.labels == ("(0, 1]", "(1, 4]", "(4, 10]", "(10, 20]")
    assert column.codes.tolist() == [0, 2, 3]


@pytest.mark.parametrize(("cells", "rows", "first"), [([5, 0, 1], "1 row", 2), ([5, 1, 11, 12, 11], "3 rows", 3)])
def test_a_value_outside_the_edges_is_refused(cells: list[int], rows: str, first: int) -> None:
    with pytest.raises(InputError) as caught:
        binned(cells, edges=[0, 1, 10])
    assert str(caught.value) == (
        f"column 'x' lies outside its bins (0, 10] in {rows}, first in row {first}: add an edge below or above"
    )


def test_count() -> None:
    column = binned([0.0, 10.0, 1.0, 2.5, 7.5], count=4)
    assert column.labels == ("[0, 2.5]", "(2.5, 5]", "(5, 7.5]", "(7.5, 10]")
    assert column.codes.tolist() == [0, 3, 0, 0, 2]
    assert binned([1, 2], count=3).labels == ("[1, 4/3]", "(4/3, 5/3]", "(5/3, 2]")


def test_quantiles() -> None:
    assert shown([1, 2, 3, 4], quantiles=2) == ["[1, 2]", "[1, 2]", "(2, 4]", "(2, 4]"]
    assert shown([1, 1, 1, 2, 3], quantiles=5) == ["[1, 1]", "[1, 1]", "[1, 1]", "(1, 2]", "(2, 3]"]
    assert len(binned(list(range(100)), quantiles=10).labels) == 10


@pytest.mark.parametrize("bins", [{"width": 3}, {"count": 7}, {"quantiles": 4}])
def test_a_constant_column_has_one_bin(bins: dict[str, int]) -> None:
    assert len(binned([7, 7, 7], **bins).labels) == 1


@pytest.mark.parametrize("bins", [{"width": "0.0005"}, {"count": 2_000_000}, {"quantiles": 2_000_000}])
def test_too_many_bins_are_refused(bins: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=r"^bins: that would make [0-9,]+ bins, more than 1,000,000: make them wider"):
        binned([1, 1000], **bins)


@pytest.mark.parametrize("cells", [["2024-01-01", "2024-01-02"], [True, False]])
def test_only_numbers_have_bins(cells: list[object]) -> None:
    with pytest.raises(InputError, match="column 'x' has bins, but its values are not numbers"):
        binned(cells, width=1)


def test_text_has_no_bins() -> None:
    with pytest.raises(InputError, match="sensitive column 'x' has no order: its values are text; bins need numbers"):
        binned(["a", "b"], width=1)


@settings(deadline=None)
@given(
    st.lists(st.fractions(-20, 20, max_denominator=1).map(lambda f: f / 10), min_size=1, max_size=8),
    st.sampled_from(["0.1", "0.25", "3", "1/7"]),
)
def test_every_value_lies_in_its_bin(cells: list[Fraction], width: str) -> None:
    column = binned([str(float(cell)) for cell in cells], width=width)
    for cell, code in zip(cells, column.codes, strict=True):
        low, high = (Fraction(end) for end in column.labels[code][1:-1].split(", "))
        assert low < cell <= high
        assert high - low == Fraction(width)


def test_the_edges_of_quantiles_are_nobodys_exact_values() -> None:
    cells = ["742.37", "1279.79", "1564.49", "2429.58", "7027.84", "13281.45"]
    labels = binned(cells, quantiles=3).labels
    assert labels == ("[700, 1300]", "(1300, 3000]", "(3000, 20000]")
    assert [labels.index(label) for label in shown(cells, quantiles=3)] == [0, 0, 1, 1, 2, 2]


def test_the_largest_value_is_not_read_off_its_bin() -> None:
    assert shown([0] * 9 + [13281], quantiles=2)[-1] == "(0, 20000]"
    assert shown(["-13281.5", *["0"] * 9], quantiles=5)[0] == "[-20000, 0]"


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.integers(1, 8))
def test_rounded_edges_change_no_bin(numbers: list[int], parts: int) -> None:
    column = binned(numbers, quantiles=parts)
    places = sorted(set(zip(numbers, column.codes.tolist(), strict=True)))
    codes = [code for _, code in places]
    assert codes == sorted(codes)
    seen = [sum(number <= value for number in numbers) for value, _ in places]
    lasts = [seen[i] for i in range(len(places)) if i + 1 == len(places) or codes[i + 1] != codes[i]]
    needed = [-(-len(numbers) * part // parts) for part in range(1, parts + 1)]
    assert lasts == sorted({min(count for count in seen if count >= need) for need in needed})
    assert len(column.labels) == len(lasts)
