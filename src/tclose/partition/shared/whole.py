"""The table that a problem is a part of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Whole:
    """How many rows the whole table has, and the share of t that classes may use up, if one was chosen for it."""

    rows: int
    share: float | None = None
