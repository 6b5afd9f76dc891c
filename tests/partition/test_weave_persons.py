"""Persons with several rows: weave counts them while classes form, so that nothing has to be merged afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.distance import Equal, Ordered
from tclose.errors import Infeasible
from tclose.partition import merged, split, weave
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel
from tclose.partition.weave import partition, search
from tclose.partition.weave.limits import Limits, limits_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.temper import tempered
from tclose.partition.weave.transport import enough_persons, enough_persons_on_side, keeps_persons
from tclose.privacy import DistinctL
from tclose.types import silent

Merging = Callable[..., np.ndarray]


def made(rows: int, seed: int, k: int, t: Fraction = Fraction(1, 3), models: tuple = ()) -> Problem:
    """Return a table in which a person has two to four rows on average, equal or near each other."""
    random = np.random.default_rng(seed)
    people = max(2 * k, rows // int(random.integers(2, 5)))
    persons = random.integers(0, people, size=rows)
    spread = random.choice([0.0, 0.05, 1.0])
    points = np.clip(random.random((people, 2))[persons] + spread * random.normal(size=(rows, 2)), 0, 1)
    values = int(random.integers(2, 5))
    codes = random.integers(0, values, size=rows)
    reference = np.bincount(codes, minlength=values).astype(np.int64)
    distance = Equal() if random.random() < 0.5 else Ordered(values)
    return Problem(points.round(2), (Attribute(codes, reference, distance, t, models=models),), k, persons=persons)


def persons_of_classes(problem: Problem, labels: np.ndarray) -> list[int]:
    assert problem.persons is not None
    return [len(set(problem.persons[labels == c].tolist())) for c in range(labels.max() + 1)]


def no_merging(labels: np.ndarray, groups: np.ndarray, points: np.ndarray, failing: Merging) -> np.ndarray:
    assert not failing(labels).any()
    return labels


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(2, 150), st.integers(0, 2**32), st.integers(1, 6), st.sampled_from(["fast", "balanced"]))
def test_every_class_has_k_persons_and_no_class_is_merged(rows: int, seed: int, k: int, effort: str) -> None:
    problem = made(rows, seed, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "merged", no_merging)
        patch.setattr(weave, "FEW_PERSON_ROWS", 0)  # or else classes by rows are merged and compared
        try:
            labels = partition(problem, effort=effort, seed=1)
        except Infeasible:
            assert len(set(problem.persons.tolist())) < k
            return
    assert min(persons_of_classes(problem, labels)) >= k
    assert problem.admitted(labels).all()


@pytest.mark.parametrize(("few", "allowed"), [(weave.FEW_PERSON_ROWS, 0.0), (0, 0.1)])
def test_the_loss_is_not_above_that_of_merging_afterwards(
    few: int, allowed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never on small tables; on large ones, chance may decide where persons hardly matter, as in a third of these."""
    monkeypatch.setattr(weave, "FEW_PERSON_ROWS", few)
    tables, worse = 30, 0
    for seed in range(tables):
        problem = made(60 + seed, seed, k=2 + seed % 4)
        table, by_rows = WeaveTable.of(problem, silent), replace(problem, persons=None)
        before = partition(by_rows, seed=1)
        before = merged(before, np.zeros_like(before), problem.points, partial(failing_classes, problem))
        worse += table.loss(partition(problem, seed=1)) > table.loss(before) + 1e-9
    assert worse <= allowed * tables


def failing_classes(problem: Problem, labels: np.ndarray) -> np.ndarray:
    return ~problem.admitted(labels)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32), st.integers(1, 8))
