"""What a certificate says about the classes of a table: their number and sizes, and how far each model is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclose.privacy.results import AttributeFinding, CheckResult, ModelFinding

Number = int | float | str  # as JSON has it; text where no JSON number is exact, such as "1/3"


@dataclass(frozen=True)
class AttributeClaim:
    """What a certificate says about one sensitive attribute."""

    distance: str | None
    t: Number | None
    closeness: float | None
    closeness_exact: str | None
    satisfied: bool | None
    worst_class: int | None

    @classmethod
    def of(cls, finding: AttributeFinding) -> AttributeClaim:
        """Claim what was found."""
        return cls.from_dict(finding.to_dict())

    @classmethod
    def from_dict(cls, given: Any) -> AttributeClaim:
        """Read a claim; what is not there is None."""
        said = given if isinstance(given, Mapping) else {}
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class ModelClaim:
    """What a certificate says about one model: the level that is required, and the one that is reached."""

    model: str | None
    attribute: str | None
    required: Number | Mapping[str, Number] | None
    reached: Number | None
    satisfied: bool | None

    @classmethod
    def of(cls, finding: ModelFinding) -> ModelClaim:
        """Claim what was found."""
        return cls.from_dict(finding.to_dict())

    @classmethod
    def from_dict(cls, given: Any) -> ModelClaim:
        """Read a claim; what is not there is None."""
        said = given if isinstance(given, Mapping) else {}
        if not all(isinstance(said.get(name), str | None) for name in ("model", "attribute")):
            raise ValueError("a name is not text")
        return cls(*(said.get(name) for name in cls.__match_args__))

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON has it."""
        return dict(vars(self))


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
            {name: AttributeClaim.of(finding) for name, finding in result.sensitive.items()},
            tuple(ModelClaim.of(finding) for finding in result.models),
            {name: AttributeClaim.of(finding) for name, finding in result.joint.items()},
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
class Batch:
    """The rows that a release adds to the one before: anyone who has both can count them."""

    number: int  # of additions so far
    rows: int
    joined: int  # classes of the release before
    formed: int  # new classes
    classes_formed: int

    @classmethod
    def from_dict(cls, given: Any) -> Batch | None:
        """Read what a certificate says; None where it says nothing."""
        if given is None:
            return None
        figures = [given[name] for name in cls.__match_args__]
        if any(isinstance(figure, bool) or not isinstance(figure, int) or figure < 0 for figure in figures):
            raise ValueError("not a batch")
        return cls(*figures)
