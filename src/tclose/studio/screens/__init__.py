"""The screens, in the order in which a steward meets them: one file each, with its template of the same name."""

from __future__ import annotations

from tclose.studio.screens import (
    attacking,
    columns,
    inside,
    opening,
    publishing,
    quasi,
    risk,
    sensitive,
    trying,
    verifying,
)
from tclose.studio.screens.base import Screen

SCREENS: tuple[Screen, ...] = (
    opening.SCREEN,
    columns.SCREEN,
    quasi.SCREEN,
    sensitive.SCREEN,
    risk.SCREEN,
    trying.SCREEN,
    inside.SCREEN,
    attacking.SCREEN,
    publishing.SCREEN,
    verifying.SCREEN,
)
