"""Which rows can be published, and what a refusal says: ask for the level that it names, and it is reached."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, InputError, Policy, anonymize, check
from tclose.privacy.feasibility import Publishable, publishable
from tclose.table import CodedTable, encode

FRAME = pl.DataFrame(
    {
        "who": ["p", "p", "q", "q", "r", "r", "r", "r"],
        "age": [1, 2, 3, 4, 5, 6, 7, 8],
        "ill": ["a", "a", "a", "a", "b", "b", "b", "c"],
        "pay": [1, 1, 1, 2, 2, 3, 3, 9],
    }
)


def policy(**asked: Any) -> Policy:
    return Policy.from_dict({"quasi": ["age"], "others": "drop", **asked})


def found_for(frame: pl.DataFrame, asked: Policy) -> Publishable:
    return publishable(encode(frame, asked), asked)


def refusal(frame: pl.DataFrame, **asked: Any) -> str:
    with pytest.raises(Infeasible) as caught:
        found_for(frame, policy(**asked))
    assert caught.value.exit_status == 1
    return str(caught.value)


def withheld(frame: pl.DataFrame, **asked: Any) -> int:
    found = found_for(frame, policy(**asked))
    table = found.table
    assert len(table.rows) == len(table) == len(table.groups.rows) == frame.height - found.withheld
    assert table.frame.equals(frame[table.rows])
    return found.withheld


# What the table itself lacks

RECURSIVE = {"c": 1, "l": 2}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"k": 9}, "k = 9 cannot be reached: 8 can be"),
        ({"k": 5, "person": "who"}, "k = 5 cannot be reached: 3 can be"),
        ({"ill": {"l": 4}}, "l of 'ill' = 4 cannot be reached: 3 can be"),
        ({"ill": {"l": 4}, "person": "who"}, "l of 'ill' = 4 cannot be reached: 3 can be"),
        ({"ill": {"entropy_l": 3}}, "entropy_l of 'ill' = 3 cannot be reached: 2.6493 can be"),
        ({"ill": {"recursive": RECURSIVE}}, "recursive of 'ill' = c 1, l 2 cannot be reached: c above 1 can be"),
        (
            {"ill": {"recursive": {"c": 100, "l": 4}}},
            "recursive of 'ill' = c 100, l 4 cannot be reached: c above 4 with l 3 can be",
        ),
        ({"ill": {"alpha": 0.3}}, "alpha of 'ill' = 0.3 cannot be reached: 0.5 can be"),
        ({"pay": {"alpha": "1/3"}}, "alpha of 'pay' = 0.3333 cannot be reached: 0.375 can be"),
        ({"pay": {"t": 0, "n": 9}}, "no partition was found for (n,t) of 'pay' = n 9, t 0: n 8 can be"),
    ],
)
def test_what_the_whole_table_lacks(asked: dict[str, Any], says: str) -> None:
    sensitive = {name: spec for name, spec in asked.items() if name in ("ill", "pay")}
    rest = {name: spec for name, spec in asked.items() if name not in sensitive}
    assert refusal(FRAME, sensitive=sensitive, **rest) == says


def test_one_value_has_no_recursive_diversity() -> None:
    frame = FRAME.with_columns(ill=pl.lit("a"))
    said = refusal(frame, sensitive={"ill": {"recursive": {"c": 5, "l": 2}}})
    assert said == "recursive of 'ill' = c 5, l 2 cannot be reached: no level can be"


def test_everything_that_fails_is_told() -> None:
    said = refusal(FRAME, k=9, sensitive={"ill": {"l": 4}, "pay": {"t": 0}})
    assert said == "k = 9 cannot be reached: 8 can be; l of 'ill' = 4 cannot be reached: 3 can be"


def test_withholding_does_not_help_where_nothing_is_kept_apart() -> None:
    assert "suppress" not in refusal(FRAME, k=9, suppress=1)


@pytest.mark.parametrize("spec", [{"t": 0}, {"delta": 0.001}, {"beta": 0.001}, {"enhanced_beta": 0.001}])
def test_the_whole_table_is_always_like_itself(spec: dict[str, Any]) -> None:
    assert withheld(FRAME, sensitive={"ill": spec}) == 0


# Kept groups

WARDS = FRAME.with_columns(ward=pl.Series(["x", "x", "x", "x", "y", "y", "y", "z"]))


def test_groups_that_are_too_small() -> None:
    said = refusal(WARDS, keep=["ward"], k=3)
    assert said == (
        "k = 3 cannot be reached: 1 can be; 1 of 3 groups of rows that are kept apart fail: ask for less, keep less of "
        "'ward', or allow suppress = 0.125"
    )
    assert withheld(WARDS, keep=["ward"], k=3, suppress=0.125) == 1
    assert "suppress = 0.125" in refusal(WARDS, keep=["ward"], k=3, suppress=0.12)


def test_groups_that_are_too_far() -> None:
    frame = pl.DataFrame({"ward": ["x"] * 6 + ["y"] * 2, "age": range(8), "pay": [1, 2, 3, 1, 2, 3, 3, 3]})
    said = refusal(frame, keep=["ward"], sensitive={"pay": {"t": 0.2}})
    assert said == (
        "t of 'pay' = 0.2 cannot be reached: 0.375 can be; 1 of 2 groups of rows that are kept apart fail: "
        "ask for less, keep less of 'ward', or allow suppress = 0.25"
    )
    assert withheld(frame, keep=["ward"], sensitive={"pay": {"t": 0.2}}, suppress=0.25) == 2
    assert withheld(frame, keep=["ward"], sensitive={"pay": {"t": 0.375}}) == 0


def test_no_level_at_all() -> None:
    """δ is infinite where a group lacks a value, so only less keeping or withholding helps."""
    said = refusal(WARDS, keep=["ward"], sensitive={"ill": {"delta": 9}})
    assert said.startswith("delta of 'ill' = 9 cannot be reached: no level can be; 3 of 3 groups")


def test_where_all_groups_fail_for_good_withholding_does_not_help() -> None:
    assert "suppress" not in refusal(WARDS, keep=["ward"], k=5, suppress=1)


def test_the_farthest_group_goes_first() -> None:
    """All three wards fail at first; with the odd one gone the other two are alike, so only its rows are lost."""
    frame = pl.DataFrame({"ward": list("xxxyyyzzzz"), "age": range(10), "pay": [1, 2, 3] * 2 + [9] * 4})
    asked: dict[str, Any] = {"keep": ["ward"], "sensitive": {"pay": {"t": 0.1}}}
    assert withheld(frame, suppress=0.4, **asked) == 4
    assert refusal(frame, suppress=0.39, **asked).endswith("or allow suppress = 0.4")


def test_many_groups_are_withheld_in_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    wards = [f"w{number}" for number in range(300)]
    frame = pl.DataFrame({"ward": ["x"] * 400 + wards, "age": range(700), "pay": [1, 2] * 200 + [9] * 300})
    rounds: list[int] = []

    only = CodedTable.only
    monkeypatch.setattr(CodedTable, "only", lambda table, rows: rounds.append(len(rows)) or only(table, rows))
    assert withheld(frame, keep=["ward"], sensitive={"pay": {"t": 0.1}}, suppress=0.5) == 300
    assert len(rounds) < 150


def test_two_kept_columns_make_groups_together() -> None:
    frame = WARDS.with_columns(sex=pl.Series(["f", "f", "m", "m", "f", "f", "f", "f"]))
    found = found_for(frame, policy(keep=["ward", "sex"], sensitive={"pay": {"t": 1}}))
    assert sorted(found.table.groups.sizes.tolist()) == [1, 2, 2, 3]


# The released table is the reference


def test_what_is_withheld_is_no_part_of_the_reference() -> None:
    """Ward z is too small. With it, the domain is 1, 2, 9 and the other wards are .15 away; without it, nothing."""
    frame = pl.DataFrame({"ward": list("xxyyz"), "age": range(5), "pay": [1, 2, 1, 2, 9]})
    asked: dict[str, Any] = {"keep": ["ward"], "k": 2, "suppress": 0.2}
    found = found_for(frame, policy(sensitive={"pay": {"t": 0}}, **asked))
    assert found.withheld == 1
    assert found.table.sensitive["pay"].labels == ("1", "2")
    assert found.table.sensitive["pay"].reference.tolist() == [2, 2]


def test_a_smaller_domain_makes_the_rest_stricter() -> None:
    """m falls from 4 to 2, so wards that were .3 and .23 away are .5 away: judged again, one more goes."""
    frame = pl.DataFrame({"ward": list("xxxxyyyyzz"), "age": range(10), "pay": [1, 1, 1, 1, 2, 2, 2, 2, 50, 100]})
    asked: dict[str, Any] = {"keep": ["ward"], "sensitive": {"pay": {"t": 0.3}}}
    said = refusal(frame, suppress=0.2, **asked)
    assert said.endswith("or allow suppress = 0.6")
    assert withheld(frame, suppress=0.6, **asked) == 6


def test_learned_bins_are_learned_again() -> None:
    frame = pl.DataFrame({"ward": list("xxxxz"), "age": range(5), "pay": [0, 1, 2, 4, 1000]})
    spec = {"t": 1, "bins": {"count": 4}}
    found = found_for(frame, policy(keep=["ward"], k=2, suppress=0.2, sensitive={"pay": spec}))
    assert [float(edge) for edge in found.table.sensitive["pay"].edges or ()] == [-1, 1, 2, 3, 4]


def test_built_hierarchies_are_built_again() -> None:
    frame = pl.DataFrame({"ward": list("xxxxz"), "age": range(5), "code": ["a1", "a2", "b1", "b2", "S3CR3T"]})
    spec = {"t": 1, "hierarchy": {"prefix": [1]}}
    found = found_for(frame, policy(keep=["ward"], k=2, suppress=0.2, sensitive={"code": spec}))
    assert found.table.sensitive["code"].labels == ("a1", "a2", "b1", "b2")


# Missing values


def test_rows_without_a_value() -> None:
    frame = FRAME.with_columns(pay=pl.Series(["1", "", "2", "NA", "1", "2", "1", "2"]))
    asked: dict[str, Any] = {"sensitive": {"pay": {"t": 1, "missing": "suppress"}}, "missing": ["", "NA"]}
    assert refusal(frame, **asked) == (
        "2 of 8 rows lack a sensitive value and would be withheld: suppress = 0 cannot be reached, 0.25 can be"
    )
    assert "suppress = 0.2 cannot be reached, 0.25 can be" in refusal(frame, suppress=0.2, **asked)
    assert withheld(frame, suppress=0.25, **asked) == 2


def test_rows_without_a_value_and_groups_that_fail_count_together() -> None:
    frame = WARDS.with_columns(pay=pl.Series(["", "1", "2", "1", "2", "1", "2", "1"]))
    asked: dict[str, Any] = {"keep": ["ward"], "k": 3, "sensitive": {"pay": {"t": 1, "missing": "suppress"}}}
    assert refusal(frame, suppress=0.125, **asked).endswith("or allow suppress = 0.25")
    assert withheld(frame, suppress=0.25, **asked) == 2


def test_row_numbers_are_those_of_the_table() -> None:
    """Row 1 is withheld; the row that lacks its illness is still the fourth."""
    frame = FRAME.with_columns(pay=pl.Series(["", *"1234567"]), ill=pl.Series(["a", "b", "c", "", "a", "a", "a", "a"]))
    asked = policy(sensitive={"pay": {"t": 1, "missing": "suppress"}, "ill": {"t": 1}}, suppress=0.5)
    with pytest.raises(InputError, match="'ill' has no value in 1 row, first in row 4"):
        found_for(frame, asked)


def test_row_numbers_of_quasi_identifiers_are_those_of_the_table() -> None:
    frame = pl.DataFrame({"age": [1.0, 2.0, float("nan")], "pay": ["", "1", "2"]})
    asked = policy(sensitive={"pay": {"t": 1, "missing": "suppress"}}, suppress=0.5)
    with pytest.raises(InputError, match="'age' has NaN or infinity in 1 row, first in row 3"):
        anonymize(frame, asked)


def test_rows_withheld_in_the_second_round_come_on_top_of_those_before() -> None:
    """Of 8 rows, one lacks its pay; for one more, no classes were found."""
    frame = FRAME.with_columns(pay=pl.Series(["", *"1212121"]))
    asked = policy(sensitive={"pay": {"t": 1, "missing": "suppress"}}, suppress=0.25)
    assert found_for(frame, asked).without(np.array([0]), asked).withheld == 2
    with pytest.raises(Infeasible, match=r"allow suppress = 0\.375"):
        found_for(frame, asked).without(np.array([0, 1]), asked)


# A refusal tells the truth

MODELS: dict[str, st.SearchStrategy[Any]] = {
    "t": st.sampled_from(["0", "0.05", "1/7"]),
    "l": st.integers(2, 6),
    "entropy_l": st.sampled_from(["1.5", "3", "5"]),
    "recursive": st.fixed_dictionaries({"c": st.sampled_from(["0.4", "2"]), "l": st.integers(2, 5)}),
    "alpha": st.sampled_from(["0", "0.2", "1/3"]),
    "beta": st.sampled_from(["0.01", "0.3"]),
    "enhanced_beta": st.sampled_from(["0.01", "0.3"]),
    "delta": st.sampled_from(["0.01", "0.3"]),
}
rows = st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 4)), min_size=2, max_size=12)


def advised(said: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return what was asked for, with every level that a refusal names; none where no level would do."""
    spec = dict(asked["sensitive"]["s"])
    for model, level in re.findall(r"(?:^|; )(\w+)(?: of 's')? = [^:]* cannot be reached: ([^;]*) can be", said):
        if level == "no level":
            return None
        numbers = re.findall(r"[\d.]+", level)
        if model == "k":
            asked = {**asked, "k": int(numbers[0])}
        elif model == "recursive":
            wanted = spec["recursive"]["l"] if len(numbers) == 1 else int(numbers[1])
            spec["recursive"] = {"c": f"{numbers[0]}001" if "." in numbers[0] else f"{numbers[0]}.001", "l": wanted}
        else:
            above = ("001" if "." in numbers[0] else ".001") if "above" in level else ""
            spec[model] = numbers[0] + above
    return {**asked, "sensitive": {"s": spec}}


