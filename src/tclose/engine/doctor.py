"""What this installation has: versions, extras, cores."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

NEEDED = ("numpy", "polars", "narwhals", "numba", "click", "rich")
EXTRAS = {"scipy": "solve", "scikit-learn": "learn", "altair": "report", "vl-convert-python": "report"}


def examine() -> dict[str, Any]:
    """Return what is installed, and what could be."""
    needed = {name: _version(name) for name in NEEDED}
    return {
        "tclose": _version("tclose"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "needed": needed,
        "extras": {name: _version(name) for name in EXTRAS},
        "healthy": all(needed.values()),
    }


def advice(found: dict[str, Any]) -> list[str]:
    """Return one line for each extra that is absent."""
    return [
        f"{name} is not installed: pip install 'tclose[{extra}]'"
        for name, extra in EXTRAS.items()
        if not found["extras"][name]
    ]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
