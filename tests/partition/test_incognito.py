"""Incognito: what it finds is minimal, all of it, and what a search through the whole lattice finds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Policy, anonymize
from tclose.distance import Counts, Equal, Ordered
from tclose.errors import Infeasible, Unsuited
from tclose.partition import incognito
from tclose.partition.incognito import (
    Frequencies,
    Intervals,
    Ladder,
    _ladders,
    labels_at,
    minimal_solutions,
    numbered,
    partition,
)
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import LabelAxis, NumberAxis, SetAxis
from tclose.privacy import EntropyL, Model

LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.int64))
Node = tuple[int, ...]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rows, random = draw(st.integers(1, 60)), np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.integers(1, 6))
    axes = (
        NumberAxis(random.integers(-1, 3, rows), np.array([0, 0.4, 0.5]), np.array([0, 0.5, 1])),
        LabelAxis(random.integers(-1, spread, rows), LEVELS),
        SetAxis(random.integers(0, min(spread, 3), rows), 3),
    )
    t = draw(st.sampled_from([None, "0", "0.1", "1/4", "0.6", "1"]))
    codes = random.integers(0, 3, rows)
    reference = np.bincount(codes, minlength=3).astype(np.int64)
    models: tuple[Model, ...] = (EntropyL(Fraction("1.5")),) if draw(st.booleans()) else ()
    one = Attribute(codes, reference, Ordered(3), None if t is None else Fraction(t), draw(st.sampled_from([None, 9])))
    other = Attribute(codes[::-1].copy(), reference, Equal(), None, None, models)
    return Problem(np.zeros((rows, 3)), (one, other), draw(st.integers(1, min(rows, 4))), axes)


def specialisations(node: Node) -> list[Node]:
    return [(*node[:i], height - 1, *node[i + 1 :]) for i, height in enumerate(node) if height]


def by_brute_force(problem: Problem, intervals: Intervals) -> set[Node]:
    """Judge every node of the lattice by its rows."""
    nodes = product(*(range(top + 1) for top in [ladder.top for ladder in _ladders(problem, intervals)]))
    passing = {node for node in nodes if problem.admitted(labels_at(problem, node, intervals)).all()}
    return {node for node in passing if not passing.intersection(specialisations(node))}


@settings(max_examples=examples(80), deadline=None)
@given(problems(), st.sampled_from(["width", "quantiles"]))
def test_all_minimal_solutions_are_found_and_nothing_else(problem: Problem, intervals: Intervals) -> None:
    try:
        found = minimal_solutions(problem, intervals=intervals)
    except Infeasible:
        assert not problem.admitted(np.zeros(problem.rows, dtype=np.int64)).all() or problem.sensitive[0].n is not None
        return
    assert len(set(found)) == len(found)
    assert set(found) == by_brute_force(problem, intervals)


def lost(problem: Problem, labels: np.ndarray) -> float:
    """What the classes lose on a line of points and on a set, from the definitions."""
    line, text = problem.axes
    loss = 0.0
    for label in range(labels.max() + 1):
        mine = labels == label
        shown = len(np.unique(text.codes[mine])) - 1
        loss += mine.sum() * (np.ptp(line.low[line.codes[mine]]) + shown / (text.domain_size - 1))
    return loss


@pytest.mark.parametrize("t", ["0.15", "0.2", "0.3"])
def test_the_minimal_solution_that_loses_least_is_taken(t: str) -> None:
    random = np.random.default_rng(1)
    codes = random.integers(0, 4, 200)
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(t))
    axes = (NumberAxis.of_points(random.random(200)), SetAxis(random.integers(0, 3, 200), 3))
    problem = Problem(np.zeros((200, 2)), (guarded,), 2, axes)
    losses = [lost(problem, labels_at(problem, node)) for node in minimal_solutions(problem)]
    assert len(losses) > 1
    assert len(set(losses)) > 1
    assert lost(problem, partition(problem, intervals="width")) == min(losses)
    nodes = minimal_solutions(problem, intervals="quantiles")
    quantiles = [lost(problem, labels_at(problem, node, "quantiles")) for node in nodes]
    assert lost(problem, partition(problem, intervals="quantiles")) == min(quantiles)
    assert lost(problem, partition(problem)) == min(losses + quantiles)


# --- ladders ----------------------------------------------------------------------------------------------------------


def test_numbers_climb_by_widths_that_double() -> None:
    ladder = Ladder.of(NumberAxis.of_points(np.array([0, 0.01, 0.2, 0.3, 0.6, 1.0])))
    shown = [level[ladder.codes].tolist() for level in ladder.levels]
    assert [len(set(level)) for level in shown] == [6, 5, 4, 2, 1]  # 32nds and 16ths part no more than 8ths
    assert shown[1:] == [[0, 0, 1, 2, 4, 7], [0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 1, 1], [0] * 6]


def test_numbers_climb_by_rows_that_double() -> None:
    axis = NumberAxis.of_points(np.repeat([0, 0.01, 0.02, 1.0], [3, 1, 2, 2]))
    ladder = Ladder.of(axis, "quantiles")
    shown = [level[ladder.codes].tolist() for level in ladder.levels]
    assert shown == [[0, 0, 0, 1, 2, 2, 3, 3], [0] * 4 + [1] * 4, [0] * 8]  # quarters part as the values do


@settings(deadline=None)
@given(st.lists(st.integers(-1, 8), min_size=1, max_size=60), st.sampled_from(["width", "quantiles"]))
def test_intervals_nest_and_hold_neighbours(codes: list[int], intervals: Intervals) -> None:
    low = np.array([0, 0.1, 0.1, 0.2, 0.4, 0.5, 0.8, 0.8, 0.8])  # values that are published alike stay together
    ladder = Ladder.of(NumberAxis(np.array(codes), low, np.append(low[:-1], 1.0)), intervals)
    for lower, upper in pairwise(ladder.levels):
        groups = {group: upper[lower == group] for group in np.unique(lower)}
        assert all(len(set(above.tolist())) == 1 for above in groups.values())
        assert (np.diff(lower[:-1]) >= 0).all()
        assert lower[1] == lower[2]
    assert not ladder.levels[-1].any()


def test_where_both_kinds_of_intervals_agree_one_search_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    monkeypatch.setattr(incognito, "minimal_solutions", lambda *_, intervals, **__: searched.append(intervals) or [])
    rows = np.arange(32)
    partition(Problem(rows[:, None] / 31, ()))
    partition(Problem((rows[:, None] / 31) ** 3, ()))
    assert searched == ["width", "width", "quantiles"]


def test_hierarchies_climb_by_their_own_levels_and_missing_values_join_at_the_top() -> None:
    ladder = Ladder.of(LabelAxis(np.array([0, -1, 5]), LEVELS))
    assert ladder.top == 3
    assert [level[ladder.codes].tolist() for level in ladder.levels] == [[0, 6, 5], [0, 3, 2], [0, 2, 1], [0, 0, 0]]


def test_sets_are_all_or_nothing() -> None:
    ladder = Ladder.of(SetAxis(np.array([2, 0]), 3))
    assert [level.tolist() for level in ladder.levels] == [[0, 1, 2], [0, 0, 0]]
    assert Ladder.of(SetAxis(np.array([0, 0]), 1)).top == 0


@pytest.mark.parametrize("codes", [[-1, -1], [-1, 0], [0, 0]])
def test_ladders_of_next_to_nothing(codes: list[int]) -> None:
    for axis in (
        NumberAxis(np.array(codes), np.zeros(1), np.zeros(1)),
        LabelAxis(np.array(codes), (np.zeros(1, dtype=int),)),
    ):
        ladder = Ladder.of(axis)
        assert not ladder.levels[-1].any()
        assert len(np.unique(ladder.levels[0][ladder.codes])) == len(set(codes))
    assert Ladder.of(NumberAxis(np.array([-1, -1]), np.zeros(0), np.zeros(0))).levels[-1].tolist() == [0]


# --- how it searches --------------------------------------------------------------------------------------------------


def test_rolled_up_counts_are_those_of_the_rows() -> None:
    random = np.random.default_rng(5)
    codes = random.integers(0, 7, 300)
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(1))
    axes = (NumberAxis.of_points(random.integers(0, 20, 300) / 20), LabelAxis(random.integers(-1, 6, 300), LEVELS))
    problem = Problem(np.zeros((300, 2)), (guarded,), 1, axes)
    ladders = [Ladder.of(axis) for axis in axes]
    rolled = Frequencies.of(problem, ladders)
    for node in [(0, 0), (1, 0), (1, 1), (2, 3), (4, 3)]:
        rolled = rolled.rolled_up(ladders, list(enumerate(node)))
        truth = Counts.from_codes(labels_at(problem, node), codes, 7)
        assert sorted(rolled.counts[0].dense(i).tolist() for i in range(len(rolled))) == sorted(
            truth.dense(i).tolist() for i in range(len(truth))
        )
        assert rolled.sizes.tolist() == rolled.counts[0].sizes.tolist()


def test_properties_prune_and_rows_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Age alone fails below its top, so nothing with age below its top is judged together with others."""
    judged, scans = [], []
    admitted, scan = Frequencies.admitted, Frequencies.of
    monkeypatch.setattr(Frequencies, "admitted", lambda self, p: judged.append(len(self)) or admitted(self, p))
    monkeypatch.setattr(Frequencies, "of", lambda *given: scans.append(1) or scan(*given))
    random = np.random.default_rng(2)
    codes = np.arange(400) % 4
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(1, 5))
    others = [LabelAxis(random.integers(0, 6, 400), LEVELS) for _ in range(3)]
    problem = Problem(np.zeros((400, 4)), (guarded,), 1, (SetAxis(codes, 4), *others))
    assert all(node[0] == 1 for node in minimal_solutions(problem))
    assert len(scans) == 1
    assert len(judged) < 60  # of 375 nodes in all subsets


