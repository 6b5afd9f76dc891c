"""What a certificate says about `temper`: what was asked for, what it claims to be, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose.measure.base import rounded
from tclose.partition import METHODS
from tclose.policy.model import HOTTEST
from tclose.policy.settings import exact, spelled

MITIGATION = "mitigation, not a guarantee"


@dataclass(frozen=True)
class Tempering:
    """The share that the policy's `temper` asked for, and the detail lost (GCP) before and after the random swaps."""

    share: Any  # of the mean loss of a class, as the policy spells it
    gcp_before: Any
    gcp_after: Any
    claim: Any = MITIGATION

    @classmethod
    def of(cls, share: Fraction, gcp_before: float, gcp_after: float) -> Tempering:
        """Return what a certificate says, with rounded figures."""
        return cls(spelled(share), rounded(gcp_before), rounded(gcp_after))

    @classmethod
    def from_dict(cls, said: Any) -> Tempering | None:
        """Read the entry of a certificate; None where it has none."""
        if said is None:
            return None
        if not isinstance(said, Mapping):
            raise ValueError("not an entry about temper")
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return dict(vars(self))

    @property
    def words(self) -> str:
        """The same, for people."""
        return (
            f"temper = {self.share}: rows were swapped at random between classes, against an adversary who knows how "
            f"classes are formed. This is a {MITIGATION}. Detail lost (GCP, lower is better): {self.gcp_before} "
            f"before the swaps, {self.gcp_after} after them."
        )

    def problems(self, method: Any, gcp: Any) -> list[str]:
        """Compare the entry with the method and the detail lost that the same certificate names."""
        known = METHODS.get(method) if isinstance(method, str) else None
        statements = {
            "the method that the certificate names has no temper": known is not None and known.tempers,
            "the certificate claims more of temper than it does": self.claim == MITIGATION,
            "the certificate's share of temper is none that a policy can ask for": _is_share(self.share),
            "the detail lost before tempering is not between 0 and 1": _is_loss(self.gcp_before),
            "the detail lost after tempering is not the detail lost of the release": self.gcp_after == gcp,
        }
        return [problem for problem, holds in statements.items() if not holds]


def _is_share(share: Any) -> bool:
    try:
        return 0 < exact(share) <= HOTTEST
    except (ValueError, ArithmeticError):
        return False


def _is_loss(loss: Any) -> bool:
    return isinstance(loss, int | float) and not isinstance(loss, bool) and 0 <= loss <= 1
