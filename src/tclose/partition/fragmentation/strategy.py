"""Which cut to take next in FIND-FRAGMENTATION: the one that makes a figure of the bounds least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tclose.types import Floats

Strategy = Callable[[Floats, Floats], Floats]  # (bounds after each choice, budgets) → what to make least


def psi(bounds: Floats, budgets: Floats) -> Floats:
    """Ψ: by how much the bounds exceed their budgets (001, section 3.1)."""
    return np.asarray(np.maximum(bounds - budgets, 0).sum(axis=-1))


def plain_sum(bounds: Floats, budgets: Floats) -> Floats:
    """Return the sum of the bounds, whatever the budgets (000, section 3.4.1)."""
    return np.asarray(bounds.sum(axis=-1))


def squares(bounds: Floats, budgets: Floats) -> Floats:
    """Return the squared excesses relative to the budgets: ours, as it spends cuts where most is missing."""
    excess = np.maximum(bounds / np.maximum(budgets, 1e-12) - 1, 0)
    return np.asarray((excess**2).sum(axis=-1))


STRATEGIES: dict[str, Strategy] = {"psi": psi, "sum": plain_sum, "squares": squares}
