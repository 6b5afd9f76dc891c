"""Settings of a column that are more than a number or a word, and how each is read.

They are hierarchies by rule, cost tables, bins, thresholds by group, cells below a limit, and ground distances. A cell
below a limit, such as <0.2, is a number above 0 and below its limit. It is compared as the number at which it is
placed, and published as a range or a bin that holds everything from 0 to the limit, never as that number.

How far values are apart is computed in `distance/`, whose registry has an entry of the same name for each distance
here. The table of distances holds what can be known from the policy alone. The isolated process that reads files loads
this module, so it imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from tclose.errors import Mistakes, PolicyError
from tclose.messages import say
from tclose.policy import settings
from tclose.policy.settings import NUMBER, VALUES, Setting, above, between, by_name, one_of, table_of, takes, whole

if TYPE_CHECKING:
    from tclose.policy.model import Sensitive

# Cells below a limit: the setting `below`


LIMIT = re.compile(r"\s*(?:<=?|≤)\s*(?=[0-9.,])([0-9]*)(?:[.,]([0-9]+))?\s*")
BEYOND = re.compile(r"\s*(?:>=?|≥)\s*[0-9]+(?:[.,][0-9]+)?\s*|\s*[0-9]+(?:[.,][0-9]+)?\s*\+\s*")
HALF = "half"
ANY = "<"  # among the cells that are no numbers: all cells below a limit


@dataclass(frozen=True)
class Below:
    """Where cells below a limit are placed: the number of each cell, or, without cells, half of its limit."""

    cells: Mapping[str, Fraction] | None = None

    def as_setting(self) -> Any:
        """Return the setting as a policy file has it."""
        return HALF if self.cells is None else self.cells

    @property
    def unread(self) -> tuple[str, ...]:
        """The cells that a reader of the file need not take for numbers."""
        return (ANY,) if self.cells is None else tuple(self.cells)

    def place_of(self, cell: str) -> tuple[Fraction, Fraction] | None:
        """Return the number at which a cell is placed, and its limit; None where it is no cell below a limit.

        >>> Below().place_of("<0,2")
        (Fraction(1, 10), Fraction(1, 5))
        """
        limit = limit_of(cell)
        if limit is None or (self.cells is not None and cell not in self.cells):
            return None
        return (limit / 2 if self.cells is None else self.cells[cell]), limit


def limit_of(cell: str) -> Fraction | None:
    """Return the limit of a cell such as <0.2 or <0,2; None where it is none, or can be read in two ways.

    In <1,234 and <1.234 the mark may stand before decimals or between thousands.

    >>> limit_of("< 0,2"), limit_of("<.125"), limit_of("<1,234"), limit_of("<1.234"), limit_of(">500")
    (Fraction(1, 5), Fraction(1, 8), None, None, None)
    """
    found = LIMIT.fullmatch(cell)
    if found is None:
        return None
    whole, decimals = found.groups(default="")
    if len(decimals) == 3 and whole.strip("0") and len(whole) <= 3:
        return None
    return Fraction(f"{whole or 0}.{decimals or 0}") or None


@takes(
    {"anyOf": [{"enum": [HALF]}, {"type": "object", "additionalProperties": NUMBER, "minProperties": 1}]},
    'each cell is one such as "<0.2", and its number lies above 0, and at the limit or below it',
)
def read_below(value: object, place: str) -> Below:
    """Read where cells below a limit are placed."""
    if isinstance(value, Below):
        value = value.as_setting()
    if value == HALF:
        return Below()
    if not isinstance(value, Mapping) or not value:
        raise PolicyError('expected "half", or a number for each cell, as in { "<0,2" = 0.1 }', place=place)
    numbers, mistakes = {}, Mistakes()
    for cell, number in value.items():
        with mistakes.collected():
            numbers[str(cell)] = _number(str(cell), number, settings.join(place, str(cell)))
    mistakes.report()
    return Below(numbers)


def _number(cell: str, value: object, place: str) -> Fraction:
    if BEYOND.fullmatch(cell):
        raise PolicyError(
            "this cell lies above a limit, and below is for cells under one: list it in missing, or write the limit as "
            "a number in the table (a quasi-identifier then publishes it as top = LIMIT)",
            place=place,
        )
    limit = limit_of(cell)
    if limit is None:
        raise PolicyError(
            'expected a cell such as "<0.2" or "<0,2", with a limit above 0 that can be read in one way only',
            place=place,
        )
    number = settings.number(value, place)
    if not 0 < number <= limit:
        raise PolicyError("the number must lie above 0, and at the limit or below it", place=place)
    if 10**settings.MOST_DIGITS % number.denominator:
        raise PolicyError("expected a decimal number, such as 0.1", place=place)
    return number


# Hierarchies by rule, cost tables, bins and thresholds


DATE_UNITS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Builder:
    """A hierarchy made by rule, `prefix` of text, `width` of number intervals, `date` units, or given as `rows`."""

    kind: Literal["prefix", "width", "date", "rows"]
    levels: tuple[Any, ...]

    def as_setting(self) -> Any:
        """Return the rule as a policy file has it."""
        return {self.kind: self.levels}


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

    def as_setting(self) -> Any:
        """Return the bins as a policy file has them."""
        return {self.kind: self.setting}


class Recursive(NamedTuple):
    """The two numbers of recursive (c,l)-diversity."""

    c: Fraction
    l: int  # noqa: E741 - the paper's letter

    def as_setting(self) -> Any:
        """Return the numbers as a policy file has them."""
        return self._asdict()


@dataclass(frozen=True)
class Presence:
    """δ-presence: how likely anyone of a population may be in the table, at least and at most."""

    population: Annotated[Path, Setting(settings.path, "The file of everyone whom the table is drawn from.")]
    min: Annotated[Fraction, Setting(between(0, 1), "Nobody is in the table with a smaller chance.")] = Fraction(0)
    max: Annotated[Fraction, Setting(between(0, 1), "Nobody is in the table with a larger chance.")] = Fraction(1)


_thresholds = by_name(between(0, 1), "expected a t for each group, as in {{ minor = 0.1 }}", least=1)


@dataclass(frozen=True)
class ByGroup:
    """A threshold for each of some groups of persons; `column` holds the group of every row."""

    column: Annotated[str, Setting(settings.text, "The column that holds the group of every row.")]
    t: Annotated[Mapping[str, Fraction], Setting(_thresholds, "The t of each group that is named.")]

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The different thresholds, the strictest first."""
        return tuple(sorted(set(self.t.values())))

    def scaled(self, factor: Fraction) -> ByGroup:
        """Return every threshold multiplied by a factor, to 1 at most."""
        return ByGroup(self.column, {group: min(t * factor, Fraction(1)) for group, t in self.t.items()})


