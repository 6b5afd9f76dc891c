"""The list of slips that `make mutations` plants: each can still be planted in the sources as they are."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench" / "mutations.py"
LEAST = 50
pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="the benches are not part of a package")


@pytest.fixture(scope="module")
def slips() -> Any:
    return runpy.run_path(str(BENCH))["slips"]()


def test_every_slip_can_be_planted(slips: Any) -> None:
    """A text that is gone, or stands twice, would let the list rot: write the slip anew, or delete it with the code."""
    assert len(slips) >= LEAST
    assert [problem for slip in slips for problem in slip.problems(ROOT)] == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"text": "no such text"}, "0 times, not once"),
        ({"text": "e"}, "times, not once"),
        ({"file": "privacy/none.py"}, "there is no file privacy/none.py"),
        ({"tests": ("nowhere",)}, "there are no tests nowhere"),
        ({"becomes": "("}, "what it becomes is no Python"),
    ],
)
def test_what_cannot_be_planted_is_a_problem(slips: Any, changed: dict[str, Any], says: str) -> None:
    (problem,) = type(slips[0])(**{**vars(slips[0]), **changed}).problems(ROOT)
    assert problem.startswith(slips[0].name)
    assert problem.endswith(says)


def test_a_slip_that_changes_nothing_is_a_problem(slips: Any) -> None:
    (problem,) = type(slips[0])(**{**vars(slips[0]), "becomes": slips[0].text}).problems(ROOT)
    assert problem.endswith("it changes nothing")
