"""What this installation has: versions, extras, cores, a folder for compiled kernels, and kernels compiled ahead."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from tclose.partition.shared.compile_cache import compiled_each_time, state_of_folder
from tclose.policy import Policy
from tclose.run import anonymization
from tclose.run.bound_search import BoundSearch
from tclose.table import encode
from tclose.types import Progress, silent, stretch

NEEDED = ("numpy", "polars", "narwhals", "numba", "click", "rich")
EXTRAS = {
    "scipy": "solve",
    "scikit-learn": "learn",
    "altair": "report",
    "vl-convert-python": "report",
    "sqlglot": "sql",
    "cryptography": "sign",
    "fastexcel": "excel",
    "xlsxwriter": "excel",
    "pyreadstat": "stata",
    "duckdb": "database",
    "adbc-driver-postgresql": "database",
}


@dataclass(frozen=True)
class Health:
    """What is installed, in which version, and what could be."""

    tclose: str | None
    python: str
    system: str
    cores: int | None
    needed: Mapping[str, str | None]
    extras: Mapping[str, str | None]
    kernels: str | None  # the folder in which compiled kernels are kept; None if there is no private one
    kernels_state: str  # who else can write to it, or why there is none

    @property
    def healthy(self) -> bool:
        """Whether everything that is needed is there."""
        return all(self.needed.values())

    @property
    def advice(self) -> list[str]:
        """One line for each extra that is absent, and for kernels that cannot be kept."""
        lines = [
            f"{name} is not installed: pip install 'tclose[{extra}]'"
            for name, extra in EXTRAS.items()
            if not self.extras[name]
        ]
        return lines if self.kernels else [*lines, compiled_each_time()]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**asdict(self), "healthy": self.healthy}


def doctor() -> Health:
    """Return what is installed, and what could be."""
    folder, state = state_of_folder()
    return Health(
        tclose=_version("tclose"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count(),
        needed={name: _version(name) for name in NEEDED},
        extras={name: _version(name) for name in EXTRAS},
        kernels=None if folder is None else str(folder),
        kernels_state=state,
    )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


# Kernels of the search for a lower bound, compiled ahead by searching on tiny tables


BOUND_ROWS = 24
BOUND_SECONDS = 2.0  # for each search, without the time that compiling takes
BOUND_COLUMNS: dict[str, dict[str, object]] = {"age": {}, "zone": {"hierarchy": {"prefix": [2, 1]}}}
BOUND_RUNS = (("age",), ("zone",), ("age", "zone"))  # quasi-identifiers; together they use every kernel


def warm_bound(progress: Progress = silent) -> int:
    """Compile every kernel of the search that is not on disk; return how many were compiled."""
    import tclose.measure.bound  # noqa: F401  (loads its kernels)
    from tclose.partition.shared.kernels import KERNELS, is_ready

    missing = sum(not is_ready(kernel) for kernel in KERNELS)
    for number, names in enumerate(BOUND_RUNS if missing else ()):
        _tiny_search(names, stretch(progress, number / len(BOUND_RUNS), (number + 1) / len(BOUND_RUNS)))
    return missing


def _tiny_search(names: tuple[str, ...], progress: Progress) -> None:
    numbers = range(BOUND_ROWS)
    columns = {
        "age": list(numbers),
        "zone": [f"{number % 4}{number % 3}" for number in numbers],
        "pay": [number % 6 for number in numbers],
        "illness": ["abc"[number % 3] for number in numbers],
    }
    sensitive = {"pay": {"t": 0.1}, "illness": {"t": 0.05, "distance": "equal"}}
    policy = Policy.from_dict({"quasi": {name: BOUND_COLUMNS[name] for name in names}, "sensitive": sensitive, "k": 2})
    table = encode(pl.DataFrame(columns)[[*names, *sensitive]], policy)
    BoundSearch.of(table, policy, BOUND_SECONDS).run(progress)


# Kernels of the exchange attack, compiled ahead by attacking a tiny release


EXCHANGE_ROWS = 40


def warm_exchange(progress: Progress = silent) -> int:
    """Compile every kernel of the attack that is not on disk; return how many were compiled."""
    import tclose.measure.exchange  # noqa: F401  (loads its kernels)
    from tclose.partition.shared.kernels import KERNELS, is_ready

    missing = sum(not is_ready(kernel) for kernel in KERNELS)
    if missing:
        numbers = range(EXCHANGE_ROWS)
        columns = {
            "age": [number * 7 % EXCHANGE_ROWS for number in numbers],
            "place": [number * 3 % EXCHANGE_ROWS for number in numbers],
        }
        table = pl.DataFrame({**columns, "ill": ["yes" if number % 3 else "no" for number in numbers]})
        policy = Policy.from_dict({"quasi": list(columns), "sensitive": {"ill": {"t": 0.2}}, "k": 3})
        release = anonymization.anonymize(table, policy, method="mondrian")
        anonymization.attack(release, original=table, policy=policy, progress=progress)
    return missing
