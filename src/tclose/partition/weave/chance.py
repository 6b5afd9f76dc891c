"""Chance for compiled loops: SplitMix64 (Steele, Lea and Flood 2014), with its state in an array of one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import kernel

State = NDArray[np.uint64]


@kernel
def seeded(seed: int) -> State:
    """Return a generator's state."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed)
    return state


@kernel
def uniform(state: State) -> float:
    """Return a number above 0 and below 1."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return (float(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@kernel
def below(state: State, bound: int) -> int:
    """Return a whole number from 0 up to, without, the bound."""
    return int(uniform(state) * bound)
