"""From a frame and a policy to classes and codes: which columns count, which rows, and what is warned about."""

import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import InputError, LeakWarning, Policy, PolicyError, steps
from tclose.table.classes import classes_of
from tclose.table.coded import encode

TABLE = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Eve", "Dan"],
        "zone": ["a", "b", "a", "a"],
        "ward": ["1", "1", "2", "1"],
        "pay": ["3", "4", "3", "5"],
    }
)
POLICY = {"identifiers": ["name"], "quasi": ["zone"], "keep": ["ward"], "sensitive": {"pay": {"t": 1}}}


def classes(frame: pl.DataFrame, **policy: object) -> list[list[int]]:
    found = encode(frame, Policy.from_dict({**POLICY, **policy})).classes
    return [found.rows[start : start + size].tolist() for start, size in zip(found.starts, found.sizes, strict=True)]


def test_quasi_and_kept_columns_form_the_classes_in_the_order_of_the_table() -> None:
    assert classes(TABLE) == [[0, 3], [1], [2]]
    assert classes(TABLE, keep=[], others="drop") == [[0, 2, 3], [1]]
    assert classes(TABLE[::-1]) == [[0, 3], [1], [2]]


CELLS = st.sampled_from(["", "a", "b", "a ", "A", "é", None])


@settings(deadline=None)
@given(st.lists(st.tuples(CELLS, st.integers(-2, 2) | st.none(), st.sampled_from([0.5, 1.0, None])), min_size=1))
def test_classes_are_the_groups_of_equal_rows(rows: list[tuple[object, ...]]) -> None:
    schema = {"a": pl.String, "b": pl.Int64, "c": pl.Float64}
    found = classes_of(pl.DataFrame(rows, schema=schema, orient="row"))
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row, []).append(number)
    assert found.sizes.tolist() == [len(members) for members in groups.values()]
    assert found.rows.tolist() == [number for members in groups.values() for number in members]


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([1, None, 2, 1], dtype=pl.Int128),
        pl.Series([2**70, None, 2**71, 2**70], dtype=pl.Int128),
        pl.Series([2**64 - 1, None, 0, 2**64 - 1], dtype=pl.UInt64),
        pl.Series([-(2**63), None, 2**63 - 1, -(2**63)], dtype=pl.Int64),
        pl.Series([1.5, None, float("nan"), 1.5]),
        pl.Series([float("nan"), 1.5, 2.5, float("nan")]),
        pl.Series([True, None, False, True]),
        pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series([1, None, 2, 1], dtype=pl.Date),
        pl.Series([1, None, 2, 1], dtype=pl.Datetime("ns", "UTC")),
        pl.Series([1, None, 2, 1], dtype=pl.Time),
        pl.Series([1, None, 2, 1], dtype=pl.Decimal(10, 2)),
    ],
    ids=lambda cells: str(cells.dtype),
)
def test_cells_of_any_type_form_classes(cells: pl.Series) -> None:
    found = classes_of(pl.DataFrame({"a": cells}))
    assert (found.rows.tolist(), found.sizes.tolist()) == ([0, 3, 1, 2], [2, 1, 1])


@pytest.mark.parametrize("odd", ["*", "^pay$", "^.*$", "a b", "ä", ""])
def test_a_column_may_have_any_name(odd: str) -> None:
    frame = TABLE.rename({"zone": odd})
    assert classes(frame, quasi=[odd]) == classes(TABLE)
    assert classes(frame, quasi=["ward"], keep=[], person=odd, others="drop") == [[0, 1, 3], [2]]
    with pytest.warns(LeakWarning, match="repeats in 3 rows"):
        classes(frame, quasi=["ward"], keep=[], identifiers=[odd], others="drop")
    judged = encode(frame, Policy(quasi=["ward"], sensitive={odd: {"t": 1}}), ignore_others=True)
    assert judged.sensitive[odd].labels == ("a", "b")


