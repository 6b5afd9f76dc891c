"""Dosselmann, Sadeqi & Hamilton: every figure and every move of the tutorial, by hand and through tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Counts, Distance, Equal, Ordered

# Section 2.1: {14, 88} of {14, 27, 88, 101}
LABELS = [14, 27, 88, 101]

# Table 2
INCIDENTS = {
    "2C": ["power outage", "power outage", "power outage"],
    "4F": ["theft", "fire", "fatal accident", "fire"],
    "9A": ["sidewalk repair", "power outage"],
    "3B": ["pest control", "power outage", "sidewalk repair", "tree replanting", "sidewalk repair"],
}

# Table 3
SALARIES = {"476** 2*": [3, 4, 5], "4790* >=40": [6, 11, 8], "476** 3*": [7, 9, 10]}
DISEASES = {
    "476** 2*": ["gastric ulcer", "gastritis", "stomach cancer"],
    "4790* >=40": ["gastritis", "flu", "bronchitis"],
    "476** 3*": ["bronchitis", "pneumonia", "stomach cancer"],
}

# Table 4
MERIT_POINTS = {"E**": [1, 4, 2], "U**": [3], "G**": [3, 4, 3, 1], "R**": [4, 3]}
BY_FREQUENCY = [3, 4, 1, 2]

TABLES = {
    "labels": ({"class": [14, 88], "rest": [27, 101]}, {}, LABELS, Ordered(4), ["0.1667", "0.1667"]),
    "incidents": (INCIDENTS, {}, None, Equal(), ["0.6429", "0.7143", "0.4286", "0.4429"]),
    "salaries": (SALARIES, {}, list(range(3, 12)), Ordered(9), ["0.375", "0.1667", "0.2361"]),
    "diseases": (DISEASES, {}, None, Equal(), ["0.4444", "0.4444", "0.4444"]),
    "merit points by frequency": (
        MERIT_POINTS,
        {"order": BY_FREQUENCY},
        BY_FREQUENCY,
        Ordered(4),
        ["0.3333", "0.3333", "0.0833", "0.1667"],
    ),
    "merit points by value": (
        MERIT_POINTS,
        {},
        [1, 2, 3, 4],
        Ordered(4),
        ["0.1778", "0.2667", "0.05", "0.2333"],
    ),
}
Classes = dict[str, list[Any]]


def frame_of(classes: Classes) -> pl.DataFrame:
    rows = [(name, value) for name, values in classes.items() for value in values]
    return pl.DataFrame(rows, schema=["class", "value"], orient="row")


def counted(classes: Classes, domain: list[Any] | None) -> tuple[Counts, np.ndarray]:
    everything = [value for values in classes.values() for value in values]
    domain = domain or sorted(set(everything))
    dense = [[values.count(value) for value in domain] for values in classes.values()]
    return Counts.from_dense(dense), np.array([everything.count(value) for value in domain])


def rounds_to(exact: Fraction, printed: str) -> bool:
    return abs(exact - Fraction(printed)) <= Fraction(1, 20_000)


@pytest.mark.parametrize(("classes", "settings", "domain", "distance", "printed"), TABLES.values(), ids=TABLES)
def test_every_printed_distance(
    classes: Classes, settings: dict[str, Any], domain: list[Any] | None, distance: Distance, printed: list[str]
) -> None:
    counts, whole = counted(classes, domain)
    ratios = distance.emd(counts, whole)
    assert [rounds_to(ratios[j], figure) for j, figure in enumerate(printed)] == [True] * len(printed)
    for j in range(len(counts)):
        moves = distance.plan(counts.dense(j), whole)
        assert sum(move.cost for move in moves) == ratios[j]


@pytest.mark.parametrize(("classes", "settings", "domain", "distance", "printed"), TABLES.values(), ids=TABLES)
def test_every_printed_distance_through_tables(
    classes: Classes, settings: dict[str, Any], domain: list[Any] | None, distance: Distance, printed: list[str]
) -> None:
    frame = frame_of(classes)
    policy = tclose.Policy(quasi=["class"], sensitive={"value": {"t": 1, **settings}})
    explained = [
        tclose.explain(frame, policy, attribute="value", class_number=number).closeness
        for number in range(1, len(classes) + 1)
    ]
    assert [rounds_to(exact, figure) for exact, figure in zip(explained, printed, strict=True)] == [True] * len(classes)
    found = tclose.check(frame, policy).sensitive["value"]
    assert found.closeness == max(explained)
    assert found.worst_class == explained.index(max(explained)) + 1
    assert found.distance == distance.name


def test_exact_values_behind_the_printed_ones() -> None:
    def exact(name: str) -> list[Fraction]:
        classes, _, domain, distance, _ = TABLES[name]
        ratios = distance.emd(*counted(classes, domain))
        return [ratios[j] for j in range(len(ratios))]

    assert exact("labels")[0] == Fraction(1, 6)
    assert exact("salaries") == [Fraction(3, 8), Fraction(1, 6), Fraction(17, 72)]
    assert exact("incidents") == [Fraction(9, 14), Fraction(5, 7), Fraction(3, 7), Fraction(31, 70)]
    assert exact("diseases") == [Fraction(4, 9)] * 3
    assert exact("merit points by frequency") == [Fraction(1, 3), Fraction(1, 3), Fraction(1, 12), Fraction(1, 6)]
    assert exact("merit points by value") == [Fraction(8, 45), Fraction(4, 15), Fraction(1, 20), Fraction(7, 30)]


def test_incidents_are_2_anonymous_and_1_diverse() -> None:
    policy = tclose.Policy(quasi=["class"], sensitive={"value": {"t": "5/7", "l": 2}}, k=2)
    result = tclose.check(frame_of(INCIDENTS), policy)
    levels = {found.model: (found.reached, found.satisfied) for found in result.models}
    assert levels == {"k": (2, True), "t": (Fraction(5, 7), True), "l": (1, False)}
    assert result.smallest_class == 2
    assert result.sensitive["value"].worst_class == 2


B = [(3, 6), (3, 7), (4, 8), (4, 9), (5, 10), (5, 11)]  # each moves 1/9
C = [(4, 3, Fraction(1, 30)), (1, 3, Fraction(4, 30)), (2, 3, Fraction(7, 30))]


def test_moves_between_14_and_88() -> None:
    moves = Ordered(4).plan(np.array([1, 0, 1, 0]), np.array([1, 1, 1, 1]))
    assert [(LABELS[move.source], LABELS[move.target], move.mass) for move in moves] == [
        (14, 27, Fraction(1, 4)),
        (88, 101, Fraction(1, 4)),
    ]
    assert [move.cost for move in moves] == [Fraction(1, 12)] * 2


def test_moves_b1_to_b6() -> None:
    moves = Ordered(9).plan(np.array([1, 1, 1, 0, 0, 0, 0, 0, 0]), np.ones(9, dtype=np.int64))
    assert [(move.source + 3, move.target + 3) for move in moves] == B
    assert {move.mass for move in moves} == {Fraction(1, 9)}
    assert [move.distance for move in moves] == [Fraction(steps, 8) for steps in (3, 4, 4, 5, 5, 6)]


def test_moves_b1_to_b6_through_explain() -> None:
    policy = tclose.Policy(quasi=["class"], sensitive={"value": {"t": 0.2}})
    explanation = tclose.explain(frame_of(SALARIES), policy, attribute="value", class_number=1)
    assert [(int(step.source), int(step.target)) for step in explanation.moves] == B
    assert {step.mass for step in explanation.moves} == {Fraction(1, 9)}
    assert [step.distance for step in explanation.moves] == [Fraction(steps, 8) for steps in (3, 4, 4, 5, 5, 6)]
    assert explanation.closeness == Fraction(3, 8)
    assert explanation.rows == 3


def test_moves_c1_to_c3() -> None:
    moves = Ordered(4).plan(np.array([0, 1, 1, 1]), np.array([4, 3, 2, 1]))
    assert [(BY_FREQUENCY[move.source], BY_FREQUENCY[move.target], move.mass) for move in moves] == C
    assert [move.distance for move in moves] == [Fraction(1, 3), Fraction(2, 3), 1]


def test_moves_c1_to_c3_through_explain() -> None:
    policy = tclose.Policy(quasi=["class"], sensitive={"value": {"t": 0.2, "order": BY_FREQUENCY}})
    explanation = tclose.explain(frame_of(MERIT_POINTS), policy, attribute="value", class_number=1)
    assert [(int(step.source), int(step.target), step.mass) for step in explanation.moves] == C
    assert explanation.closeness == Fraction(1, 3)


def test_moves_of_the_other_salary_classes_cost_what_is_printed() -> None:
    """The tutorial prints seven and eight moves of 1/9 each; fewer and larger ones cost the same."""
    counts, whole = counted(SALARIES, list(range(3, 12)))
    for j, ninths_of_an_eighth in ((1, 3 + 2 + 1 + 2 + 1 + 2 + 1), (2, 4 + 3 + 2 + 3 + 2 + 1 + 1 + 1)):
        cost = sum(move.cost for move in Ordered(9).plan(counts.dense(j), whole))
        assert cost == Fraction(ninths_of_an_eighth, 72)


@pytest.mark.parametrize(("t", "holds"), [("1/3", True), ("0.3333", False), ("0.33333333333333333333", False)])
def test_merit_points_stand_exactly_on_the_line(t: str, holds: bool) -> None:
    policy = tclose.Policy(quasi=["class"], sensitive={"value": {"t": t, "order": BY_FREQUENCY}})
    assert tclose.check(frame_of(MERIT_POINTS), policy).satisfied is holds
