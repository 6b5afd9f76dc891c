"""weave keeps the best of its own classes and those of other methods: which methods those are, and when none is run."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.comparison.comparison import entries
from tclose.errors import Cancelled, InternalError, MissingExtra
from tclose.partition import Problem, Split, Splitter, method_and_options, starts, weave
from tclose.partition.exact import solve
from tclose.partition.problem import Start
from tclose.partition.registry import METHODS
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.split import problem_of
from tclose.partition.starts import CONSIDERING, EXACT, RIVALS, Rival, most_exact_rows, starts_of
from tclose.policy import Policy
from tclose.table import encode
from tclose.types import Ints, silent

EXAMPLE = pl.DataFrame({"q": [0, 0, 0, 1, 1, 3, 3, 3], "s": [1, 0, 1, 1, 1, 0, 0, 1]})  # of issue 12
ASKED = {"quasi": ["q"], "sensitive": {"s": {"t": 0.5}}, "k": 2}
EFFORTS = ("fast", "balanced", "best")


@pytest.fixture(autouse=True)
def no_leak_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        yield


def some_rows(rows: int, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    columns = {"x": random.integers(0, 30, rows), "zone": random.choice(["a", "b", "c"], rows)}
    return pl.DataFrame({**columns, "s": random.integers(0, 5, rows)})


def some_problem(rows: int, seed: int = 1, **settings: Any) -> Problem:
    policy = Policy.of({"quasi": ["x", "zone"], "sensitive": {"s": {"t": 0.3}}, "k": 2, **settings})
    return problem_of(encode(some_rows(rows, seed), policy), policy)


def kept(frame: pl.DataFrame, policy: Any, **options: Any) -> tuple[float, str | None]:
    """Return what weave loses, and which classes it kept."""
    release = tclose.anonymize(frame, policy, seed=1, **options)
    return release.certificate.content["measures"]["gcp"], release.layout.tables[0].start


def fail(*_: Any, **__: Any) -> None:
    raise AssertionError("this must not run")


# --- which methods are considered ------------------------------------------------------------------------------------


def test_every_method_that_publishes_one_table_is_a_rival() -> None:
    names = [name for name, method in METHODS.items() if method.tables == "one" and not method.takes_starts]
    assert {rival.name for rival in RIVALS} | {EXACT} == {entry.name for entry in entries(names)}


def test_quadratic_methods_are_starts_below_20_000_rows() -> None:
    quadratic = {rival.name for rival in RIVALS if rival.rows < 20_000}
    assert quadratic == {f"microaggregation:{variant}" for variant in METHODS["microaggregation"].choices} | {
        "sabre:nearest",
        "sabre:nearest-slack",
        "clustering:printed",  # what `searched` tries first
        "pca:printed",
        *(f"fragmentation:{variant}" for variant in METHODS["fragmentation"].variants),
        # relaxed and tight are not quadratic, but a tenth of weave's time on 30,000 rows
    }


def test_a_start_is_what_the_method_itself_returns() -> None:
    problem = some_problem(60)
    given = {start.name: start.labels for start in starts_of(problem, "balanced", 3, 0, silent)}
    assert {
        "mondrian:strict",
        "mondrian:relaxed",
        "microaggregation:merge",
        "pca:searched",
        "sabre:slack",
    } < given.keys()
    for rival in RIVALS:
        if rival.name in given:
            split = Splitter(method=rival.method, seed=3, options=method_and_options(rival.name)[1]).split(problem)
            assert split is not None
            assert np.array_equal(split.labels, given[rival.name])


def test_fast_considers_few() -> None:
    fast = [start.name for start in starts_of(some_problem(60), "fast", 3, 0, silent)]
    assert fast == ["equality classes", "mondrian:strict", "mondrian:relaxed", "microaggregation:merge"]
    assert [start.name for start in starts_of(some_problem(60), "balanced", 3, 0, silent) if start.fast] == fast


def test_a_method_that_takes_too_long_or_lacks_its_extra_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "RIVALS", (Rival("incognito", steps=3),))
    assert [start.name for start in starts_of(some_problem(60), "balanced", 3, 0, silent)] == ["equality classes"]

    def lacking(name: str) -> Any:
        def partition(problem: Problem, **_: Any) -> Ints:
            raise MissingExtra("scipy", "solve", "it")

        return partition

    monkeypatch.setattr(starts, "method_named", lacking)
    monkeypatch.setattr(starts, "RIVALS", (Rival("kanonymity"),))
    assert [start.name for start in starts_of(some_problem(60), "balanced", 3, 0, silent)] == ["equality classes"]


def test_a_start_beyond_t_is_never_published() -> None:
    problem = some_problem(60, sensitive={"s": {"t": 0.05}})
    nearest = np.argsort(np.lexsort(problem.points.T)) // 2  # pairs of rows, whatever their sensitive values
    beyond = Start("broken", nearest, fast=True)
    with pytest.raises(InternalError, match="not within t"):
        weave.best_partition(problem, [beyond], finish=lambda labels: labels)


# --- tables that need no search ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_table_that_holds_its_policy_is_published_as_it_is(effort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weave.WeaveTable, "of", fail)
    release = tclose.anonymize(EXAMPLE, ASKED, effort=effort)
    assert release.certificate.content["measures"]["gcp"] == 0
    assert sorted(release.frame.rows()) == sorted((str(q), s) for q, s in EXAMPLE.rows())


def test_a_table_with_steps_loses_no_more_than_its_steps() -> None:
    loss, start = kept(EXAMPLE, {**ASKED, "quasi": {"q": {"step": 2}}})
    assert start == "equality classes"
    assert 0 < loss == kept(EXAMPLE, {**ASKED, "quasi": {"q": {"step": 2}}}, effort="best")[0]


def test_a_table_that_holds_n_t_closeness_by_a_superset_is_published_as_it_is() -> None:
    rows = (
        [("a", "1", s) for s in (0, 0, 1)] + [("a", "2", s) for s in (0, 1, 1)] + [("b", "1", s) for s in (3, 3, 4, 4)]
    )
    frame = pl.DataFrame(rows, schema=["zone", "age", "s"], orient="row")
    policy = {"quasi": ["zone", "age"], "sensitive": {"s": {"t": 0.4, "n": 4}}, "k": 2}
    assert tclose.check(frame, policy).satisfied
    assert kept(frame, policy)[0] == 0


def test_equal_rows_may_be_in_two_classes_where_sizes_are_the_loss() -> None:
    frame = pl.DataFrame({"x": [0] * 6 + [1] * 6 + [2] * 2})
    policy = {"quasi": ["x"], "k": 2}
    assert kept(frame, policy)[0] == 0
    split = tclose.anonymize(frame, {**policy, "loss": "discernibility"}, seed=1).certificate.content["measures"]
    assert split["discernibility"] < 36 + 36 + 4


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("rows", [4, 11, 18])
def test_a_few_rows_are_solved_exactly(rows: int, effort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weave.WeaveTable, "of", fail)
    problem = some_problem(rows, seed=rows)
    split = Splitter(method="weave", seed=1, options={"effort": effort}, exact_rows=18).split(problem)
    assert split is not None
    assert total_loss(loss_table(problem.all_axes, rows), split.labels) == pytest.approx(solve(problem).cost)
    assert split.start in (EXACT, "equality classes")


def test_up_to_18_rows_are_a_few() -> None:
    assert kept(some_rows(18), {"quasi": ["x", "zone"], "sensitive": {"s": {"t": 0.3}}, "k": 2})[1] == EXACT
    assert kept(some_rows(19), {"quasi": ["x", "zone"], "sensitive": {"s": {"t": 0.3}}, "k": 2})[1] != EXACT


def test_a_mean_loses_a_squared_distance_so_exact_is_only_a_start() -> None:
    for publish, optimal in ({"publish": "mean"}, False), ({}, True):
        problem = some_problem(12, quasi={"x": publish, "zone": {}})
        (exact,) = (start for start in starts_of(problem, "fast", 1, 18, silent) if start.name == EXACT)
        assert exact.optimal == optimal


def test_many_groups_are_solved_exactly_only_within_a_limit() -> None:
    assert most_exact_rows(np.array([18])) == 18
    assert most_exact_rows(np.array([5, 18, 18, 18, 17, 900])) == 18
    assert most_exact_rows(np.array([5, 18, 18, 18, 18, 900])) == 17
    assert most_exact_rows(np.full(1000, 12)) == 18
    assert most_exact_rows(np.full(100_000, 12)) == 11


def test_an_optimum_that_persons_make_impossible_is_only_a_start() -> None:
    problem, calls = some_problem(12), []

    def finish(labels: Ints) -> Ints:
        calls.append(labels)
        return np.zeros_like(labels)

    assert Splitter(method="weave", seed=1, options={}, exact_rows=18, finish=finish).split(problem).labels.max() == 0
    assert len(calls) > 3


def test_persons_count_before_losses_are_compared() -> None:
    """Persons in several rows: what a rival publishes after merging is never better than weave's."""
    frame = some_rows(60).with_columns(name=pl.Series(np.arange(60) % 7))
    policy = {"quasi": ["x", "zone"], "sensitive": {"s": {"l": 2, "t": 0.6}}, "k": 4, "person": "name"}
    loss, _ = kept(frame, policy)
    for rival in RIVALS:
        try:
            release = tclose.anonymize(frame, policy, method=rival.name, seed=1)
        except tclose.Unsuited:
            continue
        assert loss <= release.certificate.content["measures"]["gcp"]


