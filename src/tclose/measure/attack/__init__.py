"""What an adversary gets out of a table: one file per attack, each of which declares itself."""

from tclose.measure.attack import (
    background,
    homogeneity,
    intersection,
    joining,
    linkage,
    minimality,
    rarity,
    similarity,
    skewness,
)
from tclose.measure.attack.base import Attack, Finding, Named, Scene, Secret

ATTACKS = (
    homogeneity.ATTACK,
    background.ATTACK,
    skewness.ATTACK,
    similarity.ATTACK,
    linkage.PROSECUTOR,
    linkage.JOURNALIST,
    linkage.MARKETER,
    linkage.UNIQUENESS,
    joining.ATTACK,
    minimality.ATTACK,
    intersection.ATTACK,
    rarity.ATTACK,
)

__all__ = ["ATTACKS", "Attack", "Finding", "Named", "Scene", "Secret"]