def test_persons_are_counted_as_they_are(rows: int, seed: int, least: int) -> None:
    random = np.random.default_rng(seed)
    persons = random.integers(0, random.integers(1, 12), size=rows)
    limits = limits_of((), rows, persons, least)
    order, right = random.permutation(rows), random.random(rows) < 0.5

    def enough(chosen: np.ndarray) -> bool:
        return len(set(persons[chosen].tolist())) >= least

    first, end = sorted(random.integers(0, rows + 1, size=2).tolist())
    assert in_list(limits, order, first, end) == enough(order[first:end])
    orders = order.astype(np.int32)[None, :]
    for side in (0, 1):
        assert on_side(limits, orders, right, side) == enough(np.flatnonzero(right == (side == 1)))
    members, leaving = order[: max(1, rows // 2)], int(order[0])
    for joining in (-1, *order[len(members) :].tolist()):
        rest = [row for row in members.tolist() if row != leaving] + ([joining] if joining >= 0 else [])
        if enough(members):  # as every class is that a row leaves
            kept = kept_after(limits, members.astype(np.int32)[None, :], len(members), leaving, joining)
            assert kept == enough(np.array(rest, dtype=np.int64))


@kernel
def in_list(limits: Limits, rows: np.ndarray, first: int, end: int) -> bool:
    return enough_persons(limits, rows, first, end)


@kernel
def on_side(limits: Limits, orders: np.ndarray, right: np.ndarray, side: int) -> bool:
    return enough_persons_on_side(limits, orders, right, side)


@kernel
def kept_after(limits: Limits, members: np.ndarray, size: int, leaving: int, joining: int) -> bool:
    return keeps_persons(limits, members, 0, size, leaving, joining)


def test_persons_with_one_row_each_change_nothing() -> None:
    """Kernels get no persons then, so such tables take the time and the classes that they had."""
    problem = replace(made(200, 3, 3), persons=np.arange(200) * 7)
    assert len(WeaveTable.of(problem, silent).limits.persons) == 0
    assert np.array_equal(partition(problem, seed=1), partition(replace(problem, persons=None), seed=1))


def test_temper_keeps_k_persons() -> None:
    problem = made(300, 5, 4)
    labels = tempered(problem, partition(problem, seed=1), 2.0, 1, silent)
    assert min(persons_of_classes(problem, labels)) >= 4


def visits(rows: int = 900, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    people = rows // 3
    persons = random.integers(0, people, size=rows)
    ages, heights = random.integers(18, 90, size=people), random.integers(150, 200, size=people)
    return pl.DataFrame(
        {
            "pid": [f"p{person}" for person in persons],
            "age": ages[persons],
            "height": heights[persons],
            "ward": [("north", "south")[person % 2] for person in persons],
            "ill": random.choice(["flu", "cold", "cough", "gout"], size=rows),
        }
    )


@pytest.mark.parametrize("asked", [{"t": "1/2"}, {"t": "1/2", "l": 3}, {"l": 4}])
@pytest.mark.parametrize("keep", [[], ["ward"]])
def test_releases_need_no_merging(asked: dict[str, object], keep: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"person": "pid", "identifiers": ["pid"], "quasi": ["age", "height"], "k": 3, "sensitive": {"ill": asked}}
    monkeypatch.setattr(split, "merged", no_merging)
    monkeypatch.setattr("tclose.partition.starts.starts_of", lambda *_: iter(()))  # other methods' classes are merged
    monkeypatch.setattr(weave, "FEW_PERSON_ROWS", 0)  # and so are classes by rows
    with pytest.warns(tclose.LeakWarning):
        release = tclose.anonymize(visits(), {**policy, "keep": keep, "others": "drop"}, seed=1)
    assert release.results[0].satisfied
    assert release.certificate.counted == "persons"
    assert release.certificate.smallest >= 3


def test_l_asks_for_as_many_persons() -> None:
    """Four values of one person are not four values that anyone could have."""
    table = pl.DataFrame({"pid": ["p"] * 4 + ["q", "r", "s", "t"], "age": [1] * 4 + [2] * 4, "ill": list("abcdabcd")})
    policy = {"person": "pid", "identifiers": ["pid"], "quasi": ["age"], "sensitive": {"ill": {"l": 4}}}
    with pytest.warns(tclose.LeakWarning):
        release = tclose.anonymize(table, policy, seed=1)
    assert release.frame["age"].n_unique() == 1


def test_other_methods_get_no_persons() -> None:
    table, policy = visits(60), tclose.Policy.of(
        {"person": "pid", "identifiers": ["pid"], "quasi": ["age"], "k": 3, "others": "drop",
         "sensitive": {"ill": {"l": 3, "entropy_l": 2}}}
    )  # fmt: skip
    coded = tclose.table.encode(table, policy)
    by_rows, by_persons = split.problem_of(coded, policy, "mondrian"), split.problem_of(coded, policy, "weave")
    assert (by_rows.persons is None, by_rows.k, by_rows.sensitive[0].models) == (True, 3, ())
    assert by_persons.persons is coded.persons
    assert by_persons.sensitive[0].models == (DistinctL(3),)
