"""The smallest t that keeps detail, estimated for releases that lost everything."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import Cancelled, Policy
from tclose.measure.information_loss import KEPT_SHARE
from tclose.run import pipeline as estimating
from tclose.run.pipeline import PHASE, TRIALS, estimate, levels_at, losses_with_estimates
from tclose.run.pipeline import prepared as make
from tclose.run.request import Recipe
from tclose.run.rows import FrameRows
from tclose.table import CodedTable, encode_quietly
from tclose.types import silent


def frame(rows: int = 400) -> pl.DataFrame:
    chance = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "age": chance.integers(18, 90, rows),
            "pay": chance.integers(20, 60, rows) * 100,
            "ill": chance.choice(["a", "b", "c"], rows),
        }
    )


def policy(**changes: Any) -> Policy:
    return Policy.from_dict(
        {"quasi": ["age"], "sensitive": {"pay": {"t": 0.001}, "ill": {"t": 0.002}}, "k": 2, **changes}
    )


def table(asked: Policy, rows: int = 400) -> CodedTable:
    return encode_quietly(frame(rows).select(*asked.quasi, *asked.sensitive), asked)


def test_every_t_is_multiplied_by_one_factor() -> None:
    asked = policy(sensitive={"pay": {"t": 0.01}, "ill": {"t": 0.02, "l": 2}})
    assert levels_at(asked, 0) == {"pay": Fraction(1, 100), "ill": Fraction(1, 50)}
    assert levels_at(asked, 32) == {"pay": Fraction(1, 10), "ill": Fraction(1, 5)}
    assert levels_at(asked, 64) == {"pay": 1, "ill": 1}


@pytest.mark.parametrize("t", ["0", "1e-300", "1/1000000000"])
def test_a_t_that_no_factor_makes_larger_still_grows(t: str) -> None:
    asked = policy(sensitive={"pay": {"t": Fraction(t)}})
    levels = [levels_at(asked, place)["pay"] for place in range(65)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (Fraction(1, 10**6), 1)


def test_the_estimate_keeps_detail_where_the_next_smaller_t_does_not() -> None:
    asked = policy()
    found = estimate(table(asked), asked)
    assert found is not None
    assert found.levels is not None
    assert found.kept >= KEPT_SHARE
    assert (found.rows, found.of) == (400, 400)
    assert found.levels["pay"] < found.levels["ill"] < 1
    place = next(place for place in range(65) if levels_at(asked, place) == found.levels)
    smaller = estimating.with_levels(asked, levels_at(asked, place - 1))
    assert estimating._kept(table(asked), smaller, silent) < KEPT_SHARE
    assert estimating._kept(table(asked), estimating.with_levels(asked, found.levels), silent) == found.kept


def test_the_same_table_gives_the_same_estimate() -> None:
    asked = policy()
    assert estimate(table(asked), asked) == estimate(table(asked), asked)


def test_a_large_table_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "SAMPLE", 300)
    asked = policy(k=20)
    found = estimate(table(asked, rows=900), asked)
    assert found is not None
    assert (found.rows, found.of) == (300, 900)


def test_rows_that_lack_a_value_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "SAMPLE", 200)
    asked = policy(sensitive={"pay": {"t": 0.001, "missing": "suppress"}}, suppress=0.3)
    some = frame().with_columns(pl.when(pl.int_range(400) % 4 == 0).then(None).otherwise("pay").alias("pay"))
    found = estimate(encode_quietly(some.select("age", "pay"), asked), asked)
    assert found is not None
    assert found.levels is not None
    assert (found.rows, found.of) == (200, 300)


def test_where_k_is_the_cause_no_t_helps() -> None:
    asked = policy(k=250)
    found = estimate(table(asked), asked)
    assert found is not None
    assert found.levels is None
    assert found.kept < KEPT_SHARE


def test_without_any_t_nothing_is_estimated() -> None:
    asked = policy(sensitive={"ill": {"l": 3}})
    assert estimate(table(asked), asked) is None


def test_the_budget_is_a_number_of_trials_and_can_be_cancelled() -> None:
    shares: list[float] = []

    def progress(share: float, phase: str = "") -> None:
        assert phase in (PHASE, "") or phase.startswith("compiling")
        shares.append(share)

    asked = policy()
    estimate(table(asked), asked, progress)
    assert shares == sorted(shares)
    assert 1 - 1 / TRIALS < shares[-1] <= 1

    def cancel(share: float, phase: str = "") -> None:
        if share > 2 / TRIALS:
            raise Cancelled

    with pytest.raises(Cancelled):
        estimate(table(asked), asked, cancel)


@pytest.mark.parametrize("method", ["mondrian", "projections"])
def test_each_table_that_lost_everything_gets_an_estimate(method: str) -> None:
    asked = policy(sensitive={"pay": {"t": 0}, "ill": {"t": 0}})
    original = FrameRows.of(frame(), asked)
    prepared = make(original, Recipe.of(asked, method, {}, seed=3))
    before = [table.clone() for table in prepared.layout.frames]
    losses = losses_with_estimates(prepared, original.table)
    assert len(losses) == len(prepared.layout.tables)
    named = [set(loss.estimate.levels or ()) for loss in losses if loss.estimate is not None]
    assert set().union(*named) == {"pay", "ill"}
    assert sum(map(len, named)) == 2  # each attribute once, in the table that holds it
    assert all(old.equals(new) for old, new in zip(before, prepared.layout.frames, strict=True))


def test_a_release_that_kept_detail_costs_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "estimate", None)  # calling it would raise
    asked = policy(sensitive={"pay": {"t": 0.3}, "ill": {"t": 0.3}})
    original = FrameRows.of(frame(), asked)
    prepared = make(original, Recipe.of(asked, "mondrian", {}, seed=3))
    assert losses_with_estimates(prepared, original.table) == ()


def test_where_most_rows_are_withheld_no_t_is_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "estimate", None)  # calling it would raise
    asked = policy(sensitive={"pay": {"t": 1, "missing": "suppress"}}, suppress=1)
    rows = pl.DataFrame({"age": range(100), "pay": [*[None] * 96, 1, 2, 3, 4]})
    original = FrameRows.of(rows, asked)
    prepared = make(original, Recipe.of(asked, "mondrian", {}, seed=3))
    (loss,) = losses_with_estimates(prepared, original.table)
    assert (loss.withheld, loss.estimate) == (96, None)
