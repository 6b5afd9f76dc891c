"""What a setting would mean, before any release is made: quick answers for a screen that follows the steward's hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tclose.distance import Metric
from tclose.distance.worst import most, worst_class
from tclose.errors import InputError
from tclose.policy.settings import exact
from tclose.table.hierarchy import Hierarchy
from tclose.types import Floats, Ints

LINES = ("ordered", "value", "quantiles")
FINE = 1_000_000  # parts of the distance between the ends of a line, to which bars are placed
Direction = Literal["value", "low", "high"]


@dataclass(frozen=True)
class WorstClass:
    """The distribution of a table, and the one of the worst class that t allows, over the same bars."""

    labels: tuple[str, ...]
    table: tuple[float, ...]
    own: tuple[float, ...]
    place: int  # the bar that the class shows most
    leans: Direction  # whether that bar is one end of a line

    @property
    def before(self) -> float:
        """The share of the chosen bar in the table."""
        return self.table[self.place]

    @property
    def after(self) -> float:
        """Its share in the worst class."""
        return self.own[self.place]


def worst_allowed(
    bars: Sequence[Mapping[str, Any]], distance: str, t: float, *, hierarchy: str | Path | None = None
) -> WorstClass:
    """Return the worst class that a t allows, over the bars of a look at the table.

    The distance is that of the policy; "quantiles" stands for one between bins of equally many rows. The class shows
    the bar whose share rises most, at the end of a line or inside it; of bars that rise as much, the rarest. Each bar
    counts as one value, so the answer is exact where every bar is one value and close to it elsewhere.

    >>> bars = [{"label": "no", "rows": 80}, {"label": "yes", "rows": 20}]
    >>> worst_allowed(bars, "equal", 0.1).after
    0.3
    """
    rows = np.array([bar["rows"] for bar in bars], dtype=np.int64)
    if not rows.sum():
        raise InputError("there are no values to draw")
    metric, level = _between(bars, rows, distance, hierarchy), exact(t)
    place = _rises_most(metric, rows, level)
    own = worst_class(metric, rows, place, level)
    ends = {0: "low", len(bars) - 1: "high"} if distance in LINES else {}
    leans: Any = ends.get(place, "value")
    shares = (rows / rows.sum()).tolist()
    return WorstClass(tuple(bar["label"] for bar in bars), tuple(shares), tuple(own.round(9).tolist()), place, leans)


def _rises_most(metric: Metric, rows: Ints, t: Fraction) -> int:
    """Return the bar whose share rises most in the class that shows it most."""
    shown, whole = np.flatnonzero(rows).tolist(), int(rows.sum())
    places = np.arange(len(rows))
    after = {place: most(metric, rows, places == place, t) for place in shown}
    return max(shown, key=lambda place: (after[place] - Fraction(int(rows[place]), whole), -int(rows[place])))


def _between(bars: Sequence[Mapping[str, Any]], rows: Ints, distance: str, hierarchy: str | Path | None) -> Metric:
    """Return how far bars are apart."""
    if distance == "equal":
        return Metric(1 - np.eye(len(bars), dtype=np.int64), 1)
    if distance == "quantiles":
        return _on_line((np.cumsum(rows) - rows / 2) / rows.sum())
    if distance in ("ordered", "value"):
        places = [bar.get("rank" if distance == "ordered" else "place") for bar in bars]
        known = np.array([number for number in places if number is not None], dtype=np.float64)
        return _on_line(known if len(known) == len(bars) else np.linspace(0.0, 1.0, len(bars)))
    if distance == "hierarchical" and hierarchy is not None:
        return _in_hierarchy(bars, Hierarchy.load(Path(hierarchy)))
    raise InputError("there is no drawing for this distance")


def _on_line(places: Floats) -> Metric:
    fine = (places * FINE).round().astype(np.int64)
    return Metric(np.abs(fine[:, None] - fine), FINE)


def _in_hierarchy(bars: Sequence[Mapping[str, Any]], hierarchy: Hierarchy) -> Metric:
    """Return the height at which bars meet; a bar of several values meets all others at the root."""
    paths = {path[0]: path for path in hierarchy.rows()}
    root = hierarchy.labels[-1][0]
    own = [paths.get(bar["label"], (*[bar["label"]] * hierarchy.height, root)) for bar in bars]
    levels = np.array([np.unique(labels, return_inverse=True)[1] for labels in zip(*own, strict=True)])
    apart = (levels[:, :, None] != levels[:, None, :]).sum(axis=0)
    return Metric(apart.astype(np.int64), max(len(levels) - 1, 1))
