"""From what a policy asks of one attribute to the models that judge it."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.distance import Distance
from tclose.policy import Sensitive
from tclose.privacy.alpha import Alpha
from tclose.privacy.base import Model
from tclose.privacy.disclosure import DeltaDisclosure
from tclose.privacy.ldiversity import DistinctL, EntropyL, RecursiveCL
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness
from tclose.privacy.ntcloseness import NTCloseness
from tclose.privacy.tcloseness import TCloseness
from tclose.types import Ints


def distribution_models(spec: Sensitive, distance: Distance, supersets: Sequence[Ints]) -> list[Model]:
    """Return the models that compare a class's rows with the whole table's, or bound a value's share of rows."""
    models: list[Model] = []
    if spec.t is not None and spec.n is None:
        models.append(TCloseness(spec.t, distance))
    if spec.t is not None and spec.n is not None:
        models.append(NTCloseness(spec.n, spec.t, distance, supersets))
    if spec.alpha is not None:
        models.append(Alpha(spec.alpha))
    if spec.beta is not None:
        models.append(BetaLikeness(spec.beta))
    if spec.enhanced_beta is not None:
        models.append(EnhancedBetaLikeness(spec.enhanced_beta))
    if spec.delta is not None:
        models.append(DeltaDisclosure(spec.delta))
    return models


def diversity_models(spec: Sensitive, persons: Ints | None) -> list[Model]:
    """Return the models that count how many values, from how many persons, a class shows."""
    models: list[Model] = []
    if spec.l is not None:
        models.append(DistinctL(spec.l, persons))
    if spec.entropy_l is not None:
        models.append(EntropyL(spec.entropy_l, persons is not None))
    if spec.recursive is not None:
        models.append(RecursiveCL(*spec.recursive, persons is not None))
    return models