def test_what_memory_does_not_hold_is_rolled_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(8)
    codes = random.integers(0, 3, 200)
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(1, 5))
    axes = (
        NumberAxis.of_points(random.random(200)),
        *(LabelAxis(random.integers(-1, 6, 200), LEVELS) for _ in range(2)),
    )
    problem = Problem(np.zeros((200, 3)), (guarded,), 2, axes)
    found = minimal_solutions(problem)
    assert len(found) > 1
    for held in (0, 50):
        monkeypatch.setattr(incognito, "MOST_CLASSES", held)
        assert minimal_solutions(problem) == found


@settings(max_examples=examples(40), deadline=None)
@given(problems(), st.integers(1, 4))
def test_classes_are_counted_alike_in_arrays_and_by_sorting(problem: Problem, height: int) -> None:
    ladders = [Ladder.of(axis) for axis in problem.all_axes]
    node = [(axis, min(height, ladder.top)) for axis, ladder in enumerate(ladders)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incognito, "DENSE", 0)
        by_sorting = Frequencies.of(problem, ladders).rolled_up(ladders, node)
        patch.setattr(incognito, "DENSE", 10**9)
        in_arrays = Frequencies.of(problem, ladders).rolled_up(ladders, node)
    assert by_sorting.values.tolist() == in_arrays.values.tolist()
    assert by_sorting.sizes.tolist() == in_arrays.sizes.tolist()
    for one, other in zip(by_sorting.counts, in_arrays.counts, strict=True):
        assert one.starts.tolist() == other.starts.tolist()
        assert one.codes.tolist() == other.codes.tolist()
        assert one.counts.tolist() == other.counts.tolist()


