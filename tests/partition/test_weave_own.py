"""weave's own classes: which starts are improved, and that a larger effort goes on from a smaller one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance import Ordered
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import NumberAxis
from tclose.partition.weave import search
from tclose.partition.weave import search as own_classes
from tclose.partition.weave.bisection import orders_of
from tclose.partition.weave.groups import orders_within
from tclose.partition.weave.limits import EffortName, effort_for, worthwhile
from tclose.partition.weave.search import OwnClasses
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints, silent

ROWS = 600


@pytest.fixture
def table() -> WeaveTable:
    return table_with(2)


def table_with(axes: int) -> WeaveTable:
    random = np.random.default_rng(1)
    codes = random.integers(0, 30, ROWS)
    guarded = Attribute(codes, np.bincount(codes, minlength=30).astype(np.int64), Ordered(30), Fraction(1, 10))
    return WeaveTable.of(Problem(random.random((ROWS, axes)), (guarded,), 2), silent)


def test_the_best_of_the_formed_classes_is_improved_first(table: WeaveTable) -> None:
    own, effort = OwnClasses(table), effort_for("fast", ROWS)
    [improved] = own.improved(effort, 1, silent)
    formed = [table.loss(table.form_classes(share, silent)) for share in effort.shares]
    assert own.used == {min(formed)}
    assert table.loss(improved) <= min(formed)


def test_a_larger_effort_goes_on_from_a_smaller_one(table: WeaveTable, monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnClasses(table)
    list(own.improved(effort_for("fast", ROWS), 1, silent))
    before, begun = own.best, []
    improve = WeaveTable.improve

    def noted(self: WeaveTable, labels: Ints, *arguments: object) -> Ints:
        begun.append(labels)
        return improve(self, labels, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(WeaveTable, "improve", noted)
    list(own.improved(effort_for("balanced", ROWS), 1, silent))
    assert begun[0] is before


def test_further_starts_are_formed_classes_that_were_not_used(table: WeaveTable) -> None:
    own = OwnClasses(table)
    list(own.improved(effort_for("fast", ROWS), 1, silent))
    used = set(own.used)
    effort = replace(effort_for("balanced", ROWS), shares=(0.3, 0.4, 0.55, 0.7, 0.85, 1.0), starts=3)
    starts = own._starts(effort, silent)
    assert starts[0] is own.best
    assert len(starts) == 3
    assert len(own.used) == len(used) + 2
    assert sorted(table.loss(labels) for labels in starts[1:]) == sorted(own.used - used)


def test_the_best_is_kept(table: WeaveTable) -> None:
    own = OwnClasses(table)
    losses = [
        table.loss(labels)
        for name in ("fast", "balanced")
        for labels in own.improved(effort_for(name, ROWS), 1, silent)
    ]
    assert own.best is not None
    assert table.loss(own.best) == min(losses)


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 3), st.integers(1, 4))
def test_orders_within_groups_are_the_orders_of_their_rows(seed: int, rows: int, columns: int, count: int) -> None:
    random = np.random.default_rng(seed)
    axes = tuple(NumberAxis.of_points(random.integers(0, 5, rows).astype(float)) for _ in range(columns))
    table = WeaveTable.of(Problem(np.zeros((rows, columns)), (), axes=axes), silent)
    chosen = random.integers(0, count + 1, rows)  # the last group is left out
    groups = [members for g in range(count) if len(members := np.flatnonzero(chosen == g))]
    if groups:
        for members, orders in zip(groups, orders_within(table.orders, groups), strict=True):
            assert orders.tolist() == orders_of(table.part(members).losses).tolist()


def test_best_begins_hotter_with_many_quasi_identifiers() -> None:
    few, many = (table_with(axes).suited(effort_for("best", ROWS).passes[0]) for axes in (2, 7))
    assert few.heat[0] == 0.1
    assert many.heat[0] == pytest.approx(0.21)
    assert many.heat[1] == few.heat[1]


@pytest.mark.parametrize(("losses", "share"), [((1.0, 0.9), 0.9), ((1.0, 0.98), 1.0), ((1.0, 1.2), 1.0)])
def test_another_share_is_chosen_where_it_is_clearly_better(
    losses: tuple[float, float], share: float, table: WeaveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    formed: list[tuple[int, float]] = []

    def form(part: WeaveTable, share: float, progress: object) -> float:
        formed.append((len(part), share))
        return share

    monkeypatch.setattr(WeaveTable, "form_classes", form)
    monkeypatch.setattr(WeaveTable, "loss", lambda part, share: dict(zip((1.0, 0.9), losses, strict=True))[share])
    monkeypatch.setattr(search, "SAMPLE_ROWS", 50)
    assert search.chosen_share(table, (1.0, 0.9), silent) == share
    assert formed == [(50, 1.0), (50, 0.9)] * search.SAMPLES


def test_a_large_table_is_formed_with_the_chosen_share_only(table: WeaveTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_classes, "chosen_share", lambda table, shares, progress: shares[1])
    own, effort = OwnClasses(table), replace(effort_for("fast", ROWS), shares=(1.0, 0.7), piloted=True)
    list(own.improved(effort, 1, silent))
    assert [*table.formed] == [0.7]


def test_exchanges_of_a_large_table_go_on_where_they_have_paid() -> None:
    plan = effort_for("balanced", 10**6).passes[0]
    assert worthwhile(plan, plan.pays) == plan
    assert worthwhile(plan, 0.9 * plan.pays).steps == plan.few_steps < plan.steps


@pytest.mark.parametrize("name", ["fast", "best"])
def test_other_efforts_do_not_ask_whether_exchanges_have_paid(name: EffortName) -> None:
    for rows in (ROWS, 10**6):
        plan = effort_for(name, rows).passes[0]
        assert worthwhile(plan, 0.0) == plan


def test_larger_tables_get_fewer_steps_for_each_row_where_exchanges_pay_little() -> None:
    steps = [effort_for("balanced", rows).passes[0].few_steps for rows in (200_000, 500_000, 10**6, 10**7)]
    assert steps == sorted(steps, reverse=True)
    assert steps[1] > steps[2] == steps[3] > 1.0  # so that quality does not fall as tables grow


def test_a_smaller_effort_notes_what_a_step_has_gained(table: WeaveTable) -> None:
    own, effort = OwnClasses(table), effort_for("fast", 10**6)
    [labels] = own.improved(effort, 1, silent)
    [formed] = table.formed.values()
    taken = 1.0 - table.loss(labels) / table.loss(formed)
    assert own.gained == pytest.approx(taken / effort.passes[0].steps)