@takes({"type": "array", "items": {"type": "array", "items": settings.text.schema}})
def _rows(value: object, place: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(settings.text(cell, place) for cell in settings.listed(row, place))
        for row in settings.listed(value, place)
    )


@takes({**VALUES, "items": whole(1).schema}, "lengths go from long to short")
def _prefixes(value: object, place: str) -> tuple[int, ...]:
    lengths = tuple(whole(1)(length, place) for length in settings.values(value, place))
    if any(b >= a for a, b in pairwise(lengths)):
        raise PolicyError("prefix lengths go from long to short, as in [5, 3, 1]", place=place)
    return lengths


@takes({**VALUES, "items": above(0).schema}, "widths rise, each a multiple of the one before")
def _widths(value: object, place: str) -> tuple[Fraction, ...]:
    widths = tuple(above(0)(width, place) for width in settings.values(value, place))
    if any(b <= a or (b / a).denominator != 1 for a, b in pairwise(widths)):
        raise PolicyError("widths rise, each a multiple of the one before, as in [5, 10, 20]", place=place)
    return widths


@takes({**VALUES, "items": {"enum": list(DATE_UNITS)}}, "units go from fine to coarse")
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
_MATRIX = settings.table({"values": settings.names, "costs": settings.listed}, "values", "costs")
_RECURSIVE = settings.table({"c": above(0), "l": whole(2)}, "c", "l")


