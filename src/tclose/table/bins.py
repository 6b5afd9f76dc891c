"""Numbers judged in bins (low, high], and cells below a limit, such as <0.2.

The published values stay what they are, and empty bins count. Cells below a limit are placed as numbers, and published
as a range from 0 to the limit, or as a bin that holds that range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import PolicyError
from tclose.policy import Bins, Quasi
from tclose.policy.column_settings import Below
from tclose.policy.settings import join
from tclose.table.hierarchies import spell

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
        raise PolicyError(
            "that would make {bins:,} bins, more than {most:,}: make them wider", bins=bins, most=MOST, place="bins"
        )


def _quantiles(parts: int, units: NDArray[Any], scale: int, counts: NDArray[np.int64]) -> list[Fraction]:
    """Put an upper edge behind each value where another of `parts` equal shares is full.

    Edges are published, so they are rounded as far as no value changes its bin: else the largest value, which belongs
    to one row, would be read off the last bin.
    """
    seen, total = np.cumsum(counts), int(counts.sum())
    needed = [-(-total * part // parts) for part in range(1, parts + 1)]
    *uppers, last = sorted({int(np.searchsorted(seen, need)) for need in needed})
    inner = [_round_up(int(units[i]), int(units[i + 1]) - int(units[i])) for i in uppers]
    smallest, largest = int(units[0]), int(units[-1])
    first_width = int(units[uppers[0] if uppers else last]) - smallest
    last_width = largest - (int(units[uppers[-1]]) if uppers else smallest)
    edges = [-_round_up(-smallest, first_width), *inner, _round_up(largest, last_width)]
    return [Fraction(edge, 10**scale) for edge in edges]


def _round_up(number: int, room: int) -> int:
    """Round up to a multiple of the largest power of ten that is at most `room`, hence by less than `room`.

    >>> _round_up(242958, 700), _round_up(17, 1), _round_up(-742, 537), _round_up(7, 0)
    (243000, 17, -700, 7)
    """
    step = int("1" + "0" * (len(str(room)) - 1))
    return -(-number // step) * step


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


# Cells below a limit


class PlacedCells(NamedTuple):
    """Different cells, those below a limit written as numbers, and the largest limit; None where none occurs."""

    texts: pl.Series
    limit: Fraction | None


def placed_cells(texts: pl.Series, below: Below | None) -> PlacedCells:
    """Write the cells below a limit as the numbers at which they are placed."""
    if below is None or not len(texts):
        return PlacedCells(texts, None)
    suspects = texts.filter(texts.str.contains(r"^\s*[<≤]")).to_list()
    places = {cell: place for cell in suspects if (place := below.place_of(cell)) is not None}
    if not places:
        return PlacedCells(texts, None)
    spelled = {cell: spell(number) for cell, (number, _) in places.items()}
    return PlacedCells(texts.replace(spelled), max(limit for _, limit in places.values()))


def published_under(spec: Quasi, name: str, limit: Fraction | None) -> Quasi:
    """Return how a quasi-identifier with cells below a limit is published: all up to the limit under one name.

    So no cell below a limit is told apart from a measured number that it could be.
    """
    if limit is None:
        return spec
    bottom = limit if spec.bottom is None else max(limit, spec.bottom)
    if spec.top is not None and spec.top <= bottom:
        place = f"{join('quasi', name)}.top"
        raise PolicyError(
            "top must lie above the limit {spell} of cells such as <{spell}", spell=spell(limit), place=place
        )
    return replace(spec, bottom=bottom)


def edges_with_limit(edges: Sequence[Fraction], bins: Bins, limit: Fraction | None) -> list[Fraction]:
    """Return edges of bins of which one holds everything from 0 to the limit.

    Edges between the two are left out. Where learned edges are, the limit becomes one: the rows below it fill a bin.
    """
    if limit is None:
        return list(edges)
    inside = any(0 < edge < limit for edge in edges[1:-1])
    if bins.kind == "edges":
        if inside or edges[0] > 0 or edges[-1] < limit:
            shown = spell(limit)
            raise PolicyError(
                "no bin holds everything from 0 to {shown}, as a cell below {shown} needs: leave out the edges "
                "between 0 and {shown}, and begin at 0 or below",
                shown=shown,
                place="bins",
            )
        return list(edges)
    first = min(edges[0], Fraction(0))
    at_limit = [limit] if inside and bins.kind != "width" and limit < edges[-1] else []
    rest = sorted({*at_limit, *(edge for edge in edges[1:-1] if edge > limit or edge < 0)})
    return [first, *(edge for edge in rest if edge != first), max(edges[-1], limit)]
