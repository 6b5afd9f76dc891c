"""weave lowers the loss that it is given: each by far more than weave does that lowers another."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import Policy
from tclose.partition.problem import Problem
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.split import problem_of
from tclose.partition.weave import partition
from tclose.policy import LOSSES
from tclose.table import encode_quietly

ROWS = 900


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(6)
    wealth = random.lognormal(size=ROWS)
    return pl.DataFrame(
        {
            "age": random.integers(18, 90, ROWS),
            "pay": (1000 * wealth).astype(int),
            "zone": random.choice(list("abcdefghij"), ROWS, p=np.arange(10, 0, -1) / 55),
            "tax": random.permutation((300 * wealth).astype(int)),
        }
    )


def problem(frame: pl.DataFrame, **settings: Any) -> Problem:
    quasi = settings.pop("quasi", {"age": {}, "pay": {}, "zone": {}})
    policy = Policy.of({"k": 3, "quasi": quasi, "sensitive": {"tax": {"t": 0.1}}, **settings})
    return problem_of(encode_quietly(frame, policy), policy)


def loss(problem: Problem, labels: np.ndarray) -> float:
    return total_loss(loss_table(problem.all_axes, problem.rows, float(problem.by_size)), labels)


def test_every_loss_is_lowest_where_it_is_lowered(frame: pl.DataFrame) -> None:
    problems = {name: problem(frame, loss=name) for name in LOSSES}
    labels = {name: partition(one, effort="fast", seed=1) for name, one in problems.items()}
    for name, one in problems.items():
        assert one.admitted(labels[name]).all()
        others = [loss(one, labels[other]) for other in LOSSES if other != name]
        assert loss(one, labels[name]) < 0.98 * min(others), name


def test_a_weight_makes_its_column_lose_less(frame: pl.DataFrame) -> None:
    columns = ("age", "pay", "zone")
    for name in ("gcp", "sse", "queries"):
        plain = problem(frame, loss=name)
        before = partition(plain, effort="fast", seed=1)
        for q, column in enumerate(columns):
            weighted = {each: {"weight": 8 if each == column else 1} for each in columns}
            after = partition(problem(frame, loss=name, quasi=weighted), effort="fast", seed=1)
            axis = (plain.axes[q],)
            losses = [total_loss(loss_table(axis, ROWS), labels) for labels in (before, after)]
            assert losses[1] < losses[0], (name, column)


def test_weights_count_in_proportion(frame: pl.DataFrame) -> None:
    columns = ("age", "pay", "zone")
    ones, sevens = ({column: {"weight": w} for column in columns} for w in (1, 7))
    labels = [partition(problem(frame, quasi=quasi), effort="fast", seed=3) for quasi in (ones, sevens)]
    assert (labels[0] == labels[1]).all()


def test_only_the_plain_loss_is_the_gcp(frame: pl.DataFrame) -> None:
    assert problem(frame).loses_gcp
    assert problem(frame).part(np.arange(9)).loses_gcp
    for settings in ({"loss": name} for name in LOSSES[1:]):
        assert not problem(frame, **settings).loses_gcp
        assert not problem(frame, **settings).part(np.arange(9)).loses_gcp
    assert not problem(frame, quasi={"age": {"weight": 2}, "pay": {}, "zone": {}}).loses_gcp
    assert not problem(frame, quasi={"age": {"publish": "mean"}, "pay": {}, "zone": {}}).loses_gcp
