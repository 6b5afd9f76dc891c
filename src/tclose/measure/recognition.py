"""Which published columns a neighbour may know: codes of places, groups and persons, recognised by their signs.

A code is a label, mostly written as a number. Three signs show in a published table; a fourth, that the file lists
equal numbers together, is gone, since a release has an order of its own:

- the *name* of the column says so;
- other columns *jump* from one number to the next, where those of a measurement change gradually;
- the number *decides* another, coarser column, as a village decides its district, and not in rising order.

Two signs recognise a code surely, and so do jumps in two columns; the name alone makes it possible. Decision 135 has
the figures. The jumps are measured by the share B of another column's variance that lies between the numbers, less what
chance gives, and by von Neumann's ratio R of neighbouring means, less the noise: 1 for labels, 0 for a smooth curve.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.measure.line_counts import Recognition
from tclose.policy.draft.names import words
from tclose.types import Bools, Floats, Ints
from tclose.words import some_columns

MOST_ROWS = 20_000  # that are looked at
LEAST_ROWS = 100
FEWEST, MOST = 12, 1500  # different numbers of a code
ROWS_PER_VALUE = 3  # on average, at least: the number of a person is found by other rules
SPIKE = 0.2  # share of the rows that show one number: the zero of a count, left out
SURPRISE = 1.5  # the F ratio from which means differ by more than noise
LEAST_BETWEEN = 0.03  # the share B from which a column is looked at
JUMPS = 0.10  # B · R of the best column
JUMPS_IN_TWO, ROUGH, VALUES_IN_TWO = 0.15, 0.8, 20  # jumps in two columns: B · R, the median R, different numbers
DECIDED, LIFT, ROUGH_DECIDED = 0.99, 0.02, 0.2  # share of rows that a number decides, above the commonest value's share

NAME = re.compile(
    "_vill(?!ain)|_sch(?!ool(ing|yr)|ed)|_inst_|_institution|_distr?(ict)?(id|cod|num|no|n)?_|county|_fips|muni|"
    "province|_prov(id|n|num|no|cod)?_|region|_clus|_wards?_|_hosp(?!ital_(stay|days))|_clinic_?(id|n|no)?_|_sites?_|"
    "_cent(er|re)_?(id|n|no)?_|_dep(t|artment)|_firm|_plant_|_branch|_stores?_|_psu_|_strat|_tract|_blocks?_|precinct|"
    "parish|commune|_teams?_|_cowc|_ccode_|_cty|_state|_market|_mkt_|_zip|_areas?_|_class_?(id|no)?_$|[a-z]cod[e]?_$|"
    "_code_$|[a-z]?num(ber)?_$|[a-z]nr_$|_nr_$|id_$|_puma_|_gemeinde|_kreis|_dorf|_ort_|_household|_hh"
)
EXEMPT = re.compile(
    "_aged?_|_years?_|_yr_|_jahr|_months?_|_monat|_days?_|_tage?_|_dates?_|_times?_|_hours?_|_weeks?_|_minutes?_|"
    "_price|_cost|_pay_|_wage|_income|_salary|_amount|_revenue|_sales_|_score|_weight|_height|_charge|_dur(ation)?_"
)


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """A column whose cells are published as they are: a number for each cell, -1 where it is missing."""

    name: str
    codes: Ints
    numbers: Floats | None  # of every row, where the cells are numbers; NaN where missing


@dataclass(frozen=True)
class Recognised:
    """How surely a column is a code of a place, a group or a person, and by which signs."""

    how: Recognition
    signs: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The signs, for people."""
        return "; ".join(self.signs)


NOT = Recognised("no")


def recognised(columns: Sequence[PublishedCells], wanted: Sequence[str]) -> dict[str, Recognised]:
    """Return for each wanted column whether it is a code; all columns are looked at for jumps."""
    return {column.name: _recognised(column, columns) for column in columns if column.name in wanted}


def _recognised(column: PublishedCells, columns: Sequence[PublishedCells]) -> Recognised:
    if EXEMPT.search(words(column.name)):
        return NOT
    known, ordered = column.codes >= 0, column.numbers is not None
    cells = column.codes[known].astype(np.float64) if column.numbers is None else column.numbers[known]
    values, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    if not _may_be_code(cells, values):
        return NOT
    kept = counts <= SPIKE * len(cells)
    if ordered:
        kept[0] = kept[-1] = False
    looks = [_look(place, kept, other, known) for other in columns if other.name != column.name]
    signs = _signs(column.name, [look for look in looks if look is not None], len(values) if ordered else 0)
    if signs and (len(signs) >= 2 or signs[0] == _IN_TWO):
        return Recognised("surely", signs)
    return Recognised("possibly", signs) if signs and signs[0] == _NAMED else NOT


_NAMED, _IN_TWO = "its name says so", "two other columns jump from number to number"


