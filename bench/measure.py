"""How measurements are taken and told: ratios within one run, one JSON line each, a table at the end."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version


@dataclass(frozen=True)
class Measurement:
    """One figure against its target."""

    name: str
    value: float
    target: str
    holds: bool


def seconds(work: Callable[[], object]) -> float:
    """Return how long one run takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = 7) -> float:
    """Return the median of ours/theirs over rounds that alternate; one round of each before is the warm-up."""
    ours(), theirs()
    return statistics.median(seconds(ours) / seconds(theirs) for _ in range(rounds))


def at_most(name: str, value: float, target: float) -> Measurement:
    """Tell one figure that may not exceed its target."""
    return _told(Measurement(name, round(value, 4), f"<= {target:g}", value <= target))


def at_least(name: str, value: float, target: float) -> Measurement:
    """Tell one figure that must reach its target."""
    return _told(Measurement(name, round(value, 4), f">= {target:g}", value >= target))


def _told(measurement: Measurement) -> Measurement:
    print(json.dumps(asdict(measurement)), flush=True)
    return measurement


def table(measurements: list[Measurement]) -> str:
    """Return the measurements as a Markdown table."""
    rows = [f"| {m.name} | {m.value:g} | {m.target} | {'yes' if m.holds else '**no**'} |" for m in measurements]
    return "\n".join(["| what | measured | target | holds |", "|---|---|---|---|", *rows])


def machine() -> str:
    """Return what the figures were measured on."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "numpy", "numba"))
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {versions}"
