"""What this installation has: versions, extras, cores, and a folder for compiled kernels."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tclose.partition.shared.code_folder import compiled_each_time, state_of_folder

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


def examine() -> Health:
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
