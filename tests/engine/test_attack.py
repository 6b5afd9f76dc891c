"""Releases attacked from end to end: what belongs together, registers, refusals, and no cell in any answer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.examples import write_example

RARE = "S3CR3T"


def frame(rows: int = 60, seed: int = 3) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    pick = chance.choice
    return pl.DataFrame(
        {
            "name": [f"{RARE}-{row}" for row in range(rows)],
            "age": chance.integers(18, 90, rows),
            "zip": pick(["02101", "02139", "02142", "98101"], rows),
            "sex": pick(["f", "m", "x, or {y}"], rows),
            "born": pick(["1960-01-05", "1960-02-09", "1971-03-01", ""], rows),
            "ward": pick(["a", "b"], rows),
            "pay": chance.integers(20, 40, rows) * 100,
            "ill": pick(["flu", "cold", "ulcer", "gastritis"], rows),
        }
    )


POLICY: dict[str, Any] = {
    "identifiers": ["name"],
    "k": 3,
    "keep": ["ward"],
    "quasi": {"age": {"step": 5, "top": 80}, "zip": {"hierarchy": {"prefix": [3]}}, "sex": {}, "born": {}},
    "sensitive": {
        "pay": {"t": 0.4},
        "ill": {
            "t": 0.5,
            "hierarchy": {
                "rows": [
                    ["flu", "lungs", "*"],
                    ["cold", "lungs", "*"],
                    ["ulcer", "stomach", "*"],
                    ["gastritis", "stomach", "*"],
                ]
            },
        },
    },
}


def policy(**changes: Any) -> tclose.Policy:
    return tclose.Policy.from_dict({**POLICY, **changes})


def release_of(table: pl.DataFrame, asked: tclose.Policy, seed: int = 0) -> tclose.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        return tclose.anonymize(table, asked, method="fragmentation", seed=seed)


def attacked(table: pl.DataFrame, asked: tclose.Policy, release: Any = None, **more: Any) -> tclose.Attacks:
    given_release = release_of(table, asked) if release is None else release
    return tclose.attack(given_release, original=table, policy=asked, method="fragmentation", **more)


def test_the_three_tables_side_by_side() -> None:
    found = attacked(frame(), policy())
    assert list(found.tables) == ["raw", "k_anonymous", "release"]
    assert [shown.rows for shown in found.tables.values()] == [60, 60, 60]
    assert found.tables["raw"].smallest_class == 1
    assert found.tables["k_anonymous"].smallest_class >= 3
    assert found.k == 3
    for name in ("prosecutor", "journalist", "marketer", "uniqueness"):
        figures = [found[name].findings[table].figure for table in found.tables]
        assert figures[0] >= figures[2]  # type: ignore[operator]
    assert found["homogeneity"].findings["release"].rows <= found["homogeneity"].findings["raw"].rows


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "k": st.sampled_from([1, 4]),
            "keep": st.just([]),
            "quasi": st.sampled_from([{"age": {"publish": "mean"}, "born": {}}, {"age": {"bottom": 30}, "sex": {}}]),
            "sensitive": st.sampled_from(
                [
                    {"pay": {"t": 0.5, "bins": {"width": 500}, "publish": "bin"}},
                    {"pay": {"t": 0.5, "bins": {"count": 4}}, "ill": {"l": 2}},
                    {"ill": {"t": 0.5}},
                ]
            ),
        },
    ),
)
def test_a_release_belongs_to_its_table_and_intersected_with_itself_adds_nothing(
    seed: int, changes: dict[str, Any]
) -> None:
    asked = policy(**changes, others="drop")
    table = frame(40, seed)
    release = release_of(table, asked)
    found = attacked(table, asked, release, second=release)
    both = found["intersection"].findings["release"]
    assert (both.figure, both.rows) == (pytest.approx(1), 0)
    assert found["uniqueness"].findings["release"].rows == 0 or asked.k == 1
    assert found["prosecutor"].findings["release"].rows == 0 or asked.k == 1


def test_two_different_releases_tell_more_than_one() -> None:
    """People are alone with their value in one class of either release."""
    table = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "ill": ["a", "b", "c", "a", "b", "c"]})
    first = pl.DataFrame({"age": ["[1, 2]"] * 2 + ["[3, 4]"] * 2 + ["[5, 6]"] * 2, "ill": table["ill"]})
    second = pl.DataFrame({"age": ["1"] + ["[2, 3]"] * 2 + ["[4, 5]"] * 2 + ["6"], "ill": table["ill"]})
    asked = tclose.Policy(quasi=["age"], sensitive={"ill": {"l": 1}})
    found = attacked(table, asked, first, second=second)["intersection"].findings["release"]
    assert found.rows == 4  # all but the first and the last, whom the second release gives away by itself
    assert "make 'ill' certain for 4 rows" in found.sentence


def test_a_register_of_the_table_itself_changes_nothing() -> None:
    table = frame()
    release = release_of(table, policy())
    plain, named = attacked(table, policy(), release), attacked(table, policy(), release, register=table)
    assert named.to_dict() == plain.to_dict()


def test_a_register_of_others_hides_people() -> None:
    table, release = frame(), release_of(frame(), policy())
    crowd = pl.concat([frame(), frame(200, seed=8)])
    wide = attacked(table, policy(), release, register=crowd)
    plain = attacked(table, policy(), release)
    assert wide.register_rows == 260
    assert wide["marketer"].findings["release"].figure < plain["marketer"].findings["release"].figure  # type: ignore[operator]
    assert wide["prosecutor"].findings["release"] == plain["prosecutor"].findings["release"]
    nobody = attacked(table, policy(), release, register=frame(5).with_columns(ward=pl.lit("elsewhere")))
    for shown in ("release", "raw"):  # nobody fits, which is no 0 %
        found = nobody["journalist"].findings[shown]
        assert (found.figure, found.claim.answer) == (None, "undecided")


def test_a_register_may_be_read_from_text_and_hold_other_columns(tmp_path: Path) -> None:
    frame().drop("pay", "ill").write_csv(tmp_path / "register.csv")
    table, release = frame(), release_of(frame(), policy())
    found = attacked(table, policy(), release, register=tclose.read(tmp_path / "register.csv"))
    assert found.to_dict() == attacked(table, policy(), release).to_dict()


def test_frames_of_any_kind_and_releases_are_taken() -> None:
    table, release = frame().to_pandas(), release_of(frame(), policy())
    with_release = tclose.attack(release, original=table, policy=policy(), method="fragmentation")
    with_frame = tclose.attack(release.table.to_pandas(), original=table, policy=policy(), method="fragmentation")
    assert with_release.to_dict() == with_frame.to_dict()


def test_a_release_of_several_tables_is_attacked_one_by_one() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        several = tclose.anonymize(frame(), policy(keep=[], others="drop"), method="anatomy", seed=0)
    assert len(several.tables) == 2
    with pytest.raises(tclose.InputError, match=r"this release has 2 tables: take one of its \.tables at a time"):
        attacked(frame(), policy(keep=[], others="drop"), several)


def test_answers_are_json_and_hold_no_cell_of_the_table() -> None:
    table = frame().with_columns(ill=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(RARE)).otherwise("ill"))
    rows = [*POLICY["sensitive"]["ill"]["hierarchy"]["rows"], [RARE, "stomach", "*"]]
    sensitive = {**POLICY["sensitive"], "ill": {"t": 0.6, "hierarchy": {"rows": rows}}}
    text = json.dumps(attacked(table, policy(sensitive=sensitive)).to_dict())
    assert RARE not in text
    for cell in ("02101", "1960-01-05", "x, or"):
        assert cell not in text


def test_the_json_has_one_shape_for_every_attack() -> None:
    answer = attacked(frame(), policy()).to_dict()
    assert set(answer) == {"tables", "k", "register_rows", "attacks"}
    for one in answer["attacks"]:
        assert {
            "name",
            "title",
            "meaning",
            "figure",
            "unit",
            "better",
            "cure",
            "raw",
            "k_anonymous",
            "release",
            "classes",
        } == set(one)
        for table in answer["tables"]:
            keys = {"figure", "rows", "share", "sentence", "details", "answer", "says"}
            assert set(one[table]) == keys | ({"needs"} if one[table]["answer"] == "undecided" else set())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": pl.lit("[30, 35]")}, "classes have more rows than the table has people who fit"),
        ({"age": pl.lit("[200, 205]")}, "column 'age' shows 1 value that the policy could not have published"),
        ({"sex": pl.lit("nobody")}, "column 'sex' shows 1 value that the policy could not have published"),
        ({"pay": pl.lit(5)}, "60 rows show a value of 'pay' that the table does not have"),
    ],
)
def test_a_release_of_another_table_is_refused(change: dict[str, pl.Expr], message: str) -> None:
    table, asked = frame(), policy(keep=[], others="drop")
    other = release_of(table, asked).table.with_columns(**change)
    with pytest.raises(tclose.InputError, match=r"^the release does not belong to the table: ") as caught:
        attacked(table, asked, other)
    assert message in str(caught.value)


def test_columns_that_are_not_there_are_named() -> None:
    table, release = frame(), release_of(frame(), policy())
    with pytest.raises(tclose.InputError, match=r"the release cannot be read by this policy: quasi.zip: .* 'zip'"):
        attacked(table, policy(), release.table.drop("zip"))
    with pytest.raises(tclose.InputError, match=r"the register has no column 'age' \(did you mean 'Age'\?\)"):
        attacked(table, policy(), release, register=table.rename({"age": "Age"}))
    with pytest.raises(tclose.InputError, match="the second release cannot be read"):
        attacked(table, policy(), release, second=release.table.drop("pay"))


def test_rows_without_a_sensitive_value_stay_out() -> None:
    table = frame().with_columns(ill=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("ill"))
    sensitive = {**POLICY["sensitive"], "ill": {**POLICY["sensitive"]["ill"], "missing": "suppress"}}
    found = attacked(table, policy(sensitive=sensitive, suppress=0.1))
    assert [shown.rows for shown in found.tables.values()] == [57, 57, 57]


def test_the_hospital(tmp_path: Path) -> None:
    table_file, policy_file = write_example(tmp_path, rows=400, seed=7)
    table, asked = tclose.read(table_file), tclose.Policy.load(policy_file)
    found = attacked(table, asked)
    assert found["similarity"].findings["release"].rows <= found["similarity"].findings["raw"].rows
    assert found["prosecutor"].findings["release"].figure <= 1 / asked.k  # type: ignore[operator]


def test_rows_are_not_taken_for_persons(tmp_path: Path) -> None:
    """Forty people with five rows each, all of different ages: everybody is alone, not hidden among five."""
    ages = [age for age in range(40) for _ in range(5)]
    table = pl.DataFrame({"ssn": ages, "age": ages, "ill": [i % 3 for i in range(200)]})
    asked = tclose.Policy(identifiers=["ssn"], person="ssn", k=2, quasi=["age"], sensitive={"ill": {"t": 0.6}})
    found = attacked(table, asked)
    for name in ("prosecutor", "journalist", "marketer", "uniqueness", "minimality"):
        assert found[name].findings["raw"].figure is None
        assert "takes every row for a person" in found[name].findings["release"].sentence
    assert found["homogeneity"].findings["raw"].figure is not None