@settings(max_examples=examples(80), deadline=None)
@given(rows=rows, model=st.sampled_from(sorted(MODELS)), data=st.data(), k=st.integers(1, 14), kept=st.booleans())
def test_the_level_that_a_refusal_names_is_reached(
    rows: list[tuple[str, int]], model: str, data: st.DataObject, k: int, kept: bool
) -> None:
    frame = pl.DataFrame({"ward": [ward for ward, _ in rows], "age": 1, "s": [cell for _, cell in rows]})
    asked: dict[str, Any] = {"sensitive": {"s": {model: data.draw(MODELS[model])}}, "k": k}
    if kept:
        asked["keep"] = ["ward"]
    try:
        found_for(frame, policy(**asked))
    except Infeasible as error:
        said = str(error)
        if (less := advised(said, asked)) is not None:
            found_for(frame, policy(**less))
        if share := re.search(r"allow suppress = ([\d.]+)$", said):
            found_for(frame, policy(**asked, suppress=share[1]))


@pytest.mark.parametrize("first", [0, 1])
def test_which_group_is_withheld_does_not_depend_on_the_order_of_rows(first: int) -> None:
    rows = [("x", "b", "a"), *[("y", "a", "c")] * 6]
    frame = pl.DataFrame(rows[first:] + rows[:first], schema=["q", "ward", "s"], orient="row")
    sensitive = {"s": {"enhanced_beta": "0.5", "distance": "equal"}}  # both wards gain more than any β allows
    policy = Policy.from_dict({"quasi": ["q"], "sensitive": sensitive, "keep": ["ward"], "suppress": "0.25"})
    assert found_for(frame, policy).withheld == 1


