"""Cells below a limit, such as <0.2: placed as numbers, and published as a range from 0 to the limit, or a bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import polars as pl

from tclose.errors import PolicyError
from tclose.policy import Bins, Quasi
from tclose.policy.below import Below
from tclose.policy.settings import join
from tclose.table.builders import spell


class Placed(NamedTuple):
    """Different cells, those below a limit written as numbers, and the largest limit; None where none occurs."""

    texts: pl.Series
    limit: Fraction | None


def placed(texts: pl.Series, below: Below | None) -> Placed:
    """Write the cells below a limit as the numbers at which they are placed."""
    if below is None or not len(texts):
        return Placed(texts, None)
    suspects = texts.filter(texts.str.contains(r"^\s*[<≤]")).to_list()
    places = {cell: place for cell in suspects if (place := below.place_of(cell)) is not None}
    if not places:
        return Placed(texts, None)
    spelled = {cell: spell(number) for cell, (number, _) in places.items()}
    return Placed(texts.replace(spelled), max(limit for _, limit in places.values()))


def published_under(spec: Quasi, name: str, limit: Fraction | None) -> Quasi:
    """Return how a quasi-identifier with cells below a limit is published: all up to the limit under one name.

    So no cell below a limit is told apart from a measured number that it could be.
    """
    if limit is None:
        return spec
    bottom = limit if spec.bottom is None else max(limit, spec.bottom)
    if spec.top is not None and spec.top <= bottom:
        place = f"{join('quasi', name)}.top"
        raise PolicyError(f"top must lie above the limit {spell(limit)} of cells such as <{spell(limit)}", place=place)
    return replace(spec, bottom=bottom)


def covering(edges: Sequence[Fraction], bins: Bins, limit: Fraction | None) -> list[Fraction]:
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
                f"no bin holds everything from 0 to {shown}, as a cell below {shown} needs: "
                f"leave out the edges between 0 and {shown}, and begin at 0 or below",
                place="bins",
            )
        return list(edges)
    first = min(edges[0], Fraction(0))
    at_limit = [limit] if inside and bins.kind != "width" and limit < edges[-1] else []
    rest = sorted({*at_limit, *(edge for edge in edges[1:-1] if edge > limit or edge < 0)})
    return [first, *(edge for edge in rest if edge != first), max(edges[-1], limit)]