def test_nothing_is_returned_where_no_start_can_be_finished() -> None:
    splitter = Splitter(method="weave", seed=1, options={"effort": "fast"}, finish=lambda labels: None)
    assert splitter.split(some_problem(30)) is None


# --- a better start wins, and the name says so ------------------------------------------------------------------------


def test_the_best_start_wins() -> None:
    problem = some_problem(130)
    own = weave.best_partition(problem, [], effort="fast")
    assert own is not None
    assert own.start == "own"
    gift = weave.best_partition(problem, [], effort="best", seed=9)
    assert gift is not None
    better = weave.best_partition(problem, [Start("gift", gift.labels, fast=True)], effort="fast")
    assert better is not None
    loss = [total_loss(loss_table(problem.all_axes, 130), each.labels) for each in (own, gift, better)]
    assert loss[2] <= loss[1] < loss[0]
    assert better.start in ("gift", "refined gift")


def test_a_larger_effort_is_never_worse() -> None:
    for seed in range(4):
        problem = some_problem(130, seed)
        table, losses = loss_table(problem.all_axes, 130), []
        for effort in ("best", "balanced", "fast"):
            split = weave.best_partition(problem, [], effort=effort, seed=seed)
            assert isinstance(split, Split)
            losses.append(total_loss(table, split.labels))
        assert losses == sorted(losses)


