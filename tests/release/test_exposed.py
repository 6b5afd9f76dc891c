"""Columns that give rows away are warned about, and releases say what remains exposed in them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Release, anonymize
from tclose.policy import Policy
from tclose.run.pipeline import prepared as make
from tclose.run.request import Recipe
from tclose.run.rows import FrameRows

ROWS = 60
FRAME = pl.DataFrame(
    {
        "id": [f"S3CR3T-{i}" for i in range(ROWS)],  # a value of their own
        "pair": [i // 2 for i in range(ROWS)],  # 30 values in 60 rows
        "tax": [1000.25 + 7 * i for i in range(ROWS)],
        "age": [20 + i % 40 for i in range(ROWS)],
        "ill": ["flu", "cold", "cough"] * (ROWS // 3),
    }
)
AT_MOST_TWO = "that at most two"


def told(columns: list[str], *, method: str = "mondrian", **policy: Any) -> list[str]:
    """Return the warnings about columns that give rows away."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anonymize(FRAME.select(columns), Policy.from_dict(policy), method=method)
    assert all(issubclass(each.category, LeakWarning) for each in caught)
    return [str(each.message) for each in caught if AT_MOST_TWO in str(each.message)]


SENSITIVE = {"ill": {"t": 1}}


@pytest.mark.parametrize("column", ["id", "pair", "tax"])
@pytest.mark.parametrize("role", ["sensitive", "unlinkable", "keep"])
def test_a_column_published_as_it_is_is_warned_about_once(column: str, role: str) -> None:
    distance = {"distance": "equal"} if column == "id" else {}
    roles: dict[str, Any] = {"sensitive": SENSITIVE} | {role: [column]}
    if role == "sensitive":
        roles = {"sensitive": {**SENSITIVE, column: {"t": 1, **distance}}}
    (warning,) = told(["age", "ill", column], quasi=["age"], k=1, **roles)
    assert warning.startswith(
        f"'{column}' is published exactly, and 60 of 60 rows have a value {AT_MOST_TWO} rows have"
    )
    assert "list it in identifiers" in warning
    assert "S3CR3T" not in warning


def test_a_number_can_be_published_in_bins() -> None:
    asked = {"tax": {"t": 1, "bins": {"count": 4}}}
    (exact,) = told(["age", "tax"], quasi=["age"], k=2, sensitive=asked)
    assert 'bins with publish = "bin"' in exact
    asked["tax"]["publish"] = "bin"
    assert told(["age", "tax"], quasi=["age"], k=2, sensitive=asked) == []


def test_bins_so_fine_that_each_is_one_rows_own() -> None:
    asked = {"tax": {"t": 1, "bins": {"width": 7}, "publish": "bin"}}
    (warning,) = told(["age", "tax"], quasi=["age"], k=2, sensitive=asked)
    assert "'tax' is published in bins" in warning
    assert "wider bins" in warning


def test_sets_that_spell_out_nearly_unique_texts() -> None:
    (warning,) = told(["id", "age", "ill"], quasi=["id", "age"], k=2, sensitive=SENSITIVE)
    assert warning.startswith("the published sets of 'id' spell out nearly unique texts: 60 of 60 rows")
    assert "give it a hierarchy" in warning
    assert "S3CR3T" not in warning


def test_ranges_and_labels_spell_out_nothing() -> None:
    asked = {"tax": {}, "id": {"hierarchy": {"prefix": [2, 1]}}}
    assert told(["tax", "id", "ill"], quasi=asked, k=2, sensitive=SENSITIVE) == []


@pytest.mark.parametrize(("step", "warned"), [(None, ["tax"]), (200, [])])
def test_anatomy_publishes_quasi_identifiers_as_they_are(step: int | None, warned: list[str]) -> None:
    asked = {"tax": {} if step is None else {"step": step}, "age": {}}
    asked = {"quasi": asked, "k": 2, "sensitive": {"ill": {"t": 1, "l": 2}}}
    leaks = told(["tax", "age", "ill"], method="anatomy", **asked)
    assert [leak.split("'")[1] for leak in leaks if "'tax'" in leak] == warned
    assert all("choose another method" in leak for leak in leaks)


