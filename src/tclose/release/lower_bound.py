"""A lower bound on the detail lost by any release of a table, the file that proves it, and what a certificate says.

The proof reveals rows of the table. So it is written for its steward alone, and a certificate holds the number and the
fingerprint of the proof only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.errors import InputError, InternalError
from tclose.messages import say
from tclose.release.files import check_targets, sha256, write_whole
from tclose.table.sources import read_bytes
from tclose.words import html_table, number, percent

UNIT = 10_000  # a bound is stated in whole ten-thousandths, rounded down
WORTH_A_SHARE = 0.25  # of the loss: below it, a page states the number only
PROOF_STAYS = "It reveals rows of the table: it must not leave the house."
FINGERPRINT = re.compile(r"[0-9a-f]{64}")
FRACTION = re.compile(r"\d{1,400}(/[1-9]\d{0,400})?")


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No release of all rows of a table, under its policy, loses less detail than `bound` (GCP, from 0 to 1).

    `exact` is what was proved, and `bound` the same, rounded down to four digits. `save` writes the proof.
    """

    exact: Fraction
    kind: str  # how it was found, in plain words
    seconds: float
    proof: bytes = field(repr=False)  # the content of the file that proves it
    note: str = ""  # what could not be tried in this installation

    @property
    def bound(self) -> float:
        """The bound as it is stated."""
        return rounded_down(self.exact)

    @property
    def claim(self) -> BoundClaim:
        """What a certificate says about it."""
        return BoundClaim(self.bound, sha256(self.proof))

    @property
    def sentence(self) -> str:
        """The bound, for people."""
        return _sentence(self.bound)

    def save(self, path: str | Path, *, force: bool = True) -> None:
        """Write the proof, readable by you alone: it reveals rows. Without `force`, an existing file is refused."""
        check_targets([Path(path)], force=force)
        write_whole(path, self.proof, private=True, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        answer = {"bound": self.bound, "exact": str(self.exact), "kind": self.kind, "seconds": round(self.seconds, 1)}
        return answer | ({"note": self.note} if self.note else {})

    def _repr_html_(self) -> str:
        rows = [("detail lost (GCP), at least", f"{self.bound:.4f}", self.kind)]
        return html_table("Lower bound", ("what", "figure", "found by"), rows)


def _sentence(bound: float) -> str:
    """State a bound for people."""
    if not bound:
        return "No lower bound of at least 0.0001 was proved on the detail that a release loses (GCP)."
    return say(
        "Every release of this table under this policy (one table, all rows) loses at least {bound:.4f} of "
        "the detail (GCP, from 0 to 1, lower is better).",
        bound=bound,
    )


def rounded_down(value: Fraction) -> float:
    """Return a bound as it is stated.

    >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(1, 4))
    (0.6666, 0.25)
    """
    return math.floor(value * UNIT) / UNIT


@dataclass(frozen=True)
class BoundClaim:
    """What a certificate says about the lower bound; what is read from a file may be anything."""

    bound: Any
    proof_sha256: Any = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> BoundClaim | None:
        """Read the claim from a certificate's content; None where it has none."""
        if "bound" not in content and "bound_proof_sha256" not in content:
            return None
        return cls(content.get("bound"), content.get("bound_proof_sha256"))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a certificate."""
        return {"bound": self.bound, "bound_proof_sha256": self.proof_sha256}

    def sentence(self, lost: float | None) -> str:
        """Say which part of a release's loss is unavoidable; where the bound explains little, state the number only."""
        if not lost:
            return "No detail was lost."
        if not self.bound:
            return "No lower bound above 0 was proved for the detail lost."
        least = say(
            "every release of this table under this policy (one table, all rows) loses at least {bound:.4f} (GCP)",
            bound=self.bound,
        )
        if self.bound / lost < WORTH_A_SHARE:
            return f"{least[0].upper()}{least[1:]}."
        share = min(math.floor(1000 * self.bound / lost + 1e-9) / 1000, 1.0)
        return say("{share} of this loss is unavoidable: {least}.", share=percent(share), least=least)

    def about_release(self, lost: float | None) -> str:
        """Say the same, after what the release loses."""
        loses = say("This release loses {lost} of the detail (GCP). ", lost=number(lost)) if lost else ""
        return f"{loses}{self.sentence(lost)}"

    def confirm(self, lost: float | None) -> None:
        """Refuse a bound above the loss of a release: one of the two is wrong."""
        if self.problems(lost):
            raise InternalError("the lower bound is above the detail that the release loses")

    def problems(self, lost: Any) -> list[str]:
        """Compare the claim with the detail lost that the same certificate states."""
        if not _is_share(self.bound):
            return ["the certificate's lower bound is no number from 0 to 1"]
        problems = []
        if not (isinstance(self.proof_sha256, str) and FINGERPRINT.fullmatch(self.proof_sha256)):
            problems.append("the certificate's fingerprint of the proof of its lower bound is no SHA-256")
        stated = 0.0 if lost is None else lost
        if not _is_share(stated) or self.bound > stated:
            problems.append("the certificate's lower bound is above the detail lost that it states")
        return problems


def _is_share(figure: Any) -> bool:
    return isinstance(figure, int | float) and not isinstance(figure, bool) and 0 <= figure <= 1


@dataclass(frozen=True)
class BoundVerification:
    """Whether the proof of a lower bound holds for a table and a policy, and why not."""

    problem: str
    exact: Fraction
    kind: str
    seconds: float
    proof_sha256: str

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem

    @property
    def sentence(self) -> str:
        """The bound that is proved, for people."""
        return _sentence(rounded_down(self.exact))

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints; a proof that does not hold proves no bound."""
        return {
            "holds": self.holds,
            "problem": self.problem or None,
            "bound": rounded_down(self.exact) if self.holds else None,
            "exact": str(self.exact) if self.holds else None,
            "kind": self.kind,
            "seconds": round(self.seconds, 1),
            "proof_sha256": self.proof_sha256,
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProofFile:
    """The proof of a lower bound, as it was read from a file."""

    content: Mapping[str, Any]
    sha256: str

    @property
    def exact(self) -> Fraction:
        """The bound that the proof claims."""
        return Fraction(self.content["bound"])

    @property
    def kind(self) -> str:
        """How the bound was found, as the file says."""
        return str(self.content.get("kind", ""))

    @classmethod
    def load(cls, path: str | Path) -> ProofFile:
        """Read a proof; `InputError` where the file is none, or is of another format."""
        data = read_bytes(path)
        try:
            content = json.loads(data)
            is_proof = FRACTION.fullmatch(content["bound"]) and isinstance(content["table"], str) and content["format"]
            if not is_proof or not all(isinstance(part["kind"], str) for part in content["parts"]):
                raise ValueError("not a proof")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError("{path} is not a proof of a lower bound of tclose", path=path) from None
        return cls(content, sha256(data))
