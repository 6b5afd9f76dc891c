from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Equal
from tclose.policy import Sensitive
from tclose.privacy import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    NTCloseness,
    RecursiveCL,
    TCloseness,
    models_of,
    requirement,
)


def test_every_model_is_asked_for_by_its_name() -> None:
    spec = Sensitive(
        t=0.1, l=3, entropy_l=2.5, recursive={"c": 3, "l": 2}, alpha=0.5, beta=1, enhanced_beta=2, delta=0.7
    )
    distance = Equal()
    assert models_of(spec, distance) == [
        TCloseness(Fraction(1, 10), distance),
        Alpha(Fraction(1, 2)),
        BetaLikeness(Fraction(1)),
        EnhancedBetaLikeness(Fraction(2)),
        DeltaDisclosure(Fraction(7, 10)),
        DistinctL(3),
        EntropyL(Fraction(5, 2)),
        RecursiveCL(Fraction(3), 2),
    ]


def test_n_turns_t_into_nt() -> None:
    distance, supersets = Equal(), [np.array([0, 0])]
    (model,) = models_of(Sensitive(t=0.1, n=100), distance, supersets)
    assert model == NTCloseness(100, Fraction(1, 10), distance, supersets)
    assert model.name == "(n,t)"


@pytest.mark.parametrize("name", ["t", "l", "delta"])
def test_what_is_not_asked_for_is_not_judged(name: str) -> None:
    assert [model.name for model in models_of(Sensitive(**{name: 1}), Equal())] == [name]


def test_persons_reach_the_models_that_count_them() -> None:
    persons = np.array([2, 1])
    distinct, entropy, recursive = models_of(Sensitive(l=2, entropy_l=2, recursive=(3, 2)), Equal(), persons=persons)
    assert isinstance(distinct, DistinctL)
    assert distinct.persons is persons
    assert not entropy.merging_keeps  # a person with rows in both classes is counted once in the merged class
    assert not recursive.merging_keeps
    assert distinct.merging_keeps


@pytest.mark.parametrize(
    ("name", "required", "words"),
    [
        ("k", 5, "≥ 5"),
        ("t", Fraction(3, 20), "≤ 0.15"),
        ("t", "1/3", "≤ 1/3"),
        ("(n,t)", {"n": 1000, "t": 0.1}, "n = 1,000, ≤ 0.1"),
        ("recursive", {"c": Fraction(3), "l": 2}, "l = 2, < 3"),
        ("suppress", 0.1, "≤ 0.1"),
    ],
)
def test_required_levels_are_written_with_their_sign(name: str, required: object, words: str) -> None:
    assert requirement(name).words(required) == words
