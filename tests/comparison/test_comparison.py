"""compare(): the same table and policy for every method, whatever a method does."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tclose
from tclose import Comparison, Infeasible, InputError, Policy, PolicyError, compare
from tclose.comparison.comparison import Entry, Trial, entries
from tclose.partition.registry import METHODS

SECRET = "S3CR3T"
TABLE = pl.DataFrame(
    {
        "name": [SECRET + str(i) for i in range(40)],
        "age": [20 + i for i in range(40)],
        "zone": list("abcd") * 10,
        "pay": [i % 4 for i in range(40)],
        "ill": ["flu", "cold"] * 20,
    }
)
POLICY = Policy(
    identifiers=["name"], quasi=["age", "zone"], sensitive={"pay": {"t": 0.3}, "ill": {"t": 0.3}}, k=2
)  # fmt: skip


def outcomes(comparison: Comparison) -> dict[str, str]:
    return {trial.name: trial.outcome for trial in comparison.trials}


# What each method did


@pytest.fixture
def misbehaved(misbehave: None) -> Comparison:
    names = ["whole", "unsuited", "infeasible", "extra", "internal", "crash", "memory", "killed"]
    return compare(TABLE, POLICY, methods=names)


def test_every_method_has_its_row_whatever_it_does(misbehaved: Comparison) -> None:
    assert outcomes(misbehaved) == {
        "whole": "released",
        "unsuited": "unsuited",
        "infeasible": "infeasible",
        "extra": "extra missing",
        "internal": "failed",
        "crash": "failed",
        "memory": "stopped",
        "killed": "failed",
    }
    reasons = {trial.name: trial.reason for trial in misbehaved.trials}
    assert reasons["whole"] == ""
    assert reasons["unsuited"] == "it serves one attribute only"
    assert reasons["infeasible"] == "t cannot be reached"
    assert reasons["extra"] == "the programme needs scipy: pip install 'tclose[solve]'"
    assert reasons["internal"] == "a class is too small"
    assert reasons["crash"].startswith("this is a bug in tclose (ValueError in sitecustomize.py:")
    assert reasons["memory"] == "it did not fit into memory"
    assert reasons["killed"] == "its process ended without an answer (status -9)"
    assert SECRET not in json.dumps(misbehaved.to_dict())
    assert misbehaved.exit_status == 0

    frame = misbehaved.frame
    assert frame["name"].to_list() == [trial.name for trial in misbehaved.trials]
    assert frame["classes"].to_list() == [1] + [None] * 7
    (trial,) = misbehaved.released
    assert (trial.rows, trial.withheld, trial.classes, trial.average_class, trial.smallest_class) == (40, 0, 1, 40, 40)
    assert (trial.gcp, trial.sse, trial.discernibility, trial.closeness) == (1, 1, 1600, {"pay": 0, "ill": 0})


def test_a_method_is_stopped_when_its_time_is_up(misbehave: None) -> None:
    (trial,) = compare(TABLE, POLICY, methods=["endless"], limit=0.25).trials
    assert (trial.outcome, trial.reason) == ("stopped", "it took longer than 0.25 seconds")


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (["unsuited", "released", "failed"], 0),
        (["infeasible", "failed", "unsuited"], 70),
        (["unsuited", "stopped"], 1),
        (["infeasible", "extra missing"], 1),
        (["unsuited", "extra missing", "refused"], 2),
    ],
)
def test_exit_status(found: list[Any], status: int) -> None:
    trials = tuple(Trial(name="a", method="a", choice="", outcome=outcome) for outcome in found)
    assert Comparison(trials, POLICY, "polars").exit_status == status


@pytest.fixture(scope="module")
def real() -> Comparison:
    return compare(TABLE, POLICY, methods=["fragmentation:relaxed"], seed=7)


def test_the_figures_are_those_of_the_release(real: Comparison) -> None:
    with pytest.warns(tclose.LeakWarning, match="guesses the seed"):
        release = tclose.anonymize(TABLE, POLICY, method="fragmentation", seed=7)
    (trial,), content = real.trials, release.certificate.content
    assert trial.outcome == "released", trial.reason
    assert (trial.classes, trial.smallest_class) == (content["classes"], content["smallest_class"])
    assert trial.average_class == 40 / content["classes"]
    assert content["classes"] > 1
    for name in ("gcp", "sse", "discernibility"):
        assert getattr(trial, name) == content["measures"][name]
    assert trial.closeness == {name: found["closeness"] for name, found in content["sensitive"].items()}
    assert trial.query_error is not None
    assert {(part["predicates"], part["selectivity"]) for part in trial.query_errors} == {
        (predicates, selectivity) for predicates in (1, 2) for selectivity in (0.01, 0.05, 0.2)
    }
    assert trial.seconds is not None
    assert trial.seconds > 0
    assert trial.peak_megabytes is None or 20 < trial.peak_megabytes < 4000


def test_as_a_dictionary_and_as_a_frame(real: Comparison) -> None:
    (row,) = real.to_dict()["methods"]
    assert json.loads(json.dumps(row)) == row
    assert (row["name"], row["method"], row["choice"]) == ("fragmentation:relaxed", "fragmentation", "relaxed")
    assert row["outcome"] == "released"
    (shown,) = real.frame.to_dicts()
    assert shown["closeness of pay"] == row["closeness"]["pay"] <= Fraction(3, 10)
    assert {name: shown[name] for name in row if name in shown} == {
        name: row[name] for name in row if name not in ("closeness", "query_errors", "detail")
    }


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table])
def test_the_frame_is_of_the_kind_that_was_given(misbehave: None, kind: Any) -> None:
    comparison = compare(kind(TABLE.to_dict(as_series=False)), POLICY, methods=["whole", "unsuited"])
    assert isinstance(comparison.frame, kind if isinstance(kind, type) else pa.Table)
    assert outcomes(comparison) == {"whole": "released", "unsuited": "unsuited"}
    gcp = list(np.array(comparison.frame["gcp"], dtype=float))
    assert gcp[0] == 1
    assert math.isnan(gcp[1])


def test_releases_of_several_tables() -> None:
    comparison = compare(TABLE, POLICY, methods=["projections", "anatomy"])
    assert outcomes(comparison) == {"projections:mondrian": "released", "anatomy": "released"}
    shared, parted = comparison.trials
    assert set(shared.closeness) == set(parted.closeness) == {"pay", "ill"}
    assert (parted.gcp, parted.sse) == (0, 0)
    assert shared.gcp is not None
    assert shared.gcp > 0
    assert shared.query_error is not None
    assert parted.query_error is not None
    assert parted.query_error > 0  # quasi-identifiers are exact, but not who has which sensitive value
    assert [trial.name for trial in comparison.ordered] == ["projections:mondrian", "anatomy"]
    assert [trial.name for trial in comparison.ranked] == ["projections:mondrian"]
    assert comparison.frame["caveat"].to_list() == ["", "does not hide who is in the table"]
    assert "released: does not hide who is in the table" in comparison._repr_html_()


def test_a_method_is_ranked_by_the_best_of_its_variants() -> None:
    losses = {"weave": 0.1, "weave:fast": 0.2, "sabre:printed": 0.6, "sabre:slack": 0.3, "pca:searched": 0.3}
    losses |= {"pca:printed": 0.3, "mondrian:strict": 0.15, "mondrian:relaxed": 0.4, "anatomy": 0.0}
    trials = tuple(
        Trial(name=name, method=name.partition(":")[0], choice="", outcome="released", loss=loss)
        for name, loss in losses.items()
    )
    comparison = Comparison(trials, POLICY, "polars")
    ranked = ["weave", "mondrian:strict", "weave:fast", "sabre:slack", "pca:searched"]  # of equals, the first
    assert [trial.name for trial in comparison.ranked] == comparison.to_dict()["ranking"] == ranked
    assert comparison.ordered[-1].name == "anatomy"
    assert len(comparison.ordered) == len(trials)


def test_progress_and_order(misbehave: None) -> None:
    told: dict[str, list[float]] = {}
    names = ["whole", "chosen:two", "chosen:one"]

    def hear(share: float, phase: str = "") -> None:
        told.setdefault(phase, []).append(share)

    comparison = compare(TABLE, POLICY, methods=names, progress=hear)
    assert [trial.name for trial in comparison.trials] == names
    assert [trial.classes for trial in comparison.trials] == [1, 2, 1]
    for shares in told.values():
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert set(told) == set(names)


# What is refused before any method runs


def test_what_no_method_could_use_is_refused_once() -> None:
    with pytest.raises(PolicyError, match="gives no role to 'ill'"):
        compare(TABLE, Policy(identifiers=["name"], quasi=["age", "zone"], sensitive={"pay": {"t": 0.3}}))
    with pytest.raises(Infeasible, match="k = 41 cannot be reached: 40 can be"):
        compare(TABLE, Policy(identifiers=["name"], quasi=["age", "zone"], k=41, others="drop"))
    with pytest.raises(InputError, match="no rows"):
        compare(TABLE.head(0), POLICY)


@pytest.mark.parametrize("limit", [0, -1, math.inf, math.nan, True, "30"])
def test_a_bad_limit(limit: Any) -> None:
    with pytest.raises(PolicyError, match="a time limit is a number of seconds above 0"):
        compare(TABLE, POLICY, limit=limit)


@pytest.mark.parametrize("seed", [-1, 0.5, True, None])
def test_a_bad_seed(seed: Any) -> None:
    with pytest.raises(PolicyError, match="a seed is a whole number"):
        compare(TABLE, POLICY, seed=seed)


# Which methods


def test_all_methods_each_at_its_default_unless_its_choices_are_methods(misbehave: None) -> None:
    found = entries(None)
    assert Entry("weave", "balanced") in found
    assert [entry for entry in found if entry.method == "weave"] == [Entry("weave", "balanced")]
    assert [entry for entry in found if entry.method == "chosen"] == [Entry("chosen", "one"), Entry("chosen", "two")]
    assert {entry.method for entry in found} == set(METHODS)


def test_named_choices(misbehave: None) -> None:
    assert entries(["weave:fast", "chosen", "weave", "chosen:two"]) == [
        Entry("weave", "fast"),
        Entry("chosen", "one"),
        Entry("chosen", "two"),
        Entry("weave", "balanced"),
    ]
    names = [entry.name for entry in entries(["weave", "weave:best", "chosen:one", "fragmentation", "anatomy"])]
    variants = ["fragmentation:relaxed", "fragmentation:tight", "fragmentation:printed"]
    assert names == ["weave", "weave:best", "chosen:one", *variants, "anatomy"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["wave"], r"there is no method 'wave' \(did you mean 'weave'\?\)"),
        (["weave:slow"], "'weave' has no variant 'slow'; it has balanced, fast, best"),
        (["fragmentation:x"], "'fragmentation' has no variant 'x'; it has relaxed, tight, printed"),
        (["anatomy:x"], "'anatomy' has no variant 'x'; it has none"),
        (["weave:"], "'weave' has no variant ''"),
        ([], "expected a list of methods"),
        ("weave", "expected a list of methods"),
    ],
)
def test_bad_names(names: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        entries(names)


def test_progress_may_be_left_out_and_a_repr_names_no_identifier() -> None:
    found = compare(TABLE, POLICY, methods=["mondrian:strict"], progress=None)
    assert "identifiers" not in repr(found)
    assert "'name'" not in repr(found)