def _may_be_code(cells: Floats, values: Floats) -> bool:
    whole = len(cells) >= LEAST_ROWS and bool((values == np.round(values)).all())
    return whole and FEWEST <= len(values) <= MOST and len(cells) >= ROWS_PER_VALUE * len(values)


def _signs(name: str, looks: Sequence[_Look], different: int) -> tuple[str, ...]:
    """Return the signs, the strongest first; texts have no order in which others could jump (0 different numbers)."""
    jumping = [look for look in looks if look.surprising and different]
    best = max(jumping, key=lambda look: look.jumps, default=None)
    jumps = 0.0 if best is None else best.jumps
    rough = float(np.median([look.rough for look in jumping])) if len(jumping) >= 2 else 0.0
    found = []
    if jumps >= JUMPS_IN_TWO and rough >= ROUGH and different >= VALUES_IN_TWO:
        found.append(_IN_TWO)
    if NAME.search(words(name)):
        found.append(_NAMED)
    if best is not None and jumps >= JUMPS and _IN_TWO not in found:
        found.append(f"{some_columns([best.name])} jumps from number to number")
    if decided := [look.name for look in looks if look.decided]:
        found.append(f"each number has one value of {some_columns([decided[0]])}")
    return tuple(found)


@dataclass(frozen=True)
class _Look:
    """How another column changes from one number to the next."""

    name: str
    between: float  # B
    rough: float  # R
    surprising: bool
    decided: bool

    @property
    def jumps(self) -> float:
        return self.between * min(max(self.rough, 0.0), 1.0)


def _look(place: Ints, kept: Bools, other: PublishedCells, known: Bools) -> _Look | None:
    """Look at another column by the numbers of this one; none where too little is known."""
    codes = other.codes[known]
    present = (codes >= 0) & kept[place]
    if np.count_nonzero(present) < LEAST_ROWS:
        return None
    groups, codes = place[present], np.unique(codes[present], return_inverse=True)[1]
    if codes.max() < 1:
        return None
    worth = _worth(codes, other, known, present)
    sizes = np.bincount(groups, minlength=len(kept))
    enough = sizes >= 2
    if np.count_nonzero(enough) < 10:
        return None
    chosen = enough[groups]
    groups, codes, worth = np.cumsum(enough)[groups[chosen]] - 1, codes[chosen], worth[chosen]
    between, rough, ratio = _variance(groups, worth)
    decided = _decides(groups, codes, len(kept)) and rough > ROUGH_DECIDED
    return _Look(other.name, between, rough, ratio > SURPRISE and between >= LEAST_BETWEEN, decided)


def _worth(codes: Ints, other: PublishedCells, known: Bools, present: Bools) -> Floats:
    """Return ranks of numbers, so that no outlier decides; of other cells, whether it is the commonest."""
    if other.numbers is None:
        return np.asarray((codes == np.bincount(codes).argmax()).astype(np.float64))
    ranks = np.unique(other.numbers[known][present], return_inverse=True)[1]
    counts = np.bincount(ranks)
    return np.asarray((np.cumsum(counts) - counts / 2)[ranks] / len(ranks))


def _variance(groups: Ints, worth: Floats) -> tuple[float, float, float]:
    """Return B, R and the F ratio of a column over groups in the order of their numbers."""
    rows, whole = len(worth), worth.mean()
    total = float(((worth - whole) ** 2).sum())
    if total <= 1e-9:
        return 0.0, 0.0, 0.0
    sizes = np.bincount(groups).astype(np.float64)
    means = np.bincount(groups, worth) / sizes
    explained = float((sizes * (means - whole) ** 2).sum())
    noise = (total - explained) / max(rows - len(sizes), 1)
    between = max(explained - (len(sizes) - 1) * noise, 0.0) / total
    weights, away = np.minimum(sizes[1:], sizes[:-1]), (means - np.average(means, weights=sizes)) ** 2
    expected = noise * float((weights * (1 / sizes[1:] + 1 / sizes[:-1])).sum())
    steps = float((weights * np.diff(means) ** 2).sum()) - expected
    spread = float((weights * (away[1:] + away[:-1])).sum()) - expected
    ratio = explained / (len(sizes) - 1) / max(noise, 1e-12)
    return between, steps / spread if spread > 1e-9 else 0.0, ratio


def _decides(groups: Ints, codes: Ints, different: int) -> bool:
    """Tell whether each group has (nearly) one value of a coarser column, and more than chance gives."""
    values = int(codes.max()) + 1
    pairs, counts = np.unique(groups * values + codes, return_counts=True)
    most = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // values, counts)
    agreed, common = most.sum() / len(codes), np.bincount(codes).max() / len(codes)
    return bool(agreed >= DECIDED and agreed > common + LIFT and values < different)
