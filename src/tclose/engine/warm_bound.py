"""Compile the kernels of the search for a lower bound ahead, by searching on tiny tables."""

from __future__ import annotations

import polars as pl

from tclose.engine.bounding import BoundSearch
from tclose.policy import Policy
from tclose.table import encode
from tclose.types import Progress, silent, stretch

ROWS = 24
SECONDS = 2.0  # for each search, without the time that compiling takes
COLUMNS: dict[str, dict[str, object]] = {"age": {}, "zone": {"hierarchy": {"prefix": [2, 1]}}}
RUNS = (("age",), ("zone",), ("age", "zone"))  # quasi-identifiers; together they use every kernel


def warm_bound(progress: Progress = silent) -> int:
    """Compile every kernel of the search that is not on disk; return how many were compiled."""
    import tclose.measure.bound  # noqa: F401  (loads its kernels)
    from tclose.partition.shared.kernels import KERNELS, is_ready

    missing = sum(not is_ready(kernel) for kernel in KERNELS)
    for number, names in enumerate(RUNS if missing else ()):
        _search(names, stretch(progress, number / len(RUNS), (number + 1) / len(RUNS)))
    return missing


def _search(names: tuple[str, ...], progress: Progress) -> None:
    numbers = range(ROWS)
    columns = {
        "age": list(numbers),
        "zone": [f"{number % 4}{number % 3}" for number in numbers],
        "pay": [number % 6 for number in numbers],
        "illness": ["abc"[number % 3] for number in numbers],
    }
    sensitive = {"pay": {"t": 0.1}, "illness": {"t": 0.05, "distance": "equal"}}
    policy = Policy.from_dict({"quasi": {name: COLUMNS[name] for name in names}, "sensitive": sensitive, "k": 2})
    table = encode(pl.DataFrame(columns)[[*names, *sensitive]], policy)
    BoundSearch.of(table, policy, SECONDS).run(progress)
