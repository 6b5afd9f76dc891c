"""check() and explain() on tables small enough to judge by hand."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import CheckResult, InputError, LeakWarning, Policy, anonymize, check, explain

half, third, quarter = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)


def judged(
    zones: Sequence[object], cells: Sequence[object], *, k: int = 1, marked: Sequence[str] = (), **spec: object
) -> CheckResult:
    """Judge one sensitive column, x, in the classes that `zones` form; `marked` cells are missing."""
    frame = pl.DataFrame({"zone": list(zones), "x": pl.Series(cells)})
    return check(frame, Policy(quasi=["zone"], k=k, missing=marked, sensitive={"x": {"t": 1, **spec}}))


def closeness(zones: Sequence[object], cells: Sequence[object], **spec: Any) -> Fraction:
    return judged(zones, cells, **spec).sensitive["x"].closeness


def reached(result: CheckResult, model: str) -> object:
    (found,) = [found.reached for found in result.models if found.model == model]
    return found


# Closeness, by hand


def by_hand(zones: Sequence[str], cells: Sequence[int], *, ordered: bool) -> Fraction:
    """Return the closeness straight from the definitions of DESIGN section 3."""
    domain, worst = sorted(set(cells)), Fraction(0)
    for zone in set(zones):
        mine = [cell for own, cell in zip(zones, cells, strict=True) if own == zone]
        gaps = [Fraction(mine.count(v), len(mine)) - Fraction(cells.count(v), len(cells)) for v in domain]
        running = [sum(gaps[: i + 1], Fraction(0)) for i in range(len(domain))]
        work = sum(map(abs, running)) / max(len(domain) - 1, 1) if ordered else sum(map(abs, gaps)) / 2
        worst = max(worst, work)
    return worst


rows = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=examples(60))
@given(rows)
def test_closeness_is_what_the_definition_says(table: list[tuple[str, int]]) -> None:
    zones, cells = zip(*table, strict=True)
    assert closeness(zones, cells) == by_hand(zones, cells, ordered=True)
    assert closeness(zones, cells, distance="equal") == by_hand(zones, cells, ordered=False)


CODINGS: dict[str, Callable[[list[int]], object]] = {
    "integers": lambda cells: pl.Series(cells),
    "small integers": lambda cells: pl.Series(cells, dtype=pl.Int8),
    "floats": lambda cells: pl.Series(cells, dtype=pl.Float64),
    "small floats": lambda cells: pl.Series(cells, dtype=pl.Float32),
    "decimals": lambda cells: pl.Series([Decimal(cell) for cell in cells]),
    "text": lambda cells: pl.Series([str(cell) for cell in cells]),
    "text with zeros": lambda cells: pl.Series([f"{cell}.{'0' * (i % 3 + 1)}" for i, cell in enumerate(cells)]),
    "exponents": lambda cells: pl.Series([f"{cell}e0" for cell in cells]),
    "categories": lambda cells: pl.Series([str(cell) for cell in cells], dtype=pl.Categorical),
    "enum": lambda cells: pl.Series([str(cell) for cell in cells], dtype=pl.Enum([str(v) for v in range(3, -4, -1)])),
    "pandas": lambda cells: pd.Series(cells),
    "pandas nullable": lambda cells: pd.Series(cells, dtype="Int64"),
    "pandas objects": lambda cells: pd.Series(cells, dtype=object),
    "pandas text": lambda cells: pd.Series([str(cell) for cell in cells]),
    "pandas categories": lambda cells: pd.Series(cells, dtype="category"),
    "arrow": lambda cells: pa.array(cells),
    "arrow dictionary": lambda cells: pa.array([str(cell) for cell in cells]).dictionary_encode(),
    "arrow decimals": lambda cells: pa.array([Decimal(cell) for cell in cells], pa.decimal128(5, 2)),
}


def framed(zones: Sequence[str], column: object) -> Any:
    """Return a frame of the column's own kind; pandas' index runs backwards, which must not matter."""
    if isinstance(column, pl.Series):
        return pl.DataFrame({"zone": zones, "x": column})
    if isinstance(column, pd.Series):
        return pd.DataFrame({"zone": list(zones), "x": column.array}, index=range(len(zones), 0, -1))
    return pa.table({"zone": zones, "x": column})


@pytest.mark.parametrize("coding", CODINGS)
@settings(deadline=None, max_examples=8)
@given(table=rows)
def test_coding_and_kind_of_frame_do_not_matter(coding: str, table: list[tuple[str, int]]) -> None:
    zones, cells = (list(column) for column in zip(*table, strict=True))
    policy = Policy(quasi=["zone"], sensitive={"x": {"t": "1/3", "l": 2, "distance": "value"}}, k=2)
    assert check(framed(zones, CODINGS[coding](cells)), policy) == check(framed(zones, pl.Series(cells)), policy)


@pytest.mark.parametrize("distance", ["ordered", "value", "equal"])
@pytest.mark.parametrize("cells", [[7, 7, 7, 7], [7]], ids=["constant", "one row"])
def test_nothing_to_learn_means_closeness_0(distance: str, cells: list[int]) -> None:
    result = judged(["a", "b", "a", "c"][: len(cells)], cells, distance=distance)
    assert result.sensitive["x"].closeness == 0
    assert result.satisfied


def test_one_row_is_the_whole_table() -> None:
    result = judged(["a"], ["secret"], k=1, l=1)
    assert (result.rows, result.classes, result.smallest_class, result.satisfied) == (1, 1, 1, True)


@pytest.mark.parametrize(
    ("cells", "ordered", "value"),
    [
        (["-5", "0", "10"], half, Fraction(5, 9)),
        (["1e-05", "0.5", "1"], half, None),
        (["9223372036854775807", "9223372036854775808", "9223372036854775810"], half, Fraction(5, 9)),
        (["2023-12-31", "2024-01-01", "2024-01-03"], half, Fraction(5, 9)),
        (["2024-01-01T00:00", "2024-01-01T06:00", "2024-01-01T18:00"], half, Fraction(5, 9)),
    ],
)
def test_numbers_and_dates_lie_on_a_line(cells: list[str], ordered: Fraction, value: Fraction | None) -> None:
    assert closeness("abc", cells) == ordered
    if value is not None:
        assert closeness("abc", cells, distance="value") == value


def test_zip_codes_are_text() -> None:
    result = judged("ab", ["01234", "02345"])
    assert result.sensitive["x"].distance == "equal"


def test_at_the_line() -> None:
    zones, cells = "aab", [1, 2, 2]  # class b is exactly 1/3 away
    assert judged(zones, cells, t="1/3").satisfied
    assert not judged(zones, cells, t="0.3333").satisfied
    assert not judged(zones, cells, t=0.3333333333333333).satisfied


def test_classes_are_numbered_as_the_table_shows_them_first() -> None:
    result = judged(["z", "a", "z", "m", "m"], [1, 1, 1, 5, 9])
    assert result.classes == 3
    assert result.sensitive["x"].worst_class == 3


# Roles


TABLE = pl.DataFrame({"zone": list("aabb"), "ward": list("1212"), "note": list("pqrs"), "x": [1, 2, 2, 1]})


def test_kept_columns_are_part_of_the_class() -> None:
    policy = Policy(quasi=["zone"], sensitive={"x": {"t": 0}}, others="drop")
    assert check(TABLE, policy).satisfied
    kept = check(TABLE, Policy(quasi=["zone"], keep=["ward"], sensitive={"x": {"t": 0}}, others="drop"))
    assert (kept.classes, kept.sensitive["x"].closeness) == (4, half)
    assert check(TABLE, Policy(keep=["zone"], sensitive={"x": {"t": 0}}, others="drop")).classes == 2


def test_unlinkable_columns_are_not() -> None:
    policy = Policy(quasi=["zone"], unlinkable=["ward", "note"], sensitive={"x": {"t": 0}})
    with pytest.warns(LeakWarning) as caught:
        assert check(TABLE, policy).classes == 2
    assert len(caught) == 2


# Persons


VISITS = pl.DataFrame(
    {
        "ssn": ["1", "1", "1", "2", "3", "4", "4", "5"],
        "zone": ["a", "a", "a", "a", "b", "b", "b", "b"],
        "x": ["flu", "flu", "flu", "cold", "flu", "flu", "cold", "ulcer"],
    }
)
ASKED = {"l": 2, "entropy_l": 2, "recursive": {"c": 2, "l": 2}}


def visits(*, person: str | None, k: int = 1, **spec: object) -> CheckResult:
    roles = {"quasi": ["zone"], "identifiers": ["ssn"], "person": person}
    return check(VISITS, Policy.from_dict({**roles, "k": k, "sensitive": {"x": {**ASKED, **spec}}}))


def test_rows_of_one_person_count_once() -> None:
    with pytest.warns(LeakWarning, match=r"identifier 'ssn' repeats in 5 rows: .* say person = \"ssn\""):
        by_row = visits(person=None, k=4)
    assert by_row.smallest_class == 4
    assert not by_row.satisfied  # class a: flu 3, cold 1
    assert reached(by_row, "entropy_l") == pytest.approx(4 / 27**0.25)
    assert reached(by_row, "recursive") == 3

    by_person = visits(person="ssn", k=2)
    assert by_person.satisfied
    assert reached(by_person, "k") == 2
    assert reached(by_person, "l") == 2
    assert reached(by_person, "entropy_l") == pytest.approx(2)  # class a: flu 1, cold 1
    assert reached(by_person, "recursive") == 1  # class a: 1/1; class b: 2/(1+1)
    assert not visits(person="ssn", k=3).satisfied


def test_one_person_shows_one_value_at_most() -> None:
    frame = pl.DataFrame({"ssn": ["1", "1", "1"], "zone": list("aaa"), "x": ["flu", "cold", "ulcer"]})
    by_person = check(frame, Policy(quasi=["zone"], identifiers=["ssn"], person="ssn", sensitive={"x": {"l": 2}}))
    assert reached(by_person, "l") == 1
    assert not by_person.satisfied


def test_persons_do_not_change_closeness() -> None:
    by_person = visits(person="ssn", t=1).sensitive["x"].closeness
    assert by_person == closeness(VISITS["zone"], VISITS["x"]) == Fraction(1, 8)


# Missing values


def test_a_missing_value_may_be_a_value_of_its_own() -> None:
    zones, cells = "aabb", ["flu", None, "flu", "flu"]
    assert closeness(zones, cells, missing="value") == quarter
    with pytest.raises(InputError, match="has no value in 1 row, first in row 2"):
        judged(zones, cells)


def test_a_missing_value_is_farthest_in_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("flu;lung;*\nasthma;lung;*\nulcer;stomach;*\n")
    hierarchy = str(tmp_path / "h.csv")
    # A class of one row and a table of two: half the earth moves, flu–asthma one level, flu–missing two of two.
    assert closeness("ab", ["flu", "asthma"], hierarchy=hierarchy) == quarter
    assert closeness("ab", ["flu", "ulcer"], hierarchy=hierarchy) == half
    assert closeness("ab", ["flu", ""], hierarchy=hierarchy, missing="value") == half


def test_rows_without_a_value_may_be_withheld() -> None:
    result = judged("aabb", [1, None, 2, 9], missing="suppress")
    assert (result.rows, result.withheld) == (3, 1)
    assert result.to_dict()["withheld"] == 1
    assert result.sensitive["x"].closeness == closeness("abb", [1, 2, 9])


# Domains, orders, bins


def test_an_order_changes_what_is_near() -> None:
    zones, cells = "abc", ["low", "mid", "high"]
    assert closeness(zones, cells) == Fraction(2, 3)  # equal: 2/3 of the earth moves
    assert closeness(zones, cells, order=["low", "mid", "high"]) == half
    assert closeness("ab", [3, 1], order=[3, 4, 1, 2]) == third  # half the earth moves two of three steps


def test_declared_values_that_do_not_occur_count() -> None:
    assert closeness("ab", [1, 2]) == half
    assert closeness("ab", [1, 2], domain=[1, 2, 3, 4, 5]) == Fraction(1, 8)
    assert closeness("ab", [1, 2], domain=[1, 2, 11], distance="value") == Fraction(1, 20)
    assert closeness("ab", ["u", "v"], domain=["u", "v", "w"]) == half  # any two values are equally far apart


def test_bins_are_what_is_judged() -> None:
    assert closeness("ab", [1.0, 1.4], bins={"width": 1}) == half  # (0, 1] and (1, 2]
    assert closeness("ab", [1.1, 1.4], bins={"width": 1}) == 0
    assert closeness("ab", [1, 5], bins={"width": 1}) == half
    assert closeness("abb", [1, 2, 5], bins={"edges": [0, 2, 4, 6]}) == third  # the empty bin is a step of the way
    assert closeness("ab", [1, 100], bins={"width": 1}, distance="equal") == half
    assert judged("ab", [1, 2], bins={"width": 1}, publish="bin").satisfied


def test_hierarchies_by_rule() -> None:
    assert closeness("ab", ["02139", "02144"], hierarchy={"prefix": [5, 3, 1]}) == half * third
    assert closeness("ab", ["02139", "94110"], hierarchy={"prefix": [5, 3, 1]}) == half
    assert closeness("ab", [11, 14], hierarchy={"width": [5, 10]}) == half * third
    assert closeness("ab", [11, 19], hierarchy={"width": [5, 10]}) == half * third * 2
    assert closeness("ab", ["2024-01-01", "2024-01-31"], hierarchy={"date": ["month", "year"]}) == half * third
    assert closeness("ab", ["2024-01-01", "2024-12-31"], hierarchy={"date": ["month", "year"]}) == half * third * 2


def test_a_short_path_is_as_deep_as_the_others(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("flu;lung;inside;*\nulcer;stomach;inside;*\nburn;*\n")
    hierarchy = str(tmp_path / "h.csv")
    assert closeness("ab", ["flu", "ulcer"], hierarchy=hierarchy) == half * third * 2
    assert closeness("ab", ["flu", "burn"], hierarchy=hierarchy) == half


def test_a_matrix_of_costs(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(";a;b;c\na;0;1;4\nb;1;0;3.5\nc;4;3.5;0\n")
    matrix = str(tmp_path / "m.csv")
    assert closeness("xy", ["a", "b"], matrix=matrix) == half * quarter
    assert closeness("xy", ["a", "c"], matrix=matrix) == half


# explain()


def test_the_moves_explain_the_closeness() -> None:
    frame = pl.DataFrame({"zone": list("aab"), "x": [1, 2, 9]})
    policy = Policy(quasi=["zone"], sensitive={"x": {"t": 1}})
    told = explain(frame, policy, attribute="x", class_number=2)
    assert [(move.source, move.target, move.mass, move.distance) for move in told.moves] == [
        ("9", "1", third, 1),
        ("9", "2", third, half),
    ]
    assert told.closeness == check(frame, policy).sensitive["x"].closeness == half


def test_explain_needs_a_class_and_an_attribute_that_are_there() -> None:
    frame = pl.DataFrame({"zone": list("aab"), "weight": [1, 2, 9]})
    policy = Policy(quasi=["zone"], sensitive={"weight": {"t": 1}})
    for number in (0, 3, -1):
        with pytest.raises(InputError, match=rf"^there is no class {number}: the table has classes 1 to 2$"):
            explain(frame, policy, attribute="weight", class_number=number)
    with pytest.raises(InputError, match=r"^'wieght' is no sensitive attribute .*did you mean 'weight'"):
        explain(frame, policy, attribute="wieght", class_number=1)


def test_rows_left_out_for_a_missing_value_count_against_the_limit() -> None:
    frame = pl.DataFrame({"zone": ["a"] * 10, "salary": [1, 2, 3, 4, 5, 6, 7, 8, 9, None]})
    asked = {"quasi": ["zone"], "sensitive": {"salary": {"t": 0.5, "missing": "suppress"}}}
    refused = check(frame, Policy(**asked))
    assert (refused.withheld, refused.satisfied) == (1, False)
    assert [model.model for model in refused.models if not model.satisfied] == ["suppress"]
    assert check(frame, Policy(**asked, suppress=0.1)).satisfied


def test_an_empty_cell_is_missing_whatever_else_is() -> None:
    for cells in (["", "x"], [None, "x"]):
        with pytest.raises(InputError, match="has no value in 1 row"):
            closeness("ab", cells, marked=["NA"])


def test_markers_of_missing_numbers_are_numbers() -> None:
    for cells in ([1.0, 999.0], ["1.0", "999.0"], [1, 999], ["1", "999"]):
        for marker in ("999", "999.0"):
            with pytest.raises(InputError, match="has no value in 1 row"):
                closeness("ab", cells, marked=[marker])


def test_digits_of_other_scripts_are_text() -> None:
    assert judged("ab", ["1٣", "22"], distance="equal").sensitive["x"].distance == "equal"


def test_nt_closeness_tries_coarse_supersets_first() -> None:
    half = ["a"] * 40 + ["b"] * 40
    narrow = {f"q{i}": [str(row // 8) for row in range(80)] for i in range(11)}
    frame = pl.DataFrame({"half": half, **narrow, "pay": [1, 2] * 20 + [2, 3] * 20})
    policy = Policy(quasi=["half", *narrow], sensitive={"pay": {"t": 0, "n": 40}})
    assert check(frame, policy).satisfied


def test_an_attribute_that_fails_any_model_is_not_satisfied() -> None:
    assert not judged("ab", [1, 2], t=1, l=2).sensitive["x"].satisfied


# Values that look alike


def spellings(*values: str) -> pl.DataFrame:
    return pl.DataFrame({"age": list(range(len(values))), "ill": values})


ALIKE = (
    r"^sensitive 'ill' has {} of values that differ only in case, spaces, punctuation or Unicode form: l and all other "
    r"models count them as different values, so give those that mean the same one spelling$"
)


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        (("HIV", "hiv", "HIV ", "flu"), "3 pairs"),
        (("diabetes, type 2", "Diabetes type-2"), "1 pair"),
        (("r\u00e9union", "re\u0301union", "St. John", "st john"), "2 pairs"),
    ],
)
def test_values_that_look_alike_are_warned_about_once(values: tuple[str, ...], pairs: str) -> None:
    policy = Policy(quasi=["age"], sensitive={"ill": {"l": 2}}, k=2)
    with pytest.warns(LeakWarning, match=ALIKE.format(pairs)) as caught:
        check(spellings(*values), policy)
    assert len(caught) == 1
    with pytest.warns(LeakWarning, match=ALIKE.format(pairs)) as caught:
        anonymize(spellings(*values), policy, method="mondrian")
    assert len(caught) == 1
    assert not any(value in str(caught[0].message) for value in values)


def test_values_that_differ_are_not_warned_about() -> None:
    policy = Policy(quasi=["age"], sensitive={"ill": {"l": 1}})
    for values in (("A+", "A-", "A", "B"), ("<=50K", ">50K"), ("1", "1.0", "-1"), ("?", "-", "."), ("true", "True")):
        check(spellings(*values), policy)  # a warning would be an error
