"""Settings that are more than a number or a word: hierarchies by rule, cost tables, bins; and how each is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tclose.errors import Mistakes, PolicyError
from tclose.policy import settings
from tclose.policy.settings import above, between, one_of, whole

DATE_UNITS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Builder:
    """A hierarchy made by rule, `prefix` of text, `width` of number intervals, `date` units, or given as `rows`."""

    kind: Literal["prefix", "width", "date", "rows"]
    levels: tuple[Any, ...]


@dataclass(frozen=True)
class CostTable:
    """The costs between values, given in place: `costs[i][j]` between values i and j."""

    values: tuple[str, ...]
    costs: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Bins:
    """How a number is judged in bins (low, high]: by `width`, `edges`, `count` or `quantiles`."""

    kind: Literal["width", "edges", "count", "quantiles"]
    setting: Any  # a Fraction, a tuple of Fractions, a whole number, a whole number


class Recursive(NamedTuple):
    """The two numbers of recursive (c,l)-diversity."""

    c: Fraction
    l: int  # noqa: E741 - the paper's letter


@dataclass(frozen=True)
class Presence:
    """δ-presence: how likely anyone of a population may be in the table, at least and at most."""

    population: Path
    min: Fraction = Fraction(0)
    max: Fraction = Fraction(1)


@dataclass(frozen=True)
class ByGroup:
    """A threshold for each of some groups of persons; `column` holds the group of every row."""

    column: str
    t: Mapping[str, Fraction]

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The different thresholds, the strictest first."""
        return tuple(sorted(set(self.t.values())))

    def scaled(self, factor: Fraction) -> ByGroup:
        """Return every threshold multiplied by a factor, to 1 at most."""
        return ByGroup(self.column, {group: min(t * factor, Fraction(1)) for group, t in self.t.items()})


def hierarchy(value: object, place: str) -> Path | Builder:
    """Read a hierarchy: the path of a file, or a rule."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, Builder) else settings.path(value, place)
    kind, levels = _BUILDER(value, place)
    return Builder(kind, levels)  # type: ignore[arg-type]


def matrix(value: object, place: str) -> Path | CostTable:
    """Read a matrix of costs: the path of a file, or the costs themselves."""
    if isinstance(value, CostTable) or not isinstance(value, Mapping):
        return value if isinstance(value, CostTable) else settings.path(value, place)
    read = settings.table({"values": settings.names, "costs": settings.listed})(value, place)
    if set(read) != {"values", "costs"}:
        raise PolicyError("expected both, as in { values = [...], costs = [[...], ...] }", place=place)
    rows = (settings.listed(row, place) for row in read["costs"])
    return CostTable(read["values"], tuple(tuple(settings.number(cost, place) for cost in row) for row in rows))


def bins(value: object, place: str) -> Bins:
    """Read how numbers are put into bins."""
    return value if isinstance(value, Bins) else Bins(*_BINS(value, place))  # type: ignore[arg-type]


def recursive(value: object, place: str) -> Recursive:
    """Read c and l of recursive (c,l)-diversity."""
    if isinstance(value, tuple) and len(value) == 2:
        value = {"c": value[0], "l": value[1]}
    read = settings.table({"c": above(0), "l": whole(2)})(value, place)
    if set(read) != {"c", "l"}:
        raise PolicyError("expected both numbers, as in { c = 3, l = 2 }", place=place)
    return Recursive(read["c"], read["l"])


def presence(value: object, place: str) -> Presence:
    """Read the population and the limits of δ-presence."""
    if isinstance(value, Presence):
        return value
    read = settings.table({"population": settings.path, "min": between(0, 1), "max": between(0, 1)})(value, place)
    if "population" not in read:
        raise PolicyError('say whom the table is drawn from: population = "FILE"', place=place)
    if len(read) == 1:
        raise PolicyError("nothing is asked for: say max, min or both", place=place)
    found = Presence(**read)
    if found.min > found.max:
        raise PolicyError("min must not be above max", place=place)
    return found


def by_group(value: object, place: str) -> ByGroup:
    """Read the column that holds the groups, and the threshold of each group that is named."""
    if isinstance(value, ByGroup):
        value = {"column": value.column, "t": value.t}
    read = settings.table({"column": settings.text, "t": _thresholds})(value, place)
    if set(read) != {"column", "t"}:
        raise PolicyError('expected both, as in { column = "group", t = { minor = 0.1 } }', place=place)
    return ByGroup(read["column"], read["t"])


def _thresholds(value: object, place: str) -> dict[str, Fraction]:
    if not isinstance(value, Mapping) or not value:
        raise PolicyError("expected a t for each group, as in { minor = 0.1 }", place=place)
    read, mistakes = {}, Mistakes()
    for group, t in value.items():
        with mistakes.collected():
            read[str(group)] = between(0, 1)(t, settings.join(place, str(group)))
    mistakes.report()
    return read


def _rows(value: object, place: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(settings.text(cell, place) for cell in settings.listed(row, place))
        for row in settings.listed(value, place)
    )


def _prefixes(value: object, place: str) -> tuple[int, ...]:
    lengths = tuple(whole(1)(length, place) for length in settings.values(value, place))
    if any(b >= a for a, b in pairwise(lengths)):
        raise PolicyError("prefix lengths go from long to short, as in [5, 3, 1]", place=place)
    return lengths


def _widths(value: object, place: str) -> tuple[Fraction, ...]:
    widths = tuple(above(0)(width, place) for width in settings.values(value, place))
    if any(b <= a or (b / a).denominator != 1 for a, b in pairwise(widths)):
        raise PolicyError("widths rise, each a multiple of the one before, as in [5, 10, 20]", place=place)
    return widths


def _date_units(value: object, place: str) -> tuple[str, ...]:
    units = tuple(one_of(*DATE_UNITS)(unit, place) for unit in settings.values(value, place))
    if list(units) != sorted(units, key=DATE_UNITS.index):
        raise PolicyError('date units go from fine to coarse, as in ["month", "year"]', place=place)
    return units


_BINS = settings.choice(
    {"width": above(0), "edges": settings.rising, "count": whole(1), "quantiles": whole(1)},
    "{ width = 0.5 }, { edges = [0, 10, 20] }, { count = 20 }, { quantiles = 10 }",
)
_BUILDER = settings.choice(
    {"prefix": _prefixes, "width": _widths, "date": _date_units, "rows": _rows},
    'a file name, { prefix = [5, 3, 1] }, { width = [5, 10] }, { date = ["month", "year"] }',
)
