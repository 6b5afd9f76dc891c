"""The verifier that docs/bound.md lists: it confirms real proofs, and agrees with tclose's own."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.measure.bound import bound_problem, lower_bound
from tclose.table import encode_quietly

PAGE = Path(__file__).parents[3] / "docs" / "bound.md"


@pytest.fixture(scope="module")
def listing() -> dict[str, Any]:
    """Run the listing, and return what it defines."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 42
    names: dict[str, Any] = {}
    exec(code[1], names)
    return names


@pytest.mark.parametrize("t", ["0.05", "0.2"])
def test_the_listed_verifier_confirms_a_real_proof(listing: dict[str, Any], t: str) -> None:
    random = np.random.default_rng(4)
    income = random.integers(0, 400, 40)
    frame = pl.DataFrame({"income": income, "tax": income // 20 + random.integers(0, 4, 40)})
    policy = tclose.Policy(quasi=["income"], sensitive={"tax": {"t": Fraction(t)}}, k=2)
    ticks = count()
    bound = lower_bound(
        bound_problem(encode_quietly(frame, policy), policy), seconds=500, clock=lambda: float(next(ticks))
    )
    (part,) = bound.proof["parts"]
    assert part["kind"] == "prices"
    given = (frame["income"].to_list(), frame["tax"].to_list(), Fraction(t), *part["cuts"])
    proven = listing["proven"](*given, part["prices"], part["multipliers"])
    assert bound.value <= proven <= bound.value + Fraction(1, 10**5)
    dearer = [price + 10_000 for price in part["prices"]]
    assert listing["proven"](*given, dearer, part["multipliers"]) <= proven + Fraction(1, 10**5)
