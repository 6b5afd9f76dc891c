"""Columns that are both quasi-identifier and sensitive: what is published, counted, exposed and measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, LeakWarning, Policy, PolicyError, anonymize, attack, detail, verify
from tclose.measure.exposure import PublishedAttribute, PublishedClasses, known_value, rare_value, same_value
from tclose.measure.queries import error_of_counts
from tclose.run.pipeline import prepared
from tclose.run.request import Recipe
from tclose.run.rows import FrameRows

pytestmark = [pytest.mark.filterwarnings("ignore::tclose.LeakWarning")]
CHANCE = np.random.default_rng(4)
ROWS = 60
FRAME = pl.DataFrame(
    {
        "age": (20 + 40 * CHANCE.random(ROWS) ** 3).astype(int),
        "sex": CHANCE.choice(["m", "f"], ROWS),
        "ill": CHANCE.choice(["flu", "cold", "cut"], ROWS),
    }
)
ASKED: dict[str, Any] = {
    "quasi": ["age", "sex"],
    "both": ["age"],
    "sensitive": {"age": {"t": 0.3}, "ill": {"t": 0.5}},
    "k": 4,
}


def released(frame: pl.DataFrame = FRAME, **changes: Any) -> Any:
    return anonymize(frame, {**ASKED, **changes}, method="mondrian", seed=1)


def test_columns_and_types() -> None:
    rows, counts = released().tables
    assert rows.columns == ["age", "sex", "ill"]
    assert counts.columns == ["age", "sex", "column", "value", "count"]
    assert sorted(counts.group_by("value").agg(pl.col("count").sum()).rows()) == sorted(
        FRAME.group_by(pl.col("age").cast(pl.String)).len().rows()
    )


def test_titles_that_are_taken() -> None:
    frame = FRAME.rename({"age": "value", "sex": "Count"})
    asked = {"quasi": ["value", "Count"], "both": ["value"], "sensitive": {"value": {"t": 0.3}, "ill": {"t": 0.5}}}
    counts = released(frame, **asked).tables[1]
    assert counts.columns == ["value", "Count", "column", "value_2", "count_2"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("kind", ["bins", "missing", "hierarchy", "mean", "date", "two", "formulas"])
def test_every_kind_verifies_in_every_format(kind: str, ending: str, tmp_path: Path) -> None:
    frame, changes = FRAME, dict[str, Any]()
    if kind == "bins":
        spec = {"t": 0.3, "bins": {"width": 10}, "publish": "bin"}
        changes = {"quasi": {"age": {"step": 5, "top": 50}, "sex": {}}, "sensitive": {"age": spec}, "others": "drop"}
    elif kind == "missing":
        frame = FRAME.with_columns(pl.when(pl.col("age") > 30).then("age"))
        changes = {"sensitive": {"age": {"t": 0.6, "missing": "value"}, "ill": {"t": 0.5}}}
    elif kind == "hierarchy":
        changes = {"quasi": {"age": {"hierarchy": {"width": [5, 20]}}, "sex": {}}}
    elif kind == "mean":
        changes = {"quasi": {"age": {"publish": "mean"}, "sex": {}}}
    elif kind == "date":
        frame = FRAME.with_columns(age=pl.date(1990, 1, 1) + pl.duration(days=pl.col("age")))
    elif kind == "two":
        changes = {
            "both": ["sex", "age"],
            "sensitive": {"age": {"t": 0.3}, "sex": {"t": 0.5, "l": 2}},
            "others": "drop",
        }
    else:
        frame = FRAME.with_columns(age="=" + pl.col("age").cast(pl.String))
    release = released(frame, **changes)
    guarded = kind == "formulas"
    release.write(tmp_path / f"r.{ending}", certificate=tmp_path / "c.json", guard_formulas=guarded)
    found = verify(tmp_path / f"r.{ending}", tmp_path / "c.json")
    assert found.problems == ()
    assert found.files == (f"r.{ending}", f"r-both.{ending}")


def test_missing_values_are_counted_too() -> None:
    frame = FRAME.with_columns(pl.when(pl.col("age") > 30).then("age"))
    sensitive = {"age": {"t": 0.6, "missing": "value"}, "ill": {"t": 0.5}}
    counts = released(frame, sensitive=sensitive).tables[1]
    assert counts.filter(pl.col("value").is_null())["count"].sum() == frame["age"].null_count()


def test_bins_are_counted_where_bins_are_published() -> None:
    sensitive = {"age": {"t": 0.3, "bins": {"width": 20}, "publish": "bin"}, "ill": {"t": 0.5}}
    assert set(released(sensitive=sensitive).tables[1]["value"]) <= {"(0, 20]", "(20, 40]", "(40, 60]"}


@pytest.mark.filterwarnings("default::tclose.LeakWarning")
def test_many_own_values_are_warned_about() -> None:
    frame = FRAME.with_columns(age=pl.Series(range(ROWS)))
    with pytest.warns(LeakWarning, match="the exact values of 'age' are counted by class, and 60 of 60 rows"):
        released(frame)


def test_values_that_no_row_shows_find_no_row_and_reveal_no_other() -> None:
    """Two classes of two rows; each row of either has a value of its own, and 'b' is the same within a class."""
    own, shared = np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])

    def classes(*, linked: bool) -> PublishedClasses:
        attributes = [PublishedAttribute("a", own, "other", linked), PublishedAttribute("b", shared, "other")]
        return PublishedClasses(np.arange(4), np.array([0, 2]), attributes, 2)

    assert rare_value(classes(linked=True))["a"].all()
    assert "a" not in rare_value(classes(linked=False))
    assert known_value(classes(linked=True))["a"].all()
    assert known_value(classes(linked=False)) == {}
    assert same_value(classes(linked=False))["b"].all()


def test_what_nobody_found_is_said_of_values_that_rows_show() -> None:
    assert "that a row shows" in released().exposed.nothing
    assert "that a row shows" not in anonymize(FRAME, {**ASKED, "both": [], "quasi": ["sex"]}).exposed.nothing


def test_attacks_take_a_release_or_its_two_tables() -> None:
    release = released()
    found = [attack(given, original=FRAME, policy=ASKED).to_dict() for given in (release, release.tables)]
    assert found[0] == found[1]
    with pytest.raises(InputError, match="has a second table, with counts of exact values: give both tables"):
        attack(release.tables[0], original=FRAME, policy=ASKED)
    with pytest.raises(InputError, match="has one table only"):
        attack(release.tables, original=FRAME, policy={**ASKED, "both": [], "quasi": ["sex"], "others": "drop"})
    wrong = release.tables[1].with_columns(count=pl.col("count") + 1)
    with pytest.raises(InputError, match="the counts of 'age' do not add up"):
        attack((release.tables[0], wrong), original=FRAME, policy=ASKED)


def test_the_counts_answer_queries_about_their_column() -> None:
    """With no other sensitive attribute and no other quasi-identifier, every count of exact values is right."""
    policy = Policy.from_dict({"quasi": ["age"], "both": ["age"], "sensitive": {"age": {"t": 0.4}}, "k": 4})
    frame = FRAME[["age"]]
    rows = FrameRows.of(frame, policy)
    (judged,) = prepared(rows, Recipe.of(policy, "mondrian", {}, seed=1)).judged_tables()
    assert judged.result.classes > 1
    error = error_of_counts(frame, rows.table, [judged.table], 0)
    assert error is not None
    assert max(part["error"] for part in error.parts) == pytest.approx(0)
    from_ranges = error_of_counts(frame, rows.table, [replace(judged.table, apart={})], 0)
    assert from_ranges is not None
    assert from_ranges.median > 0


def test_detail_is_measured_on_what_rows_show() -> None:
    release = released()
    figures = detail(release, original=FRAME, policy=ASKED).figures
    assert 0 < figures["marginals"] < 1
    with pytest.raises(InputError, match="no row of the release shows a value of 'age'"):
        detail(release, original=FRAME, policy=ASKED, target="age")


def test_a_column_that_is_both_may_be_the_only_sensitive_one(tmp_path: Path) -> None:
    frame, asked = FRAME[["age", "sex"]], {**ASKED, "sensitive": {"age": {"t": 0.3}}}
    release = anonymize(frame, asked, method="mondrian", seed=1)
    attacks = attack(release, original=frame, policy=asked)
    assert "No row shows a sensitive value" in attacks["rarity"].findings["release"].sentence
    assert set(detail(release, original=frame, policy=asked).figures) >= {"marginals", "information"}
    release.report(tmp_path / "page.html", original=frame, attacks=attacks)
    assert "counted by class" in (tmp_path / "page.html").read_text()


@pytest.mark.usefixtures("counted_clock")
def test_a_lower_bound_stands_beside_it(tmp_path: Path) -> None:
    release = anonymize(FRAME, ASKED, method="mondrian", seed=1, bound=True, bound_seconds=0.5)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").problems == ()
    assert release.bound is not None
    assert 0 < release.bound.bound <= release.certificate.content["measures"]["gcp"]


def test_no_pairs_are_made_of_values_that_no_row_shows() -> None:
    found = attack(released(), original=FRAME, policy=ASKED)["joint_skewness"].findings["release"]
    assert found.figure is None
    assert found.sentence == "Rows show fewer than two sensitive attributes, so there are no pairs."
    with pytest.raises(PolicyError, match="published apart from the rows, so nobody could judge them together"):
        Policy.of({**ASKED, "joint": [{"attributes": ["age", "ill"], "t": 0.2}]})