@takes({"anyOf": [settings.path.schema, _BUILDER.schema]})
def hierarchy(value: object, place: str) -> Path | Builder:
    """Read a hierarchy: the path of a file, or a rule."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, Builder) else settings.path(value, place)
    kind, levels = _BUILDER(value, place)
    return Builder(kind, levels)  # type: ignore[arg-type]


@takes({"anyOf": [settings.path.schema, _MATRIX.schema]}, "costs are rows of numbers, one row for each value")
def matrix(value: object, place: str) -> Path | CostTable:
    """Read a matrix of costs: the path of a file, or the costs themselves."""
    if isinstance(value, CostTable) or not isinstance(value, Mapping):
        return value if isinstance(value, CostTable) else settings.path(value, place)
    read = _MATRIX(value, place)
    if set(read) != {"values", "costs"}:
        raise PolicyError("expected both, as in { values = [...], costs = [[...], ...] }", place=place)
    rows = (settings.listed(row, place) for row in read["costs"])
    return CostTable(read["values"], tuple(tuple(settings.number(cost, place) for cost in row) for row in rows))


@takes(_BINS.schema)
def bins(value: object, place: str) -> Bins:
    """Read how numbers are put into bins."""
    return value if isinstance(value, Bins) else Bins(*_BINS(value, place))  # type: ignore[arg-type]


@takes(_RECURSIVE.schema)
def recursive(value: object, place: str) -> Recursive:
    """Read c and l of recursive (c,l)-diversity."""
    if isinstance(value, tuple) and len(value) == 2:
        value = {"c": value[0], "l": value[1]}
    read = _RECURSIVE(value, place)
    if set(read) != {"c", "l"}:
        raise PolicyError("expected both numbers, as in { c = 3, l = 2 }", place=place)
    return Recursive(read["c"], read["l"])


@takes({**table_of(Presence).schema, "minProperties": 2}, "min is not above max")
def presence(value: object, place: str) -> Presence:
    """Read the population and the limits of δ-presence."""
    if isinstance(value, Presence):
        return value
    read = table_of(Presence)(value, place)
    if "population" not in read:
        raise PolicyError('say whom the table is drawn from: population = "FILE"', place=place)
    if len(read) == 1:
        raise PolicyError("nothing is asked for: say max, min or both", place=place)
    found = Presence(**read)
    if found.min > found.max:
        raise PolicyError("min must not be above max", place=place)
    return found


@takes(table_of(ByGroup).schema)
def by_group(value: object, place: str) -> ByGroup:
    """Read the column that holds the groups, and the threshold of each group that is named."""
    if isinstance(value, ByGroup):
        value = vars(value)
    read = table_of(ByGroup)(value, place)
    if set(read) != {"column", "t"}:
        raise PolicyError('expected both, as in { column = "group", t = { minor = 0.1 } }', place=place)
    return ByGroup(**read)


# Ground distances: one entry per distance


Domain = Literal["numbers", "values", "hierarchy", "matrix"]


@dataclass(frozen=True)
class DistanceSettings:
    """What a distance compares, and which other settings go with it.

    `domain` is where its values come from: numbers and dates (or an `order`, if it takes one) on a line, any values,
    the leaves of the `hierarchy`, or the values of the `matrix`.
    """

    domain: Domain
    takes: tuple[str, ...] = ()  # further settings that say which values there are
    missing: bool = False  # whether a missing value can be a value of its own

    @property
    def needs(self) -> str | None:
        """The setting that the distance cannot do without."""
        return self.domain if self.domain in ("hierarchy", "matrix") else None

    def allows(self, setting: str) -> bool:
        """Tell whether a setting that says which values there are goes with the distance."""
        return setting in (*self.takes, self.needs)


DISTANCES = {
    "ordered": DistanceSettings("numbers", takes=("order", "bins", "domain"), missing=True),
    "value": DistanceSettings("numbers", takes=("domain",), missing=True),
    "equal": DistanceSettings("values", takes=("bins", "domain"), missing=True),
    "hierarchical": DistanceSettings("hierarchy", missing=True),
    "matrix": DistanceSettings("matrix"),
}
IMPLIED = {"hierarchy": "hierarchical", "matrix": "matrix", "order": "ordered", "bins": "ordered"}
OF_NUMBERS, OF_OTHERS = "ordered", "equal"  # where neither the distance nor a setting is given


def implied_by_settings(spec: Sensitive) -> str | None:
    """Return the distance that the policy names or that another setting implies; none where the values decide."""
    given = (distance for setting, distance in IMPLIED.items() if getattr(spec, setting) is not None)
    return spec.distance or next(given, None)


def distances_that_take(setting: str) -> list[str]:
    """Return the distances that a setting goes with."""
    return [name for name, distance in DISTANCES.items() if distance.allows(setting)]


# What does not go together in the settings of a sensitive attribute


WHICH_VALUES = {  # each of these says which values there are, so only one of them can
    "hierarchy": "a hierarchy",
    "matrix": "a matrix",
    "bins": "a list of bins",
    "order": "an order",
    "domain": "a domain",
}


def against_t(given: settings.GivenSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that contradicts t or n."""
    for name in ("t_by", "average_t"):
        if given.has(name) and given.has("n"):
            yield (
                name,
                say(
                    "{name} does not go with n, which lets large classes be at any distance: drop one of the two",
                    name=name,
                ),
            )
    if "t" not in given.read or "t_by" not in given.read:
        return
    t = given.read["t"]
    for group, own in given.read["t_by"].t.items():
        if own > t:
            above_t = say(
                "{value} is above the column's t = {value_2}", value=settings.spelled(own), value_2=settings.spelled(t)
            )
            why = say("{above_t}, which every class obeys: a group can only be stricter", above_t=above_t)
            yield settings.join("t_by.t", group), why


def against_distance(given: settings.GivenSettings, distance: str) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not go with the distance that the policy names, and why."""
    chosen = DISTANCES[distance]
    for name in WHICH_VALUES:
        if given.has(name) and not chosen.allows(name):
            fitting = " or ".join(f'"{other}"' for other in distances_that_take(name))
            yield name, f'{WHICH_VALUES[name]} is for distance = {fitting}, not "{distance}"'
    if chosen.needs is not None and given.lacks(chosen.needs):
        yield "distance", f'say {chosen.needs} = "FILE.csv"'
