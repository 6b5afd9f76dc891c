"""Labels of axes: short, different, and as good as the names where those are short."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.report.charts import FONT_PIXELS, WIDEST_PIXELS, short_labels, width


@given(st.lists(st.text(max_size=80), max_size=20))
def test_labels_fit_and_differ(names: list[str]) -> None:
    labels = short_labels(names)
    assert len(labels) == len(names)
    assert all(width(label) * FONT_PIXELS <= WIDEST_PIXELS for label in labels)
    assert len(set(labels)) == len(labels)


@given(st.lists(st.text("abc", min_size=1, max_size=15), unique=True, max_size=20))
def test_short_names_stay(names: list[str]) -> None:
    assert short_labels(names) == names


@given(st.lists(st.integers(10**6, 10**14), unique=True, min_size=2, max_size=20))
def test_ranges_of_numbers_stay_apart(ends: list[int]) -> None:
    rising = sorted(ends)
    labels = short_labels([f"{low} – {high}" for low, high in pairwise(rising)])
    assert len(set(labels)) == len(labels)


def test_only_as_many_digits_as_needed() -> None:
    coarse = ["(1000000001, 1500500000]", "(1500500000, 2000000000]"]
    assert short_labels(coarse) == ["(1 bn, 1.5 bn]", "(1.5 bn, 2 bn]"]
    fine = ["(1000000001, 1000500000]", "(1000500000, 2000000000]"]
    assert short_labels(fine) == ["(1 bn, 1.0005 bn]", "(1.0005 bn, 2 bn]"]
    large = ["from 123456789012345678901", "from 223456789012345678901"]
    assert short_labels(large) == ["from 1.23e+20", "from 2.23e+20"]
    assert short_labels(["-12345678.25 – 0.000123", "1234567 – 7654321.5"]) == ["-12.3 M – 0.000123", "1.23 M – 7.65 M"]


def test_a_code_is_no_number() -> None:
    codes = ["12345678901234567890", "12345678901234567891"]
    assert all(label.startswith("1234567890") for label in short_labels(codes))


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["alike " * 9 + "one", "alike " * 9 + "two"], ["…one", "…two"]),
        (["x" * 60, "x" * 60], ["x" * 18 + "…", "x" * 16 + "… (2)"]),
    ],
)
def test_what_differs_is_shown(names: list[str], labels: list[str]) -> None:
    assert short_labels(names) == labels
