"""What an adversary learns from a table: one file per attack, each of which declares itself."""

from tclose.measure.attack.base import Attack, ExposedClass, Finding, Scene, Secret
from tclose.measure.attack.results import ATTACKS, K_ANONYMOUS, RAW, RELEASE, AttackResult, Attacks, attack_results

__all__ = [
    "ATTACKS",
    "K_ANONYMOUS",
    "RAW",
    "RELEASE",
    "Attack",
    "AttackResult",
    "Attacks",
    "ExposedClass",
    "Finding",
    "Scene",
    "Secret",
    "attack_results",
]
