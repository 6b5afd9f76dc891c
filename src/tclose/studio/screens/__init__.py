"""The screens, in the order in which a steward meets them; each has its template of the same name."""

from __future__ import annotations

from tclose.studio.pages import Screen
from tclose.studio.screens import candidates, policy, projects, publication

SCREENS: tuple[Screen, ...] = (
    projects.OPEN,
    policy.COLUMNS,
    policy.QUASI,
    policy.SENSITIVE,
    policy.RISK,
    candidates.TRY,
    candidates.INSIDE,
    candidates.ATTACK,
    publication.PUBLISH,
    publication.VERIFY,
)
