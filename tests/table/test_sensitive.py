"""A sensitive column as codes: default distances, declared domains, orders, missing values, exact positions."""

import datetime
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, Policy, PolicyError, Sensitive
from tclose.policy import Builder, CostTable
from tclose.privacy.judge import distance_of
from tclose.table.sensitive import SensitiveColumn, coded
from tclose.table.values import values_of


def read_sensitive(column: pl.Series, spec: Sensitive, missing: Sequence[str], rows: Any = None) -> SensitiveColumn:
    """Learn the domain of a whole column and code its rows."""
    return coded(values_of(column, missing, rows), spec)


def column(cells: Sequence[object], **spec: object) -> SensitiveColumn:
    return read_sensitive(pl.Series("x", cells), Sensitive(**{"t": 1, **spec}), [""])  # type: ignore[arg-type]


def shown(found: SensitiveColumn) -> list[str]:
    return [found.labels[code] for code in found.codes]


@pytest.mark.parametrize(
    ("cells", "spec", "distance"),
    [
        (["1", "2"], {}, "ordered"),
        ([1.5, 2.5], {}, "ordered"),
        (["2024-01-01", "2024-01-02"], {}, "ordered"),
        (["a", "b"], {}, "equal"),
        (["01234", "01235"], {}, "equal"),
        ([True, False], {}, "equal"),
        (["true", "false"], {}, "equal"),
        (["a", "b"], {"order": ["b", "a"]}, "ordered"),
        (["a", "b"], {"hierarchy": Builder("prefix", (1,))}, "hierarchical"),
        (["1", "2"], {"bins": {"width": 1}}, "ordered"),
        (["1", "2"], {"bins": {"width": 1}, "distance": "equal"}, "equal"),
        (["1", "2"], {"distance": "equal"}, "equal"),
        (["1", "x"], {"distance": "equal"}, "equal"),
        (["1", "2"], {"distance": "value"}, "value"),
        ([True, False], {"distance": "ordered"}, "ordered"),
        (["True", "False"], {"distance": "ordered"}, "ordered"),
        (["a", "b"], {"domain": ["a", "b", "c"]}, "equal"),
    ],
)
def test_the_distance_that_settings_and_values_imply(
    cells: list[object], spec: dict[str, object], distance: str
) -> None:
    assert column(cells, **spec).distance == distance


def test_the_reference_counts_the_whole_table() -> None:
    assert column(["2", "10", "2"]).reference.tolist() == [2, 1]
    assert column(["2", "10", "2"], domain=[1, 2, 3, 10]).reference.tolist() == [0, 2, 0, 1]


def test_an_order_is_the_order() -> None:
    found = column(["low", "high", "mid"], order=["low", "mid", "high", "extreme"])
    assert found.labels == ("low", "mid", "high", "extreme")
    assert found.codes.tolist() == [0, 2, 1]
    assert column(["3", "1"], order=[3, 4, 1, 2]).labels == ("3", "4", "1", "2")
    assert column([3.0, 1.0], order=[3, 4, 1, 2]).codes.tolist() == [0, 2]
    assert column([True, False], order=[True, False]).codes.tolist() == [0, 1]
    assert column(["True", "False"], order=[True, False]).codes.tolist() == [0, 1]


def test_a_domain_declares_values_that_do_not_occur() -> None:
    assert column(["b"], domain=["c", "a", "b"]).labels == ("c", "a", "b")
    numbers = column(["2.50", "1"], domain=[10, 1, "2.5"], distance="value")
    assert numbers.labels == ("1", "2.5", "10")
    assert numbers.positions is not None
    assert numbers.positions.tolist() == [0, 1, 6]
    day = datetime.date
    dates = column([day(2024, 1, 3)], domain=[day(2024, 1, 31), day(2024, 1, 3), day(2024, 1, 1)], distance="value")
    assert dates.labels == ("2024-01-01", "2024-01-03", "2024-01-31")
    assert dates.positions is not None
    assert dates.positions.tolist() == [0, 1, 15]