def test_very_many_combinations_of_values_get_numbers_of_their_own() -> None:
    random = np.random.default_rng(0)
    columns = [random.integers(0, 2**20, 50) for _ in range(5)]
    columns = [np.concatenate([column, column[:10]]) for column in columns]
    labels, first = numbered(columns, 60)
    assert labels[:10].tolist() == labels[50:].tolist()
    assert len(first) == len(set(labels.tolist())) == 50


def test_too_large_a_lattice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = tuple(SetAxis(np.arange(2), 2) for _ in range(3))
    monkeypatch.setattr(incognito, "MOST_NODES", 26)
    with pytest.raises(Unsuited, match="search 27 generalisations and stops at 26"):
        partition(Problem(np.zeros((2, 3)), (), 1, axes))


def test_no_quasi_identifier_leaves_one_class() -> None:
    assert minimal_solutions(Problem(np.zeros((3, 0)), ())) == [()]
    assert not partition(Problem(np.zeros((3, 0)), ())).any()


def test_progress_only_grows() -> None:
    shares: list[float] = []
    axes = tuple(SetAxis(np.arange(8) % n, n) for n in (2, 3, 4))
    partition(Problem(np.zeros((8, 3)), (), 2, axes), progress=lambda share, phase="": shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# --- Adult ------------------------------------------------------------------------------------------------------------

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


@pytest.mark.parametrize(
    ("asked", "classes"),
    [
        ({"t": "0.2", "distance": "equal"}, 2),
        ({"t": "0.15", "distance": "equal"}, 2),
        ({"t": "0.2", "distance": "hierarchical", "hierarchy": "occupation.csv"}, 4),
        ({"entropy_l": "2"}, 20),
    ],
)
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_adult_with_seven_hierarchies(request: pytest.FixtureRequest, asked: dict[str, str], classes: int) -> None:
    """ARX, which searches the same lattice, has as many classes at the three t when nothing may be withheld."""
    folder: Path = request.config.rootpath.parent / "shared" / "data"
    if not (folder / "adult_arx.csv").exists():
        pytest.skip(f"{folder / 'adult_arx.csv'} is not there")
    hierarchies = folder / "adult_hierarchies"
    asked = {key: str(hierarchies / text) if key == "hierarchy" else text for key, text in asked.items()}
    quasi = {name: {"hierarchy": str(hierarchies / f"{name}.csv")} for name in QUASI}
    policy = Policy.from_dict({"quasi": quasi, "sensitive": {"occupation": asked}, "k": 5, "others": "drop"})
    release = anonymize(pl.read_csv(folder / "adult_arx.csv"), policy, method="incognito", seed=1)
    assert release.certificate.content["classes"] == classes
