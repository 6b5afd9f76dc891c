"""What a certificate says about pseudonyms, what that means for people, and what `verify` can tell of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.pseudonym_key import BITS, LENGTH, SHOWN, PseudonymKey
from tclose.table.pseudonyms import are_pseudonyms, check_kept_by_person, persons_apart
from tclose.words import counted, legible

ALGORITHM = "HMAC-SHA-256"
LINKABLE = (
    "rows with the same pseudonym are rows of one person, in this release and in every other that was made with the "
    "same key; the guarantee is about this release alone"
)
FINGERPRINT = re.compile(rf"[0-9a-f]{{{SHOWN}}}")


@dataclass(frozen=True)
class PseudonymClaim:
    """What a certificate says about one column of pseudonyms."""

    key: Any  # the fingerprint of the key: equal for releases that share it
    algorithm: Any = ALGORITHM
    bits: Any = BITS
    letters: Any = LENGTH
    linkable: Any = LINKABLE

    @classmethod
    def from_dict(cls, said: Any) -> PseudonymClaim:
        """Read the entry of one column."""
        if not isinstance(said, Mapping):
            raise ValueError("not an entry about pseudonyms")
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return dict(vars(self))

    @property
    def is_known(self) -> bool:
        """Whether the entry says what tclose says, and names a key."""
        known = PseudonymClaim(self.key)
        return self == known and isinstance(self.key, str) and FINGERPRINT.fullmatch(self.key) is not None


PseudonymClaims = Mapping[str, PseudonymClaim]


def check_keys(policy: Policy) -> None:
    """Refuse keys that cannot be used, before a table is read."""
    for spec in (policy.pseudonym or {}).values():
        PseudonymKey.load(spec.key)


def checked_pseudonyms(table: CodedTable, policy: Policy) -> tuple[tuple[str, ...], PseudonymClaims | None]:
    """Refuse persons who cannot be in one class; return warnings, and what the certificate says about pseudonyms."""
    if not policy.pseudonym:
        return (), None
    check_kept_by_person(table)
    keys = {name: PseudonymKey.load(spec.key) for name, spec in policy.pseudonym.items()}
    return tuple(map(linkability, keys)), {name: PseudonymClaim(key.fingerprint) for name, key in keys.items()}


def read_claims(said: Any) -> PseudonymClaims | None:
    """Read the entry of a certificate; None where it has none."""
    if said is None:
        return None
    if not isinstance(said, Mapping) or not said:
        raise ValueError("not an entry about pseudonyms")
    return {name: PseudonymClaim.from_dict(entry) for name, entry in said.items()}


def claims_json(claims: PseudonymClaims) -> dict[str, Any]:
    """Return the entry of a certificate as JSON has it."""
    return {name: claim.to_dict() for name, claim in claims.items()}


def claim_problems(claims: PseudonymClaims | None, person: Any, counted_as: Any) -> list[str]:
    """Compare the entry with the column by which the same certificate tells persons apart."""
    if claims is None and person is None:
        return []
    statements = {
        "the column that tells persons apart is not the one with pseudonyms": [*(claims or ())] == [person],
        "the certificate counts rows, although pseudonyms tell persons apart": counted_as == "persons",
        "what the certificate says about pseudonyms is not what tclose says": (
            all(claim.is_known for claim in (claims or {}).values())
        ),
    }
    return [problem for problem, holds in statements.items() if not holds]


def release_problems(table: CodedTable) -> list[str]:
    """Say what is wrong about the pseudonyms of a published table, if it has any."""
    person = table.policy.person
    if person is None:
        return []
    apart = persons_apart(table, table.classes)
    problems = [f"rows of {counted(apart, 'person')} are in several classes"] if apart else []
    if not are_pseudonyms(table.frame[person]):
        problems.append(f"cells of '{legible(person)}' are no pseudonyms")
    return problems


def linkability(name: str) -> str:
    """Warn that pseudonyms link rows and releases."""
    return (
        f"the pseudonyms of '{legible(name)}' link all rows of a person, in this release and in every other that was "
        "made with the same key: use one key for releases that may be linked, and another one for all others"
    )
