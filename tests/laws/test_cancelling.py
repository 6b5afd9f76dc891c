"""Whoever waits for a method can stop it: an exception raised from a progress call ends the work."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts, Ordered
from tclose.errors import Cancelled
from tclose.partition import METHODS, Attribute, Problem, method_named
from tclose.partition.burel import SLICE
from tclose.partition.fragmentation import classes
from tclose.partition.shared import redistribution
from tclose.privacy import Alpha, BetaLikeness, Model

ROWS = {"exact": 10}
MODELS: dict[str, tuple[Model, ...]] = {
    "burel": (BetaLikeness(Fraction(2)),),
    "kanonymity": (Alpha(Fraction(1, 2)),),
}
CASES: dict[str, dict[str, object]] = {
    **{name: {} for name in METHODS},
    "mondrian relaxed": {"cuts": "relaxed"},
    "fragmentation printed": {"sizing": "gcd"},
    "sabre nearest": {"near": "nearest"},
    "microaggregation swap": {"variant": "swap"},
    "microaggregation merge": {"variant": "merge"},
    "exact programme": {"loss": "stars", "way": "programme"},
}


def problem(method: str) -> Problem:
    random = np.random.default_rng(5)
    rows, models = ROWS.get(method, 300), MODELS.get(method, ())
    codes = np.arange(rows) % 5
    points = random.integers(0, 4, size=(rows, 2)) / 3
    t = None if models else Fraction(1, 4)
    attribute = Attribute(codes, np.bincount(codes).astype(np.int64), Ordered(5), t, models=models)
    return Problem(points, (attribute,), 2)


@pytest.mark.parametrize("share_reached", [0.0, 0.5])
@pytest.mark.parametrize("case", CASES)
def test_a_method_can_be_stopped_at_any_call(case: str, share_reached: float) -> None:
    """How often a method calls may depend on the clock (heartbeats), but not the shares that it goes through."""
    method = case.partition(" ")[0]

    def stop(share: float, phase: str = "") -> None:
        assert 0 <= share <= 1
        if share >= share_reached:
            raise Cancelled

    with pytest.raises(Cancelled):
        method_named(method)(problem(method), seed=1, progress=stop, **CASES[case])


def test_fragmentation_calls_while_it_exchanges_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def calls() -> int:
        told: list[float] = []
        method_named("fragmentation")(problem("fragmentation"), progress=lambda share, phase="": told.append(share))
        assert told == sorted(told)
        return len(told)

    few = calls()
    monkeypatch.setattr(classes, "LOOKS_PER_CALL", 1)
    assert calls() > few


def test_filling_by_distance_calls_after_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redistribution, "LOOKS", 1000)
    random, told = np.random.default_rng(0), []
    points, bucket, takes = random.random((500, 2)), np.arange(500) % 5, np.full((50, 5), 2)
    labels = redistribution.filled(points, bucket, takes, "nearest", 1, lambda share, phase="": told.append(share))
    assert len(told) == 50 // 2 + 1
    assert (Counts.from_codes(labels, bucket, 5).counts == 2).all()


def test_buckets_are_the_same_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose.partition import burel

    counts = np.random.default_rng(1).integers(1, 50, size=200)
    codes = np.repeat(np.arange(200), counts)
    attribute = Attribute(codes, counts, Ordered(200), None, models=(BetaLikeness(Fraction(3)),))
    whole = burel.bucketize(attribute)
    assert len(counts) < SLICE
    monkeypatch.setattr(burel, "SLICE", 7)
    sliced = burel.bucketize(attribute)
    assert sliced.of_value.tolist() == whole.of_value.tolist()
    assert sliced.limits == whole.limits
