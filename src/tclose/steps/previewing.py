"""What a setting would mean, before any release is made: quick answers for a screen that follows the steward's hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tclose.distance.worst import equal_costs, line_costs, most_of, path_costs
from tclose.errors import InputError
from tclose.table.hierarchy import Hierarchy
from tclose.types import Floats

LINES = ("ordered", "value", "quantiles")
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

    The distance is that of the policy; "quantiles" stands for one between bins of equally many rows.
    Where values lie on a line, the class leans to the end whose share rises most; else to the rarest bar. Each bar
    counts as one value, so the answer is exact where every bar is one value and close to it elsewhere.

    >>> bars = [{"label": "no", "rows": 80}, {"label": "yes", "rows": 20}]
    >>> worst_allowed(bars, "equal", 0.1).after
    0.3
    """
    rows = np.array([bar["rows"] for bar in bars], dtype=np.float64)
    if not rows.sum():
        raise InputError("there are no values to draw")
    shares, costs = rows / rows.sum(), _costs(bars, distance, hierarchy)
    ends = (0, len(bars) - 1) if distance in LINES else (int(np.argmin(shares)),)
    classes = {place: most_of(shares, costs[:, place], place, t) for place in ends}
    place = max(classes, key=lambda end: classes[end][end] - shares[end])
    leans: Direction = "value" if len(ends) == 1 else "low" if place == 0 else "high"
    own = tuple(round(share, 9) for share in classes[place].tolist())
    return WorstClass(tuple(bar["label"] for bar in bars), tuple(shares.tolist()), own, place, leans)


def _costs(bars: Sequence[Mapping[str, Any]], distance: str, hierarchy: str | Path | None) -> Floats:
    if distance == "equal":
        return equal_costs(len(bars))
    if distance == "quantiles":
        rows = np.array([bar["rows"] for bar in bars], dtype=np.float64)
        return line_costs((np.cumsum(rows) - rows / 2) / rows.sum())
    if distance in ("ordered", "value"):
        places = [bar.get("rank" if distance == "ordered" else "place") for bar in bars]
        known = np.array([number for number in places if number is not None], dtype=np.float64)
        return line_costs(known if len(known) == len(bars) else np.linspace(0.0, 1.0, len(bars)))
    if distance == "hierarchical" and hierarchy is not None:
        return _hierarchy_costs(bars, Hierarchy.load(Path(hierarchy)))
    raise InputError("there is no drawing for this distance")


def _hierarchy_costs(bars: Sequence[Mapping[str, Any]], hierarchy: Hierarchy) -> Floats:
    """Return the costs between bars; a bar of several values meets all others at the root."""
    paths = {path[0]: path for path in hierarchy.rows()}
    root = hierarchy.labels[-1][0]
    return path_costs([paths.get(bar["label"], (*[bar["label"]] * hierarchy.height, root)) for bar in bars])