def test_the_same_seed_gives_the_same_bytes() -> None:
    policy = {"quasi": ["x", "zone"], "sensitive": {"s": {"t": 0.2}}, "k": 3}
    first, second = (tclose.anonymize(some_rows(90), policy, seed=4) for _ in range(2))
    assert first.frame.equals(second.frame)


# --- progress ---------------------------------------------------------------------------------------------------------


class CancelIn:
    """Cancels in a phase, and notes the shares until then."""

    def __init__(self, phase: str) -> None:
        self.phase, self.shares = phase, [0.0]

    def __call__(self, share: float, phase: str = "") -> None:
        self.shares.append(share)
        if phase == self.phase:
            raise Cancelled("stopped")


def test_considering_other_methods_can_be_cancelled() -> None:
    before, progress = threading.active_count(), CancelIn(CONSIDERING)
    policy = {"quasi": ["x", "zone"], "sensitive": {"s": {"t": 0.2}}, "k": 3}
    with pytest.raises(Cancelled):
        tclose.anonymize(some_rows(200), policy, seed=4, progress=progress)
    assert threading.active_count() == before


def test_progress_never_goes_back() -> None:
    progress = CancelIn("never")
    Splitter(method="weave", seed=1, options={"effort": "best"}).split(some_problem(150), progress)
    assert progress.shares == sorted(progress.shares)
    assert progress.shares[-1] == 1
