"""One file per privacy model; each judges all classes of a table against the whole table's distribution."""

from tclose.privacy.alpha import Alpha
from tclose.privacy.asked import distribution_models, diversity_models
from tclose.privacy.base import Judgement, Level, Model, Sign
from tclose.privacy.disclosure import DeltaDisclosure
from tclose.privacy.kanonymity import KAnonymity
from tclose.privacy.ldiversity import DistinctL, EntropyL, RecursiveCL
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness
from tclose.privacy.ntcloseness import NTCloseness
from tclose.privacy.rule import Rule
from tclose.privacy.tcloseness import TCloseness

__all__ = [
    "Alpha",
    "BetaLikeness",
    "DeltaDisclosure",
    "DistinctL",
    "EnhancedBetaLikeness",
    "EntropyL",
    "Judgement",
    "KAnonymity",
    "Level",
    "Model",
    "NTCloseness",
    "RecursiveCL",
    "Rule",
    "Sign",
    "TCloseness",
    "distribution_models",
    "diversity_models",
]
