"""The search: it reports the bound as it rises, can be stopped, says what it lacks; the verifier takes no nonsense."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest

from tclose.distance import Equal, Ordered
from tclose.errors import Cancelled
from tclose.measure.bound import BoundProblem, lower_bound, search, verify_bound
from tclose.partition.problem import Attribute
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis


def sorted_problem(*axes: Axis, distance: Any = None, values: int = 10, rows: int = 60) -> BoundProblem:
    """A table whose sensitive value rises with the first quasi-identifier: near classes are far from the table."""
    codes = np.arange(rows) * values // rows
    attribute = Attribute(codes, np.bincount(codes), distance or Ordered(values), Fraction(1, 10))
    names = tuple(f"q{number}" for number in range(len(axes)))
    return BoundProblem(axes, names, (attribute,), ("s",), np.zeros(rows, dtype=np.int64), 2)


LINE = NumberAxis(np.arange(60), np.linspace(0, 1, 60), np.linspace(0, 1, 60))
TREE = LabelAxis(np.arange(60), (np.arange(60), np.arange(60) // 6, np.zeros(60, dtype=np.int64)))


def ticking() -> Any:
    ticks = count()
    return lambda: float(next(ticks))


def test_the_phase_shows_the_bound_rising() -> None:
    heard: list[tuple[float, str]] = []
    bound = lower_bound(
        sorted_problem(LINE),
        seconds=800,
        progress=lambda share, phase="": heard.append((share, phase)),
        clock=ticking(),
    )
    assert heard[0] == (0.0, "searching, lower bound 0.0000 so far")
    assert heard[-1] == (1.0, f"searching, lower bound {float(bound.value):.4f} so far")
    figures = [float(phase.split()[3]) for _, phase in heard[:-1]]
    assert figures == sorted(figures)
    assert [share for share, _ in heard] == sorted(share for share, _ in heard)
    assert bound.value > Fraction(1, 2)


def test_raising_from_the_progress_stops_the_search() -> None:
    calls = count()

    def progress(share: float, phase: str = "") -> None:
        if next(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        lower_bound(sorted_problem(LINE), seconds=60, progress=progress)


def test_without_the_solver_the_bound_is_weaker_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = sorted_problem(LINE)
    full = lower_bound(problem, seconds=800, clock=ticking())
    assert full.note == ""
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    bare = lower_bound(problem, seconds=800, clock=ticking())
    assert "pip install 'tclose[solve]'" in bare.note
    assert 0 < bare.value <= full.value
    assert verify_bound(bare.proof, problem).holds


def test_no_time_gives_no_bound() -> None:
    assert lower_bound(sorted_problem(LINE), seconds=0).value == 0


@pytest.mark.parametrize("problem", [sorted_problem(LINE), sorted_problem(TREE, distance=Equal())])
def test_nonsense_is_no_proof(problem: BoundProblem) -> None:
    proof = lower_bound(problem, seconds=300, clock=ticking()).proof
    assert verify_bound(proof, problem).holds
    damaged: list[Any] = [{}, {**proof, "format": 2}, {**proof, "parts": proof["parts"] * 2}, {**proof, "bound": "x"}]
    for key, wrong in [
        ("axes", ["q9"]),
        ("prices", [1]),
        ("cuts", [[-1]]),
        ("cuts", [-1]),
        ("kind", "luck"),
        ("attribute", "x"),
    ]:
        part = {**deepcopy(proof["parts"][0]), key: wrong}
        damaged.append({**proof, "parts": [part]})
    for one in damaged:
        verdict = verify_bound(one, problem)
        assert not verdict.holds
        assert verdict.reason


def test_balls_cannot_be_inflated() -> None:
    problem = sorted_problem(LINE)
    part = {"kind": "ball", "axes": ["q0"], "radii": [900_000] * 60}
    proof = {"format": 1, "table": problem.digest, "bound": "9/10", "parts": [part]}
    assert verify_bound(proof, problem).reason == "the proof claims that a class cannot be formed where it can"


def test_multipliers_are_no_part_of_the_trust() -> None:
    """Any multipliers prove something; wrong ones prove less, never more."""
    problem = sorted_problem(LINE)
    proof = deepcopy(lower_bound(problem, seconds=300, clock=ticking()).proof)
    for part in proof["parts"]:
        if "multipliers" in part:
            part["multipliers"] = [0 for _ in part["multipliers"]]
    assert verify_bound(proof, problem).reason == "the proof shows less than it claims"
