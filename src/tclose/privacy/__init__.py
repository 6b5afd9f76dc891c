"""One file per privacy model; each judges all classes of a table against the whole table's distribution."""

from tclose.privacy.alpha import Alpha
from tclose.privacy.average import AverageTCloseness
from tclose.privacy.base import Judgement, Model, Sign
from tclose.privacy.bygroup import TClosenessByGroup
from tclose.privacy.disclosure import DeltaDisclosure
from tclose.privacy.divergence import KLDivergence
from tclose.privacy.kanonymity import KAnonymity
from tclose.privacy.ldiversity import DistinctL, EntropyL, RecursiveCL
from tclose.privacy.levels import Level
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness
from tclose.privacy.ntcloseness import NTCloseness
from tclose.privacy.registry import Requirement, class_models_of, models_of, requirement
from tclose.privacy.rule import Rule
from tclose.privacy.tcloseness import TCloseness

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
    "Requirement",
    "Rule",
    "Sign",
    "TCloseness",
    "TClosenessByGroup",
    "class_models_of",
    "models_of",
    "requirement",
]
