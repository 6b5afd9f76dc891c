from __future__ import annotations

from fractions import Fraction

import numpy as np

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
    distribution_models,
    diversity_models,
)


def test_every_model_is_asked_for_by_its_name() -> None:
    spec = Sensitive(
        t=0.1, l=3, entropy_l=2.5, recursive={"c": 3, "l": 2}, alpha=0.5, beta=1, enhanced_beta=2, delta=0.7
    )
    distance = Equal()
    assert distribution_models(spec, distance, []) == [
        TCloseness(Fraction(1, 10), distance),
        Alpha(Fraction(1, 2)),
        BetaLikeness(Fraction(1)),
        EnhancedBetaLikeness(Fraction(2)),
        DeltaDisclosure(Fraction(7, 10)),
    ]
    assert diversity_models(spec, None) == [DistinctL(3), EntropyL(Fraction(5, 2)), RecursiveCL(Fraction(3), 2)]


def test_n_turns_t_into_nt() -> None:
    distance, supersets = Equal(), [np.array([0, 0])]
    (model,) = distribution_models(Sensitive(t=0.1, n=100), distance, supersets)
    assert model == NTCloseness(100, Fraction(1, 10), distance, supersets)
    assert model.name == "(n,t)"


def test_what_is_not_asked_for_is_not_judged() -> None:
    assert distribution_models(Sensitive(l=2), Equal(), []) == []
    assert diversity_models(Sensitive(t=0.1), None) == []


def test_persons_reach_the_model_that_counts_them() -> None:
    persons = np.array([2, 1])
    (model,) = diversity_models(Sensitive(l=2), persons)
    assert isinstance(model, DistinctL)
    assert model.persons is persons
