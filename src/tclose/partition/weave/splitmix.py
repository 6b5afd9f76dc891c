"""Random numbers inside kernels: SplitMix64 (Steele, Lea and Flood 2014), with its state in an array of one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import part

Generator = NDArray[np.uint64]


def seeded(seed: int) -> Generator:
    """Return the state of a generator."""
    return np.array([seed], dtype=np.uint64)


@part
def uniform(generator: Generator) -> float:
    """Return a number above 0 and below 1."""
    generator[0] += np.uint64(0x9E3779B97F4A7C15)
    x = generator[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return (float(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@part
def integer_below(generator: Generator, bound: int) -> int:
    """Return a whole number from 0 up to, but not including, the bound."""
    return int(uniform(generator) * bound)
