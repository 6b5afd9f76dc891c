"""average_t: the t of every class is searched for at which the average holds, which is judged exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.errors import Infeasible
from tclose.partition.mondrian import partition
from tclose.partition.problem import Split
from tclose.partition.split import problem_of
from tclose.partition.thresholds import CLOSE, TRIALS, Thresholds, limited, split_by_average
from tclose.policy import Policy
from tclose.table import CodedTable, encode_quietly
from tclose.types import Progress, silent


def made(rows: int, seed: int, *limits: Fraction) -> tuple[CodedTable, Policy]:
    """A table in which pay follows age; each sensitive column asks for an average."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 40, rows)
    columns = {f"pay{i}": age // 20 + random.integers(0, 5 + i, rows) for i in range(len(limits))}
    sensitive = {name: {"average_t": str(limit)} for name, limit in zip(columns, limits, strict=True)}
    policy = Policy(quasi=["age"], sensitive=sensitive)
    return encode_quietly(pl.DataFrame({"age": age, **columns}), policy), policy


def average(labels: np.ndarray, values: np.ndarray) -> Fraction:
    """Σ size·distance / rows from the definition, by ranks of the values that occur."""
    domain = sorted(set(values.tolist()))
    whole, sum_ = [Fraction(int((values == v).sum()), len(values)) for v in domain], Fraction(0)
    for c in range(labels.max() + 1):
        mine = values[labels == c]
        p = [Fraction(int((mine == v).sum()), len(mine)) for v in domain]
        gaps = [abs(sum(p[:i], Fraction(0)) - sum(whole[:i], Fraction(0))) for i in range(1, len(domain))]
        sum_ += len(mine) * sum(gaps, Fraction(0)) / max(len(domain) - 1, 1)
    return sum_ / len(values)


class Splits:
    """Splits by Mondrian within thresholds, and remembers them."""

    def __init__(self, table: CodedTable, policy: Policy) -> None:
        self.problem, self.tried = problem_of(table, policy), list[Thresholds]()

    def __call__(self, limits: Thresholds, progress: Progress) -> Split:
        self.tried.append(limits)
        return Split(partition(limited(self.problem, limits), seed=1))


levels = st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1)])


@settings(max_examples=examples(25), deadline=None)
@given(rows=st.integers(1, 80), seed=st.integers(0, 99), limits=st.lists(levels, min_size=1, max_size=2))
def test_every_average_holds_and_few_runs_are_needed(rows: int, seed: int, limits: list[Fraction]) -> None:
    table, policy = made(rows, seed, *limits)
    splits = Splits(table, policy)
    labels = split_by_average(splits, table, policy, silent).labels
    assert len(splits.tried) <= TRIALS
    for limit, (name, column) in zip(limits, table.sensitive.items(), strict=True):
        assert average(labels, np.array(table.frame[name].to_list())) <= limit
        assert len(column.codes) == rows


def test_the_search_goes_on_beyond_the_limit_itself() -> None:
    """Classes are never all at t, so a t above the average is found, and with it more classes."""
    limit = Fraction(1, 10)
    table, policy = made(400, 5, limit)
    splits = Splits(table, policy)
    labels = split_by_average(splits, table, policy, silent).labels
    assert splits.tried[0] == {0: limit}
    assert max(tried[0] for tried in splits.tried) > limit
    assert labels.max() > partition(limited(splits.problem, {0: limit}), seed=1).max()


def test_an_average_near_enough_ends_the_search() -> None:
    table, policy = made(40, 5, Fraction(1, 10))
    values = np.array(table.frame["pay0"].to_list())
    apart = np.unique(values, return_inverse=True)[1]
    reached = average(apart, values)
    policy = Policy(quasi=["age"], sensitive={"pay0": {"average_t": str(reached / CLOSE)}})
    runs = []

    def split(limits: Thresholds, progress: Progress) -> Split:
        runs.append(limits)
        return Split(apart)

    assert split_by_average(split, table, policy, silent).labels is apart
    assert len(runs) == 1


def test_a_method_that_never_holds_is_said_to_have_found_nothing() -> None:
    table, policy = made(40, 5, Fraction(1, 100))
    apart, tried = np.arange(40), []

    def split(limits: Thresholds, progress: Progress) -> Split:
        tried.append(limits[0])
        return Split(apart)

    with pytest.raises(Infeasible, match="no partition was found for average_t of 'pay0'"):
        split_by_average(split, table, policy, silent)
    assert len(tried) == TRIALS
    assert tried[-1] == 0  # the strictest there is was tried


def test_a_group_that_is_farther_than_the_limit_stays_as_far_as_it_is() -> None:
    """Kept rows x lie at 1/2, all others at 1/6: the average, 1/4, is all that is possible."""
    frame = pl.DataFrame({"age": range(8), "ward": ["x"] * 2 + ["y"] * 6, "ill": ["a", "a", *"aabbbb"]})
    for level, status in (("1/4", True), ("0.2499", False)):
        policy = Policy(quasi=["age"], keep=["ward"], sensitive={"ill": {"average_t": level, "alpha": 1}})
        if status:
            release = tclose.anonymize(frame, policy, method="mondrian")
            assert release.certificate.content["models"][1]["reached"] == 0.25
        else:
            with pytest.raises(Infeasible, match=r"average_t of 'ill' = 0\.2499 cannot be reached: 0\.25 can be"):
                tclose.anonymize(frame, policy, method="mondrian")
