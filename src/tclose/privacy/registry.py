"""The privacy models, in the order of the certificate: how each is made from a policy, and its words for people.

A new model is a class in a file of its own, an entry here, and its setting in `policy/model.py`. Everything else
(methods, judge, certificate, terminal, page) reads what the class declares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclose.distance import Distance
from tclose.messages import joined, say
from tclose.policy import Sensitive
from tclose.privacy.base import Model, Sign
from tclose.privacy.divergence import KLDivergence
from tclose.privacy.kanonymity import Alpha, KAnonymity
from tclose.privacy.ldiversity import DistinctL, EntropyL, RecursiveCL
from tclose.privacy.likeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from tclose.privacy.tcloseness import AverageTCloseness, NTCloseness, TCloseness, TClosenessByGroup
from tclose.types import Ints
from tclose.words import figure, legible, number


@dataclass(frozen=True, eq=False)
class Circumstances:
    """What a model may need beside the policy's setting."""

    distance: Distance
    supersets: Sequence[Ints] = ()  # groupings of the classes, for (n,t)-closeness
    persons: Ints | None = None  # how many persons each class has, where the policy names persons


Maker = Callable[[Sensitive, Circumstances], Model | None]


@dataclass(frozen=True)
class Requirement:
    """One thing that a policy can require: its key in a certificate, its title for people, and how levels compare."""

    name: str
    title: str
    sign: Sign
    make: Maker | None = None  # the model of one attribute, if the policy asks for it; k and suppress are the table's
    compared: str = ""  # of a requirement with several numbers: the one that is compared; none where each is
    persons_imply_rows: bool = True
    counts_persons: bool = False

    @classmethod
    def of(cls, kind: Any, make: Maker | None = None, compared: str = "") -> Requirement:
        """Return the entry of a model, with what its class declares."""
        return cls(kind.name, kind.title, kind.sign, make, compared, kind.persons_imply_rows, kind.counts_persons)

    def words(self, required: Any) -> str:
        """Write a required level for people, as the library, a policy or a certificate has it.

        >>> requirement("t").words(0.15), requirement("recursive").words({"c": 3, "l": 2})
        ('≤ 0.15', 'l = 2, < 3')
        """
        if not isinstance(required, Mapping):
            return say("{sign} {level}", sign=self.sign, level=_spelled(required))
        if not self.compared:
            each = [(legible(name), _spelled(part)) for name, part in required.items()]
            return joined(
                ", ", [say("{name} {sign} {level}", name=name, sign=self.sign, level=level) for name, level in each]
            )
        others = [(name, _spelled(part)) for name, part in required.items() if name != self.compared]
        listed = [say("{name} = {level}", name=name, level=level) for name, level in others]
        return joined(", ", [*listed, say("{sign} {level}", sign=self.sign, level=_spelled(required[self.compared]))])


def _spelled(level: Any) -> str:
    return figure(level) if isinstance(level, str) else number(level)


def _by_name(kind: Any, make: Callable[[Any, Circumstances], Model] | None = None, compared: str = "") -> Requirement:
    """Return the entry of a model whose setting in the policy has the model's own name."""

    def made(spec: Sensitive, given: Circumstances) -> Model | None:
        level = getattr(spec, kind.name)
        if level is None:
            return None
        model: Model = kind(level) if make is None else make(level, given)
        return model

    return Requirement.of(kind, made, compared)


def _t(spec: Sensitive, given: Circumstances) -> Model | None:
    return TCloseness(spec.t, given.distance) if spec.t is not None and spec.n is None else None


def _nt(spec: Sensitive, given: Circumstances) -> Model | None:
    if spec.t is None or spec.n is None:
        return None
    return NTCloseness(spec.n, spec.t, given.distance, given.supersets)


_ENTRIES = (
    Requirement.of(KAnonymity),
    Requirement.of(TCloseness, _t),
    Requirement.of(NTCloseness, _nt, compared="t"),
    _by_name(TClosenessByGroup, lambda asked, given: TClosenessByGroup(asked, given.distance)),
    _by_name(AverageTCloseness, lambda level, given: AverageTCloseness(level, given.distance)),
    _by_name(Alpha),
    _by_name(BetaLikeness),
    _by_name(EnhancedBetaLikeness),
    _by_name(DeltaDisclosure),
    _by_name(KLDivergence),
    _by_name(DistinctL, lambda level, given: DistinctL(level, given.persons)),
    _by_name(EntropyL, lambda level, given: EntropyL(level, given.persons is not None)),
    _by_name(RecursiveCL, lambda level, given: RecursiveCL(level.c, level.l, given.persons is not None), compared="c"),
    Requirement("presence_boxes", "persons and classes that break the rules of presence", "≤"),
    Requirement("presence_min", "least chance of being in the table", "≥"),
    Requirement("presence_max", "largest chance of being in the table", "≤"),
    Requirement("suppress", "share of rows withheld", "≤"),
)
MODELS = {entry.name: entry for entry in _ENTRIES}


def requirement(name: str) -> Requirement:
    """Return what is known about one entry of a certificate's list of models."""
    return MODELS[name]


def models_of(
    spec: Sensitive, distance: Distance, supersets: Sequence[Ints] = (), persons: Ints | None = None
) -> list[Model]:
    """Return the models that a policy asks of one attribute, in the order of the certificate.

    `persons` holds the number of persons of each class, where the policy names persons.
    """
    given = Circumstances(distance, supersets, persons)
    makers = [entry.make for entry in _ENTRIES if entry.make is not None]
    return [model for make in makers if (model := make(spec, given)) is not None]


def class_models_of(spec: Sensitive, distance: Distance) -> list[Model]:
    """Return those models of an attribute that the counts of its values in one class decide."""
    return [
        model for model in models_of(spec, distance) if not isinstance(model, AverageTCloseness | TClosenessByGroup)
    ]