def test_of_groups_that_no_level_admits_the_smallest_that_fails_goes() -> None:
    """Wards y and z lack a value, so δ is infinite there; ward x, which is the smallest, does not fail."""
    rows = [("x", "a"), ("x", "b"), *[("y", "a")] * 3, *[("z", "b")] * 4]
    frame = pl.DataFrame([(1, *row) for row in rows], schema=["age", "ward", "s"], orient="row")
    found = found_for(frame, policy(keep=["ward"], sensitive={"s": {"delta": 9}}, suppress=0.8))
    assert found.withheld == 7
    assert found.table.frame["ward"].to_list() == ["x", "x"]


def test_merging_can_break_entropy_by_persons_so_the_groups_are_left_undecided() -> None:
    """Both ages hold: one person each with a and with b. All rows as one class show a of one person, b of two."""
    frame = pl.DataFrame({"who": ["p", "q", "p", "s"], "age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    asked = policy(person="who", sensitive={"ill": {"entropy_l": 2}})
    assert check(frame, asked).satisfied
    found = found_for(frame, asked)
    assert [verdict.model.name for verdict in found.undecided] == ["entropy_l"]
    assert found.undecided_groups.tolist() == [True]
    with pytest.raises(Infeasible, match=r"^no partition was found for entropy_l of 'ill' = 2: "):
        found.without(np.arange(4), asked)