@pytest.mark.parametrize(
    ("cells", "spec", "says"),
    [
        (["1", "2"], {"domain": [1, "1.0", 2]}, "domain: a value stands in the list twice: name it once"),
        (["1", "2"], {"order": ["2", "1", 1.0]}, "order: a value stands in the list twice: name it once"),
        (["1", "2"], {"domain": [1, 2, "many"]}, "domain: its values are numbers, so the whole domain must be numbers"),
        (
            ["2024-01-01"],
            {"domain": ["2024-01-01", 7]},
            "domain: its values are dates, so the whole domain must be dates",
        ),
    ],
)
def test_settings_that_do_not_fit_the_values(cells: list[object], spec: dict[str, object], says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        column(cells, **spec)
    assert str(caught.value) == says


MEND = '; correct it, list it in missing, or say distance = "equal"'


@pytest.mark.parametrize(
    ("cells", "spec", "says", "detail"),
    [
        (
            ["1", "SECRET", "2", "SECRET"],
            {},
            "sensitive column 'x' is not all numbers: something else stands in 2 of 4 rows, first in row 2" + MEND,
            "it is 'SECRET'",
        ),
        (
            ["0", "SECRET", "0"],
            {"distance": "value"},
            "sensitive column 'x' is not all numbers: something else stands in 1 of 3 rows, first in row 2" + MEND,
            "it is 'SECRET'",
        ),
        (
            ["1", "1e1000"],
            {},
            "sensitive column 'x' is not all numbers: something else stands in 1 of 2 rows, first in row 2" + MEND,
            "it is '1e1000'",
        ),
        (
            ["2024-01-01", "2024-02-30"],
            {},
            "sensitive column 'x' is not all dates: something else stands in 1 of 2 rows, first in row 2" + MEND,
            "it is '2024-02-30'",
        ),
        (
            ["a", "SECRET"],
            {"distance": "ordered"},
            "sensitive column 'x' has no order: its values are text; say order = [...], or distance = \"equal\"",
            "",
        ),
        (
            ["a", "SECRET", "a", "other"],
            {"domain": ["a", "b"]},
            "column 'x': its declared domain misses 2 of its values, in 2 rows, first in row 2: add them",
            "they are 'SECRET', 'other'",
        ),
        (
            ["SECRET", "a"],
            {"order": ["a", "b"]},
            "column 'x': its declared order misses 1 of its values, in 1 row, first in row 1: add them",
            "they are 'SECRET'",
        ),
        (
            ["a", "", "SECRET", None],
            {},
            "sensitive column 'x' has no value in 2 rows, first in row 2: "
            'say missing = "value" or "suppress" for it, or fill them',
            "",
        ),
        (
            ["", ""],
            {"distance": "ordered"},
            "sensitive column 'x' has no value in 2 rows, first in row 1: "
            'say missing = "value" or "suppress" for it, or fill them',
            "",
        ),
    ],
)
def test_values_that_do_not_fit_are_counted_not_shown(
    cells: list[object], spec: dict[str, object], says: str, detail: str
) -> None:
    with pytest.raises(InputError) as caught:
        column(cells, **spec)
    assert str(caught.value) == says
    assert caught.value.detail == detail


def test_missing_may_be_a_value() -> None:
    found = read_sensitive(pl.Series("x", ["flu", "?", "cold", ""]), Sensitive(t=1, missing="value"), ["", "?"])
    assert shown(found) == ["flu", "(missing)", "cold", "(missing)"]
    none_missing = read_sensitive(pl.Series("x", ["flu", "cold"]), Sensitive(t=1, missing="value"), [""])
    assert none_missing.labels == ("cold", "flu")


@pytest.mark.parametrize("distance", ["ordered", "value"])
def test_missing_is_the_last_value_beside_a_line(distance: str) -> None:
    found = column(["10", "", "3", "4"], missing="value", distance=distance)
    assert found.labels == ("3", "4", "10", "(missing)")
    assert shown(found) == ["10", "(missing)", "3", "4"]
    apart = [distance_of(found).between(3, code) for code in range(4)]
    at_middle = Fraction(1, 2) if distance == "ordered" else 1 - Fraction(1, 7)
    assert apart == [1, at_middle, 1, 0]


@pytest.mark.parametrize("bins", [{"edges": [0, 5, 10]}, {"count": 2}, {"quantiles": 2}])
def test_missing_is_a_value_beside_bins(bins: dict[str, object]) -> None:
    spec = Policy.from_dict({"quasi": {"q": {}}, "sensitive": {"x": {"t": 1, "bins": bins, "missing": "value"}}})
    found = read_sensitive(pl.Series("x", ["1", "", "9", "10"]), spec.sensitive["x"], [""])
    assert len(found.labels) == 3
    assert shown(found)[1] == found.labels[-1] == "(missing)"


@pytest.mark.parametrize("spec", [{}, {"distance": "ordered"}, {"distance": "value"}, {"order": ["low", "high"]}])
def test_a_column_without_any_value_has_one(spec: dict[str, object]) -> None:
    found = column(["", "", ""], missing="value", **spec)
    assert found.reference.sum() == found.reference[found.codes[0]] == 3
    assert distance_of(found).between(int(found.codes[0]), int(found.codes[0])) == 0


def test_missing_is_no_value_in_a_matrix() -> None:
    spec = Sensitive(t=1, matrix=CostTable(("a", "b"), ((0, 1), (1, 0))), missing="value")
    with pytest.raises(PolicyError, match='missing = "value" has no place in the distance "matrix": use "suppress"'):
        read_sensitive(pl.Series("x", ["a", ""]), spec, [""])


def test_missing_is_a_leaf_under_the_root(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("flu;lung;*\nasthma;lung;*\nulcer;stomach;*\n")
    spec = Sensitive(t=1, hierarchy=tmp_path / "h.csv", missing="value")
    found = read_sensitive(pl.Series("x", ["flu", None, "ulcer"]), spec, [""])
    assert shown(found) == ["flu", "(missing)", "ulcer"]
    assert found.hierarchy is not None
    assert found.hierarchy.levels[1].tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("cells", [["39", "40"], [39, 40], [39.0, 40.0], ["39.0", "40.00"]])
def test_numbers_find_their_leaves_in_any_spelling(tmp_path: Path, cells: list[object]) -> None:
    (tmp_path / "h.csv").write_text("40;old;*\n39;young;*\n")
    found = column(cells, hierarchy=tmp_path / "h.csv")
    assert shown(found) == ["39", "40"]


def test_a_zip_code_finds_only_its_own_leaf(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("01234;0;*\n")
    with pytest.raises(
        InputError, match=r"^column 'x': its hierarchy misses 1 of its values, in 1 row, first in row 1"
    ):
        column([1234], hierarchy=tmp_path / "h.csv")


def test_moments_find_their_leaves(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("2024-03-01 10:00;day;*\n")
    moment = pl.Series("x", [datetime.datetime(2024, 3, 1, 10)])
    assert read_sensitive(moment, Sensitive(t=1, hierarchy=tmp_path / "h.csv"), [""]).codes.tolist() == [0]


def test_a_matrix_covers_the_values(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(";a;b;c\na;0;1;1\nb;1;0;1\nc;1;1;0\n")
    assert column(["c", "a"], matrix=tmp_path / "m.csv").codes.tolist() == [2, 0]
    with pytest.raises(InputError) as caught:
        column(["a", "SECRET"], matrix=tmp_path / "m.csv")
    assert str(caught.value) == "column 'x': its matrix misses 1 of its values, in 1 row, first in row 2: add them"


@pytest.mark.parametrize(
    ("cells", "positions"),
    [
        (["0.1", "0.2", "0.4"], [0, 1, 3]),
        (["10", "-10", "40"], [0, 2, 5]),
        (["1e-05", "1"], [0, 1]),
        (["5"], [0]),
        (["2024-01-01", "2024-01-31", "2024-01-02"], [0, 1, 30]),
        (["0", "1", "100000000000000000000000"], [0, 1, 10**23]),
    ],
)
def test_positions_are_exact_and_small(cells: list[str], positions: list[int]) -> None:
    found = column(cells, distance="value").positions
    assert found is not None
    assert found.tolist() == positions


def test_far_dates_do_not_overflow() -> None:
    ends = pl.Series("x", [-9 * 10**18, 0, 9 * 10**18], dtype=pl.Datetime("ns"))
    found = read_sensitive(ends, Sensitive(t=1, distance="value"), [""]).positions
    assert found is not None
    assert found.tolist() == [0, 1, 2]


def test_row_numbers_are_those_of_the_table() -> None:
    with pytest.raises(InputError, match="first in row 9;"):
        read_sensitive(pl.Series("x", ["1", "SECRET"]), Sensitive(t=1), [""], np.array([3, 8]))