def test_a_missing_quasi_identifier_is_an_ordinary_value() -> None:
    frame = TABLE.with_columns(zone=pl.Series(["a", None, "a", None]))
    assert classes(frame, keep=[], others="drop") == [[0, 2], [1, 3]]
    assert classes(TABLE.with_columns(zone=pl.Series(["", "a", "", "a"])), keep=[], others="drop") == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ({"quasi": ["zoen"]}, "quasi.zoen: the table has no column 'zoen' (did you mean 'zone'?)"),
        ({"keep": ["wrad"]}, "keep: the table has no column 'wrad' (did you mean 'ward'?)"),
        ({"sensitive": {"pya": {"t": 1}}}, "sensitive.pya: the table has no column 'pya' (did you mean 'pay'?)"),
        ({"unlinkable": ["xyz"]}, "unlinkable: the table has no column 'xyz'"),
        ({"person": "nmae"}, "person: the table has no column 'nmae' (did you mean 'name'?)"),
        (
            {"person": "ssn", "identifiers": ["ssn", "name"]},
            "person: the table has no column 'ssn', so persons cannot be counted",
        ),
        ({"keep": []}, "the policy gives no role to 'ward': name them, or say others = \"drop\""),
    ],
)
def test_columns_that_are_not_there_or_have_no_role(policy: dict[str, object], says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        classes(TABLE, **policy)
    assert str(caught.value) == says


def test_an_identifier_may_be_gone_already() -> None:
    assert classes(TABLE.drop("name")) == classes(TABLE)


def test_other_columns_are_ignored_on_request() -> None:
    with pytest.raises(PolicyError):
        encode(TABLE, Policy.from_dict({**POLICY, "keep": []}))
    assert len(encode(TABLE, Policy.from_dict({**POLICY, "keep": []}), ignore_others=True).classes) == 2


def test_what_is_unlinkable_is_warned_about() -> None:
    with pytest.warns(LeakWarning, match=r"^'ward' is published as it is and not judged \(unlinkable\)$"):
        assert classes(TABLE, keep=[], unlinkable=["ward"]) == [[0, 2, 3], [1]]


def test_a_repeated_identifier_is_warned_about() -> None:
    frame = TABLE.with_columns(name=pl.Series(["Ann", "Ann", "Eve", "Ann"]))
    with pytest.warns(LeakWarning) as caught:
        classes(frame)
    assert [str(warning.message) for warning in caught] == [
        "identifier 'name' repeats in 3 rows: if they are rows of one person, "
        'say person = "name", or k and l count rows, not persons'
    ]
    classes(frame, person="name")


@pytest.mark.parametrize("nobody", [None, "", "NA"])
def test_that_several_rows_lack_an_identifier_says_nothing(nobody: str | None) -> None:
    classes(TABLE.with_columns(name=pl.Series(["Ann", nobody, nobody, "Bob"])), missing=["", "NA"])


def test_all_rows_without_a_person_count_as_one_person() -> None:
    """Null, an empty cell and a marker would otherwise be three persons, and k would seem to hold."""
    frame = TABLE.with_columns(name=pl.Series([None, "", "NA", "Ann"]))
    persons = encode(frame, Policy.from_dict({**POLICY, "person": "name", "missing": ["NA"]})).persons
    assert persons is not None
    assert persons.tolist() == [0, 0, 0, 1]
    persons = encode(frame, Policy.from_dict({**POLICY, "person": "name"})).persons
    assert persons is not None
    assert persons.tolist() == [0, 0, 1, 2]


def test_rows_withheld_for_a_missing_value() -> None:
    frame = TABLE.with_columns(pay=pl.Series(["3", "", "3", "NA"]), debt=pl.Series(["1", "2", None, "4"]))
    sensitive = {"pay": {"t": 1, "missing": "suppress"}, "debt": {"t": 1, "missing": "suppress"}}
    coded = encode(frame, Policy.from_dict({**POLICY, "sensitive": sensitive, "missing": ["", "NA"]}))
    assert (coded.withheld, len(coded.classes.rows)) == (3, 1)
    assert coded.sensitive["pay"].labels == ("3",)  # the domain is that of the rows that are left


def test_no_row_left() -> None:
    frame = TABLE.with_columns(pay=pl.Series(["", None, "", ""]))
    with pytest.raises(InputError, match="every row lacks a sensitive value, so nothing is left to judge"):
        classes(frame, sensitive={"pay": {"t": 1, "missing": "suppress"}})


def test_row_numbers_count_withheld_rows() -> None:
    frame = TABLE.with_columns(pay=pl.Series(["", "1", "2", "3"]), debt=pl.Series(["1", "2", "3", "SECRET"]))
    sensitive = {"pay": {"t": 1, "missing": "suppress"}, "debt": {"t": 1}}
    with pytest.raises(InputError, match=r"'debt' is not all numbers: .* in 1 of 3 rows, first in row 4;"):
        classes(frame, sensitive=sensitive)


def test_a_quasi_identifiers_hierarchy_covers_its_values(tmp_path: Path) -> None:
    (tmp_path / "zone.csv").write_text("a;north;*\nb;north;*\n")
    quasi = {"zone": {"hierarchy": str(tmp_path / "zone.csv")}}
    assert classes(TABLE, quasi=quasi) == classes(TABLE)
    shown = TABLE.with_columns(zone=pl.Series(["north", "*", "a", ""]))  # a release shows inner labels, too
    assert len(classes(shown, quasi=quasi)) == 4
    with pytest.raises(InputError) as caught:
        classes(TABLE.with_columns(zone=pl.Series(["a", "SECRET", "a", "b"])), quasi=quasi)
    assert str(caught.value) == (
        "column 'zone': the hierarchy zone.csv misses 1 of its values, in 1 row, first in row 2: add them"
    )


def test_settings_that_do_not_fit_say_where_they_stand() -> None:
    with pytest.raises(PolicyError, match=r"^sensitive\.pay\.domain: its values are numbers, so the whole domain"):
        classes(TABLE, sensitive={"pay": {"t": 1, "domain": ["3", "4", "5", "x"]}})


def test_supersets_agree_on_ever_fewer_columns() -> None:
    with warnings.catch_warnings():
        coded = encode(TABLE, Policy.from_dict(POLICY))
        assert [grouping.tolist() for grouping in coded.supersets()] == [[0, 1, 0], [0, 0, 1]]


def test_namesakes_beside_a_number_of_their_own_are_not_one_person(tmp_path: Path) -> None:
    """Two persons called Ann have different numbers: as one person, they would be hidden behind each other."""
    table = pl.DataFrame({"name": ["Ann", "Ann", "Bob", "Eve"], "number": [1, 2, 3, 4], "pay": [1, 2, 1, 2]})
    table = table.with_columns(age=pl.lit(30))
    policy = Policy(identifiers=["name", "number"], quasi=["age"], sensitive={"pay": {"t": 1}})
    table.write_parquet(tmp_path / "t.parquet")
    for check in (lambda: encode(table, policy), lambda: steps.check(tmp_path / "t.parquet", policy, engine="disk")):
        with pytest.warns(LeakWarning, match="repeats in 2 rows") as caught:
            check()
        (told,) = [str(warning.message) for warning in caught]
        assert "no two rows share a value of 'number', so they may be namesakes" in told
        assert 'person = "name"' not in told
