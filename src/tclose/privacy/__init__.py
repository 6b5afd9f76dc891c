"""One file per privacy model; each judges all classes of a table against the whole table's distribution."""

from tclose.privacy.base import Judgement, Level, Model, Rule, Sign
from tclose.privacy.divergence import KLDivergence
from tclose.privacy.kanonymity import Alpha, KAnonymity
from tclose.privacy.ldiversity import DistinctL, EntropyL, RecursiveCL
from tclose.privacy.likeness import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from tclose.privacy.registry import class_models_of, models_of, requirement
from tclose.privacy.tcloseness import AverageTCloseness, NTCloseness, TCloseness, TClosenessByGroup

__all__ = [
    "Alpha",
    "AverageTCloseness",
    "BetaLikeness",
    "DeltaDisclosure",
    "DistinctL",
    "EnhancedBetaLikeness",
    "EntropyL",
    "Judgement",
    "KAnonymity",
    "KLDivergence",
    "Level",
    "Model",
    "NTCloseness",
    "RecursiveCL",
    "Rule",
    "Sign",
    "TCloseness",
    "TClosenessByGroup",
    "class_models_of",
    "models_of",
    "requirement",
]
