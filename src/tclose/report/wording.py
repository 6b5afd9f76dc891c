"""How the page spells requirements and shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.policy import LEVELS


def percent(share: float) -> str:
    """Spell a share; what is not nothing never reads as 0, nor what is not all as 100 %.

    >>> percent(0.716), percent(0.0), percent(0.0001), percent(0.99999)
    ('71.6 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001 or share > 0.999:
        return "under 0.1 %" if share < 0.5 else "over 99.9 %"
    return f"{100 * share:.1f} %"


def asked(required: Any) -> str:
    """Spell what a model requires."""
    if isinstance(required, Mapping):
        return ", ".join(f"{name} = {level}" for name, level in required.items())
    return str(required)


def in_words(spec: Mapping[str, Any]) -> str:
    """Spell what is asked of a sensitive attribute."""
    return ", ".join(f"{name} = {asked(spec[name])}" for name in LEVELS if spec.get(name) is not None)


def level(spelled: Any) -> float:
    """Read a level as the certificate spells it: a number, or text such as 1/3."""
    numerator, _, denominator = str(spelled).partition("/")
    return float(numerator) / float(denominator or 1)
