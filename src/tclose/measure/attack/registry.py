"""All attacks, in the order in which they are shown."""

from __future__ import annotations

from tclose.measure.attack import (
    background,
    differencing,
    exchange,
    homogeneity,
    intersection,
    joining,
    linkage,
    membership,
    minimality,
    rarity,
    similarity,
    skewness,
    together,
)
from tclose.measure.attack.base import Attack

ATTACKS: tuple[Attack, ...] = (
    homogeneity.ATTACK,
    background.ATTACK,
    skewness.ATTACK,
    together.ATTACK,
    similarity.ATTACK,
    linkage.PROSECUTOR,
    linkage.JOURNALIST,
    linkage.MARKETER,
    linkage.UNIQUENESS,
    joining.ATTACK,
    minimality.ATTACK,
    exchange.ATTACK,
    intersection.ATTACK,
    differencing.ATTACK,
    membership.ATTACK,
    rarity.ATTACK,
)
