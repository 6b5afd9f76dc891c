"""The list of slips that `make mutations` plants: each can still be planted in the sources as they are."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
BENCH = runpy.run_path(str(ROOT / "bench" / "mutations.py"))
LEAST = 50


def test_every_slip_can_be_planted() -> None:
    """A text that is gone, or stands twice, would let the list rot."""
    slips = BENCH["slips"]()
    assert len(slips) >= LEAST
    assert [problem for slip in slips for problem in slip.problems(ROOT)] == []


def test_a_text_that_is_not_found_is_a_problem() -> None:
    slip = BENCH["slips"]()[0]
    given = vars(slip)
    (gone,) = type(slip)(**{**given, "text": "no such text"}).problems(ROOT)
    assert gone.endswith("0 times, not once")
    (same,) = type(slip)(**{**given, "becomes": slip.text}).problems(ROOT)
    assert same.endswith("it changes nothing")
    (tests,) = type(slip)(**{**given, "tests": ("nowhere",)}).problems(ROOT)
    assert tests.endswith("there are no tests nowhere")
