"""The claims of a certificate: the classes of a table, how far each model is met, random swaps and pseudonyms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

from tclose.measure.information_loss import rounded
from tclose.messages import say
from tclose.partition import METHODS
from tclose.policy import Policy
from tclose.policy.model import HOTTEST
from tclose.policy.settings import exact, spelled
from tclose.privacy.results import CheckResult
from tclose.table import CodedTable
from tclose.table.persons import BITS, LENGTH, SHOWN, PseudonymKey, are_pseudonyms, check_kept_by_person, persons_apart
from tclose.words import counted, legible

# Classes and models


Number = int | float | str  # as JSON has it; text where no JSON number is exact, such as "1/3"


class ClaimEntry:
    """An entry of a certificate: its fields are the keys that JSON has, in their order."""

    __match_args__: ClassVar[tuple[str, ...]]

    @classmethod
    def from_dict(cls, said: Any) -> Self:
        """Read an entry; what is not there is None."""
        given = said if isinstance(said, Mapping) else {}
        return cls(*(given.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class AttributeClaim(ClaimEntry):
    """What a certificate says about one sensitive attribute."""

    distance: str | None
    t: Number | None
    closeness: float | None
    closeness_exact: str | None
    satisfied: bool | None
    worst_class: int | None


@dataclass(frozen=True)
class ModelClaim(ClaimEntry):
    """What a certificate says about one model: the level that is required, and the one that is reached."""

    model: str | None
    attribute: str | None
    required: Number | Mapping[str, Number] | None
    reached: Number | None
    satisfied: bool | None

    @classmethod
    def from_dict(cls, given: Any) -> ModelClaim:
        """Read a claim; what is not there is None."""
        said = given if isinstance(given, Mapping) else {}
        if not all(isinstance(said.get(name), str | None) for name in ("model", "attribute")):
            raise ValueError("a name is not text")
        return super().from_dict(said)


@dataclass(frozen=True)
class Claims:
    """What a certificate says about the classes of a table."""

    rows: int | None
    classes: int | None
    smallest_class: int | None
    satisfied: bool | None
    sensitive: Mapping[str, AttributeClaim]
    models: tuple[ModelClaim, ...]
    joint: Mapping[str, AttributeClaim] = field(default_factory=dict)  # of attributes together

    @property
    def attributes(self) -> Mapping[str, AttributeClaim]:
        """What is claimed of each sensitive attribute, then of attributes together."""
        return {**self.sensitive, **self.joint}

    @property
    def limits(self) -> dict[str, Number]:
        """The largest distance that any class may have from the whole table, of each attribute that has such a limit.

        With n, t does not bind every class: see `supersets`.
        """
        required = {str(claim.attribute): claim.required for claim in self.models if claim.model == "t"}
        return {name: t for name, t in required.items() if isinstance(t, int | float | str)}

    @property
    def supersets(self) -> dict[str, ModelClaim]:
        """What is claimed of (n,t)-closeness, by attribute."""
        return {str(claim.attribute): claim for claim in self.models if claim.model == "(n,t)"}

    @classmethod
    def of(cls, result: CheckResult) -> Claims:
        """Claim what was found."""
        return cls(
            result.rows,
            result.classes,
            result.smallest_class,
            result.satisfied,
            {name: AttributeClaim.from_dict(finding.to_dict()) for name, finding in result.sensitive.items()},
            tuple(ModelClaim.from_dict(finding.to_dict()) for finding in result.models),
            {name: AttributeClaim.from_dict(finding.to_dict()) for name, finding in result.joint.items()},
        )

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Claims:
        """Read claims; what is not there is None, or empty."""
        models = said.get("models")
        return cls(
            said.get("rows"),
            said.get("classes"),
            said.get("smallest_class"),
            said.get("satisfied"),
            _attribute_claims(said.get("sensitive")),
            tuple(ModelClaim.from_dict(claim) for claim in models) if isinstance(models, list) else (),
            _attribute_claims(said.get("joint")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the claims as JSON has them."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "satisfied": self.satisfied,
            "sensitive": {name: claim.to_dict() for name, claim in self.sensitive.items()},
            **({"joint": {name: claim.to_dict() for name, claim in self.joint.items()}} if self.joint else {}),
            "models": [claim.to_dict() for claim in self.models],
        }


def _attribute_claims(given: Any) -> dict[str, AttributeClaim]:
    said = given if isinstance(given, Mapping) else {}
    return {name: AttributeClaim.from_dict(claim) for name, claim in said.items()}


@dataclass(frozen=True)
class BatchClaim:
    """The rows that a release adds to the one before: anyone who has both can count them."""

    number: int  # of additions so far
    rows: int
    joined: int  # classes of the release before
    formed: int  # new classes
    classes_formed: int

    @classmethod
    def from_dict(cls, given: Any) -> BatchClaim | None:
        """Read what a certificate says; None where it says nothing."""
        if given is None:
            return None
        figures = [given[name] for name in cls.__match_args__]
        if any(isinstance(figure, bool) or not isinstance(figure, int) or figure < 0 for figure in figures):
            raise ValueError("not a batch")
        return cls(*figures)


# `temper`: what was asked for, what it claims to be, and what it cost


MITIGATION = "mitigation, not a guarantee"


@dataclass(frozen=True)
class Tempering(ClaimEntry):
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
    def from_dict(cls, said: Any) -> Tempering:
        """Read the entry of a certificate."""
        if not isinstance(said, Mapping):
            raise ValueError("not an entry about temper")
        return super().from_dict(said)

    @property
    def words(self) -> str:
        """The same, for people."""
        return say(
            "temper = {share}: rows were swapped at random between classes, against an adversary who knows "
            "how classes are formed. This is a {mitigation}. Detail lost (GCP, lower is better): "
            "{gcp_before} before the swaps, {gcp_after} after them.",
            share=self.share,
            mitigation=say(MITIGATION),
            gcp_before=self.gcp_before,
            gcp_after=self.gcp_after,
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


# Pseudonyms: what they mean for people, and what `verify` can tell of them


ALGORITHM = "HMAC-SHA-256"
LINKABLE = (
    "rows with the same pseudonym are rows of one person, in this release and in every other that was made with the "
    "same key; the guarantee is about this release alone"
)
FINGERPRINT = re.compile(rf"[0-9a-f]{{{SHOWN}}}")


@dataclass(frozen=True)
class PseudonymClaim(ClaimEntry):
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
        return super().from_dict(said)

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
    problems: list[str] = (
        [say("rows of {persons} are in several classes", persons=counted(apart, "person"))] if apart else []
    )
    if not are_pseudonyms(table.frame[person]):
        problems.append(say("cells of '{person}' are no pseudonyms", person=legible(person)))
    return problems


def linkability(name: str) -> str:
    """Warn that pseudonyms link rows and releases."""
    return say(
        "the pseudonyms of '{name}' link all rows of a person, in this release and in every other that was "
        "made with the same key: use one key for releases that may be linked, and another one for all "
        "others",
        name=legible(name),
    )
