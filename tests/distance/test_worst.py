"""The worst class that a t allows: within t by the exact distance, and no class within t shows the value more."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance.counts import Counts
from tclose.distance.registry import DomainFacts
from tclose.distance.worst import equal_costs, line_costs, most_of, path_costs


def distance_of(name: str, size: int) -> tuple[DomainFacts, np.ndarray]:
    if name == "equal":
        return DomainFacts(size), equal_costs(size)
    if name == "ordered":
        return DomainFacts(size), line_costs(np.linspace(0.0, 1.0, size))
    middle = np.arange(size) // 2
    facts = DomainFacts(size, levels=(np.arange(size), middle, np.zeros(size, dtype=np.int64)))
    return facts, path_costs([(str(leaf), f"m{middle[leaf]}", "*") for leaf in range(size)])


def emd(facts: DomainFacts, name: str, own: np.ndarray, reference: np.ndarray) -> float:
    return float(facts.make(name).emd(Counts.from_dense([own]), reference)[0])


@given(
    name=st.sampled_from(["equal", "ordered", "hierarchical"]),
    reference=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    own=st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any),
    value=st.integers(0, 5),
)
def test_no_class_within_t_shows_a_value_more(name: str, reference: list[int], own: list[int], value: int) -> None:
    size = len(reference)
    value, whole = value % size, np.array(reference)
    klass = np.array(own[:size]) if any(own[:size]) else np.eye(size, dtype=np.int64)[value]
    facts, costs = distance_of(name, size)
    t = emd(facts, name, klass, whole)
    worst = most_of(whole / whole.sum(), costs[:, value], value, t)
    assert worst.min() >= -1e-9
    assert np.isclose(worst.sum(), 1)
    assert worst[value] >= klass[value] / klass.sum() - 1e-9
    moved = whole / whole.sum() - worst
    moved[value] = 0
    assert np.isclose(moved @ costs[:, value], t) or np.isclose(worst[value], 1)
