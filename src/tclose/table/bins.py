"""Numbers judged in bins (low, high]; the published values stay what they are, and empty bins count."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import PolicyError
from tclose.policy import Bins
from tclose.table.builders import spell

MOST = 1_000_000


def edges_of(bins: Bins, units: NDArray[Any], scale: int, counts: NDArray[np.int64]) -> list[Fraction]:
    """Return the edges: bin i is (edges[i], edges[i + 1]].

    `units` are the different values in rising order, one unit being 10^-scale, and `counts` how often each occurs.
    """
    low, high = Fraction(int(units[0]), 10**scale), Fraction(int(units[-1]), 10**scale)
    if bins.kind == "edges":
        return list(bins.setting)
    if bins.kind == "width":
        first, last = math.ceil(low / bins.setting) - 1, math.ceil(high / bins.setting)
        _check_number(last - first)
        return [bins.setting * i for i in range(first, last + 1)]
    _check_number(bins.setting)
    if bins.kind == "count":
        width = (high - low) / bins.setting
        return [low + width * i for i in range(bins.setting + 1)] if width else [low - 1, low]
    return _quantiles(bins.setting, units, scale, counts)


def _check_number(bins: int) -> None:
    if bins > MOST:
        raise PolicyError(f"that would make {bins:,} bins, more than {MOST:,}: make them wider", place="bins")


def _quantiles(parts: int, units: NDArray[Any], scale: int, counts: NDArray[np.int64]) -> list[Fraction]:
    """Put an upper edge at each value where another of `parts` equal shares is full."""
    seen, total = np.cumsum(counts), int(counts.sum())
    needed = [-(-total * part // parts) for part in range(1, parts + 1)]
    uppers = sorted({int(np.searchsorted(seen, need)) for need in needed})
    return [Fraction(int(units[i]), 10**scale) for i in [0, *uppers]]


def bin_of(edges: list[Fraction], units: NDArray[Any], scale: int, *, learned: bool) -> NDArray[np.int64]:
    """Return the bin of each value; with learned edges the smallest value belongs to the first bin.

    A value below all bins has -1, one above all the number of bins.
    """
    common = math.lcm(10**scale, *(edge.denominator for edge in edges))
    marks = np.array([int(edge * common) for edge in edges], dtype=object)
    places = np.searchsorted(marks, units.astype(object) * (common // 10**scale), side="left") - 1
    return np.asarray(np.maximum(places, 0) if learned else places, dtype=np.int64)


def span_of(edges: list[Fraction]) -> str:
    """Spell where the bins begin and end."""
    return f"({spell(edges[0])}, {spell(edges[-1])}]"


def labels_of(edges: list[Fraction], *, learned: bool) -> tuple[str, ...]:
    """Spell the bins; with learned edges the smallest value belongs to the first."""
    spelled = [spell(edge) for edge in edges]
    labels = [f"({low}, {high}]" for low, high in pairwise(spelled)]
    return ("[" + labels[0][1:], *labels[1:]) if learned else tuple(labels)
