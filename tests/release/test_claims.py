"""What a certificate claims of random swaps: who can claim what, and within which bounds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tclose.policy.model import HOTTEST
from tclose.release.claims import Tempering

CLAIM = Tempering.of(Fraction(1, 10), 0.1, 0.2)


def test_a_claim_of_temper_that_holds() -> None:
    assert CLAIM.problems("weave", 0.2) == []
    assert replace(CLAIM, share=str(HOTTEST)).problems("weave", 0.2) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"share": 0}, "share of temper is none"),
        ({"share": str(HOTTEST + Fraction(1, 1000))}, "share of temper is none"),
        ({"share": "a tenth"}, "share of temper is none"),
        ({"claim": "a guarantee"}, "claims more of temper"),
        ({"gcp_before": -0.1}, "is not between 0 and 1"),
        ({"gcp_before": True}, "is not between 0 and 1"),
        ({"gcp_after": 0.3}, "is not the detail lost of the release"),
    ],
)
def test_a_claim_of_temper_that_does_not(changed: dict[str, Any], says: str) -> None:
    (problem,) = replace(CLAIM, **changed).problems("weave", 0.2)
    assert says in problem


def test_a_method_without_temper() -> None:
    assert CLAIM.problems("mondrian", 0.2) == CLAIM.problems(None, 0.2) != []