def test_projections_are_warned_about_once() -> None:
    asked = {"tax": {"t": 1}, "ill": {"t": 1}}
    leaks = told(["tax", "age", "ill"], method="projections", quasi=["age"], k=2, sensitive=asked)
    assert [leak.split("'")[1] for leak in leaks] == ["tax"]


def test_persons_have_values_of_their_own() -> None:
    frame = pl.DataFrame({"who": np.arange(60) // 6, "age": range(60), "code": np.arange(60) // 6 * 11})
    policy = Policy(identifiers=["who"], person="who", quasi=["age"], sensitive={"code": {"t": 1}}, k=2)
    with pytest.warns(LeakWarning, match="'code' .* 60 of 60 rows have a value that at most two persons have"):
        anonymize(frame, policy, method="mondrian")


@pytest.mark.parametrize("missing", [0, 14])
def test_withheld_rows_are_not_counted(missing: int) -> None:
    """Twenty rows have a note of their own; fourteen of them may be withheld for a missing value."""
    rows = {
        "age": range(60),
        "pay": [*[None] * missing, *([1, 2] * 30)[missing:]],
        "note": [*(f"n{i}" for i in range(20)), *["-", "+"] * 20],
    }
    asked = {"pay": {"t": 1, "missing": "suppress"}}
    policy = Policy(quasi=["age"], unlinkable=["note"], sensitive=asked, suppress=0.5, k=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anonymize(pl.DataFrame(rows), policy, method="mondrian")
    assert any(AT_MOST_TWO in str(each.message) for each in caught) == (missing == 0)


def test_what_was_warned_about_stays_with_the_release() -> None:
    policy = Policy(quasi=["age"], sensitive={"tax": {"t": 1}}, k=2)
    rows = FrameRows.of(FRAME.select("age", "tax"), policy)
    with pytest.warns(LeakWarning, match="'tax'"):
        prepared = make(rows, Recipe.of(policy, "mondrian", {}, seed=3))
    assert len(prepared.leaks) == 1
    assert prepared.leaks[0].startswith("'tax' is published exactly")


# What remains exposed


def released(frame: pl.DataFrame, *, method: str = "mondrian", **policy: Any) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return anonymize(frame, Policy.from_dict(policy), method=method)


def exposed_rows(release: Release) -> dict[str, dict[str, int]]:
    return {finding.kind: dict(finding.attributes) for finding in release.exposed.findings}


HOMOGENEOUS = pl.DataFrame({"age": [1] * 4 + [60] * 4, "ill": ["flu"] * 4 + ["cold", "cough"] * 2, "pay": [7, 8] * 4})


def test_a_class_of_one_value_is_cured_by_l() -> None:
    asked = {"ill": {"t": 1}, "pay": {"t": 1}}
    release = released(HOMOGENEOUS, quasi=["age"], sensitive=asked, k=4)
    assert exposed_rows(release)["same_value"] == {"ill": 4}
    (same,) = [finding for finding in release.exposed.findings if finding.kind == "same_value"]
    assert same.cure == "l = 2 for 'ill', or a smaller t"
    asked["ill"]["l"] = 2
    assert "same_value" not in exposed_rows(released(HOMOGENEOUS, quasi=["age"], sensitive=asked, k=4))


def test_a_rare_value_is_cured_by_published_bins() -> None:
    asked: dict[str, Any] = {"tax": {"t": 1}}
    release = released(FRAME.select("age", "tax"), quasi=["age"], sensitive=asked, k=4)
    assert exposed_rows(release)["rare_value"] == {"tax": 60}
    asked["tax"] |= {"bins": {"count": 3}, "publish": "bin"}
    assert "rare_value" not in exposed_rows(released(FRAME.select("age", "tax"), quasi=["age"], sensitive=asked, k=4))


def test_bins_are_no_cure_where_they_contradict_another_setting() -> None:
    asked: dict[str, Any] = {"tax": {"t": 1, "order": FRAME["tax"].to_list()}}
    (rare,) = released(FRAME.select("age", "tax"), quasi=["age"], sensitive=asked, k=4).exposed.findings
    assert rare.cure == "common values in place of the rare ones of 'tax'"


def test_one_known_value_is_cured_by_projections() -> None:
    asked = {"quasi": ["age"], "sensitive": {"tax": {"t": 1}, "ill": {"t": 1}}, "k": 4}
    frame = FRAME.select("age", "tax", "ill")
    assert exposed_rows(released(frame, **asked))["known_value"]["tax"] == 60
    assert "known_value" not in exposed_rows(released(frame, method="projections", **asked))


def test_groups_of_an_anatomy_are_its_classes() -> None:
    frame = pl.DataFrame({"age": range(12), "ill": ["a", "b", "c", "d"] * 3})
    release = released(frame, method="anatomy", quasi=["age"], sensitive={"ill": {"t": 1, "l": 3}}, k=3)
    assert exposed_rows(release) == {}
    assert release.exposed.nothing.startswith("Nothing was found: no class shows one sensitive value only")
    release = released(frame, method="anatomy", quasi=["age"], sensitive={"ill": {"t": 1, "l": 3}}, k=4)
    assert exposed_rows(release)["rare_value"] == {"ill": 12}


# Releases that lost everything


def test_a_release_of_one_class_lost_everything() -> None:
    (loss,) = released(FRAME.select("age", "tax"), quasi=["age"], sensitive={"tax": {"t": 0}}, k=2).lost
    assert (loss.rows, loss.one_class, loss.gcp, loss.estimate) == (60, True, 1.0, None)
    assert loss.sentence == (
        "This release lost everything: all 60 rows are in one class. Its quasi-identifiers tell almost nothing (GCP 1 "
        "of 1)."
    )
    assert loss.advice == "Ask for less: a larger t, a smaller k, or less of the other models."


def test_a_release_that_withholds_most_rows_says_so() -> None:
    frame = pl.DataFrame({"age": range(100), "pay": [*[None] * 96, 1, 2, 3, 4]})
    asked = {"pay": {"t": 1, "missing": "suppress"}}
    (loss,) = released(frame, quasi=["age"], sensitive=asked, suppress=1, k=2).lost
    assert loss.sentence == "This release lost almost everything: 96 rows (96.0 %) are withheld."
    assert loss.advice.startswith('Say missing = "value"')


def test_rows_that_were_alike_from_the_beginning_lose_nothing() -> None:
    frame = pl.DataFrame({"age": [30] * 20, "ill": ["a", "b"] * 10})
    assert released(frame, quasi=["age"], sensitive={"ill": {"t": 0}}, k=2).lost == ()


def test_an_ordinary_release_did_not_lose_everything() -> None:
    assert released(FRAME.select("age", "ill"), quasi=["age"], sensitive=SENSITIVE, k=2).lost == ()


def test_an_anatomy_of_one_group_lost_everything() -> None:
    frame = pl.DataFrame({"age": range(4), "ill": ["a", "b", "c", "d"]})
    (loss,) = released(frame, method="anatomy", quasi=["age"], sensitive={"ill": {"l": 4}}, k=2).lost
    assert loss.sentence == (
        "This release lost everything: all 4 rows are in one group, so no sensitive value is linked to any "
        "quasi-identifier."
    )


def test_each_projection_that_lost_everything_is_named() -> None:
    asked = {"tax": {"t": 0}, "ill": {"t": 1}}
    release = released(FRAME.select("age", "tax", "ill"), method="projections", quasi=["age"], sensitive=asked, k=2)
    assert [(loss.table, loss.one_class) for loss in release.lost] == [
        (number, True) for number, frame in enumerate(release.layout.frames, start=1) if "tax" in frame.columns
    ]
    assert release.lost[0].sentence.startswith(f"Table {release.lost[0].table} lost everything: all 60 rows")


def test_without_a_sensitive_column_nobody_knows_what_a_class_tells() -> None:
    policy = Policy.from_dict({"quasi": ["age", "ill"], "sensitive": {}, "k": 2})
    release = anonymize(FRAME.select("age", "ill"), policy, method="mondrian")
    alone = next(figure for figure in release.exposed.figures if figure.name == "class_alone")
    assert (alone.answer, alone.rows, alone.baseline) == ("undecided", None, None)
    assert alone.claim.needs == "which columns nobody may learn: make them sensitive"
    assert release.exposed.answer != "yes"
