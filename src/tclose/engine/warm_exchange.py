"""Compile the kernels of the exchange attack ahead, by attacking a tiny release."""

from __future__ import annotations

import polars as pl

from tclose.engine import memory
from tclose.policy import Policy
from tclose.types import Progress, silent

ROWS = 40


def warm_exchange(progress: Progress = silent) -> int:
    """Compile every kernel of the attack that is not on disk; return how many were compiled."""
    import tclose.measure.exchange  # noqa: F401  (loads its kernels)
    from tclose.partition.shared.kernels import KERNELS, is_ready

    missing = sum(not is_ready(kernel) for kernel in KERNELS)
    if missing:
        numbers = range(ROWS)
        columns = {"age": [number * 7 % ROWS for number in numbers], "place": [number * 3 % ROWS for number in numbers]}
        table = pl.DataFrame({**columns, "ill": ["yes" if number % 3 else "no" for number in numbers]})
        policy = Policy.from_dict({"quasi": list(columns), "sensitive": {"ill": {"t": 0.2}}, "k": 3})
        release = memory.anonymize(table, policy, method="mondrian")
        memory.attack(release, original=table, policy=policy, progress=progress)
    return missing
