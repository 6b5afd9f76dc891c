"""A column before and after: the bars of the table, and the rows that a reader of the release puts into each.

A reader who has only the release spreads each published text evenly over the values that it may stand for, as the
queries do (`queries.py`). On a line of numbers or dates, what lies between the values of two bars counts for the nearer
bar, so that nothing gets lost. Everything is done once per different text. The bars are those that the steward saw when
the table was opened.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.measure.queries import CodeSets, GrainLine, PublishedRanges, value_shares
from tclose.policy import Policy
from tclose.recode.cell import MISSING, OR_MISSING
from tclose.table.looks import bar_of_value, bars_of
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiDomain
from tclose.table.values import Tally, ValueDomain, exact_values, marked_missing, with_one_number
from tclose.types import Bools, Floats, Ints

# Rows of bars


def rows_on_line(ranges: PublishedRanges, rows: Ints, bar_of_code: Ints, bars: int) -> Floats:
    """Return the rows that a reader puts into each bar, given the rows that show each range; bars are neighbours."""
    edges = edges_of_bars(ranges.starts, ranges.stops, bar_of_code)
    tiled = replace(ranges, starts=np.append(-np.inf, edges), stops=np.append(edges, np.inf))
    return np.array([rows @ tiled.shares(bar, bar) for bar in range(bars)])


def edges_of_bars(starts: Floats, stops: Floats, bar_of_code: Ints) -> Floats:
    """Return where each bar but the first begins on a line: midway between its values and those of the bar before."""
    first = np.flatnonzero(np.diff(bar_of_code)) + 1
    return np.asarray((stops[first - 1] + starts[first]) / 2)


def rows_of_codes(sets: CodeSets, rows: Ints, bar_of_code: Ints, bars: int) -> Floats:
    """Return the rows that a reader puts into each bar, given the rows that show each set of codes."""
    owners, codes = np.divmod(sets.keys, sets.domain)
    rows_per_code = rows / np.maximum(sets.sizes, 1)
    return np.bincount(bar_of_code[codes], rows_per_code[owners], minlength=bars).astype(np.float64)


def total_variation(before: Floats, after: Floats) -> float:
    """Return the share of rows that would have to change bars to turn one distribution into the other."""
    return float(np.abs(before - after).sum() / 2)


# The reconstructed distribution of one column


TWO_ENDS = r"^\[([^\[\],]+), ([^\[\],]+)\]$"
NUMBER = r"-?[0-9.]+(?:[eE][+-]?[0-9]{1,3})?(?:/[1-9][0-9]*)?"
BIN = re.compile(rf"([\[(])({NUMBER}), ({NUMBER})\]")
ROUNDING = 1e-9  # share of the rows that adding up shares can leave
NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Reconstruction:
    """The shares of a column's rows in each bar: in the table, and as a reader of the release spreads its cells."""

    labels: tuple[str, ...]
    others: tuple[str, ...]  # bars after those with a label: "missing", and "absent" for values that the table lacks
    before: tuple[float, ...]
    after: tuple[float, ...]
    differs: float  # total variation distance: the share of rows that a reader puts into another bar


@dataclass(frozen=True, eq=False, repr=False)
class PublishedCells:
    """The different cells that a release shows in a column, a missing one as null, and how many rows show each."""

    texts: pl.Series
    rows: Ints

    @classmethod
    def of(cls, cells: pl.Series) -> PublishedCells:
        """Count the cells of a release."""
        counted = cells.alias("cell").cast(pl.String).value_counts(name="rows")
        return cls(counted["cell"], counted["rows"].cast(pl.Int64).to_numpy())


def reconstructed(domain: ValueDomain, cells: PublishedCells, policy: Policy, *, apart: bool = False) -> Reconstruction:
    """Compare a column of a table with its release; refuse cells that the policy could not have published.

    `apart` says that they are the exact cells of a quasi-identifier, which are counted by class beside the rows.
    """
    bars = bars_of(domain)
    before = np.array([*(bar.rows for bar in bars), domain.missing, 0], dtype=np.float64)
    after = _rows_after(domain, cells, policy, apart)
    used = (np.arange(len(before)) < len(bars)) | (before + after > 0)
    shares = [np.asarray(rows[used] / max(float(rows.sum()), 1.0)) for rows in (before, after)]
    others = tuple(name for name, shown in zip(("missing", "absent"), used[len(bars) :], strict=True) if shown)
    return Reconstruction(
        labels=tuple(bar.label for bar in bars),
        others=others,
        before=tuple(shares[0].tolist()),
        after=tuple(shares[1].tolist()),
        differs=total_variation(*shares),
    )


def _rows_after(domain: ValueDomain, cells: PublishedCells, policy: Policy, apart: bool) -> Floats:
    """Return the rows that a reader puts into each bar, then those without a value, then those of absent values."""
    name = domain.name
    if name in policy.quasi and not apart:
        rows = _of_quasi(QuasiDomain.of(domain, policy.quasi[name]), cells)
    elif name in policy.sensitive and policy.sensitive[name].publish == "bin" and domain.units is not None:
        rows = _of_bins(domain, cells, policy.missing)
    else:
        rows = _of_values(domain, cells, policy.missing)
    whole = float(cells.rows.sum())
    missing = whole - float(rows.sum())
    return np.concatenate([rows[:-1], [missing if missing > ROUNDING * whole else 0.0, rows[-1]]])


def _of_quasi(quasi: QuasiDomain, cells: PublishedCells) -> Floats:
    column, bar_of_code = quasi.column(NO_ROWS), _bars(quasi.values)
    bars = _count(bar_of_code)
    texts = cells.texts.fill_null(MISSING)
    if isinstance(column, NumberColumn) and bars:
        return np.append(rows_on_line(_ranges(column, texts), cells.rows, bar_of_code, bars), 0.0)
    sets = value_shares(column, texts.to_list())
    assert isinstance(sets, CodeSets)
    if isinstance(column, LabelColumn):
        bar_of_code = _bar_of_leaf(quasi, bar_of_code, bars)
    return rows_of_codes(sets, cells.rows, bar_of_code, bars + 1)


def _bar_of_leaf(quasi: QuasiDomain, bar_of_code: Ints, bars: int) -> Ints:
    """Return the bar of every leaf; those that no row has are near a number, among all other texts, or absent."""
    assert quasi.hierarchy is not None
    assert quasi.leaf_of_value is not None
    leaves, values = quasi.hierarchy.leaves, quasi.values
    gathers = values.units is None and len(values.texts) > bars  # whether the last bar stands for all other texts
    bar = np.full(len(leaves), bars - 1 if gathers else bars, dtype=np.int64)
    bar[quasi.leaf_of_value] = bar_of_code
    if values.units is not None and len(leaves) > len(values.texts):
        line = GrainLine(values)
        edges = edges_of_bars(line.starts, line.stops, bar_of_code)
        unused = np.setdiff1d(np.arange(len(leaves)), quasi.leaf_of_value)
        numbers = exact_values([leaves[leaf] for leaf in unused.tolist()], values.kind)
        places = np.array([math.nan if number is None else line.place(number) + 0.5 for number in numbers])
        bar[unused] = np.where(np.isnan(places), bars, np.searchsorted(edges, places, side="right"))
    return bar


def _ranges(column: NumberColumn, texts: pl.Series) -> PublishedRanges:
    """Lay texts on the line: ends that are values of the table at once, all others as the queries do."""
    line, bare = GrainLine(column.values), texts.str.strip_suffix(OR_MISSING)
    code = _lookup(pl.Series(column.values.texts, dtype=pl.String))
    low, high = (code(bare.str.extract(TWO_ENDS, end).fill_null(bare)) for end in (1, 2))
    known = (low >= 0) & (high >= 0)
    or_missing, present = np.array(texts != bare), np.ones(len(texts), dtype=bool)
    found = PublishedRanges(line.starts[low], line.stops[high], or_missing, present, line.starts, line.stops)
    if column.spec.publish == "mean":
        known |= _lay_means(found, line, bare, known)
    rest = np.flatnonzero(~known)
    if len(rest):
        others = value_shares(column, texts.gather(rest).to_list())
        assert isinstance(others, PublishedRanges)
        for part in ("low", "high", "or_missing", "present"):
            getattr(found, part)[rest] = getattr(others, part)
    return found


def _lay_means(found: PublishedRanges, line: GrainLine, bare: pl.Series, known: Bools) -> Bools:
    """Lay means that are no values of the table as points, nearest to their value; tell which texts are numbers."""
    numbers = bare.cast(pl.Float64, strict=False).to_numpy()
    means: Bools = np.isfinite(numbers) & ~known
    found.low[means] = found.high[means] = (numbers[means] * 10.0**line.scale - line.first) / line.grain + 0.5
    return means


def _lookup(known: pl.Series) -> Callable[[pl.Series], Ints]:
    """Return what turns texts into their places among known ones; -1 where a text is none of them."""
    places = pl.Series(np.arange(len(known)))
    return lambda cells: cells.replace_strict(known, places, default=-1, return_dtype=pl.Int64).to_numpy()


def _of_values(domain: ValueDomain, cells: PublishedCells, missing: Sequence[str]) -> Floats:
    """Count cells that are published as they are; those that mean "missing" have no bar."""
    codes = np.append(domain.code_of_cell, -1)[_lookup(domain.tally.cells.cast(pl.String))(cells.texts)]
    unknown = np.flatnonzero((codes < 0) & ~_lacking(cells, missing))
    codes[unknown] = _codes_by_size(domain, cells.texts.gather(unknown).to_list())
    if (codes[unknown] < 0).any():
        raise _not_published(domain)
    present, bar_of_code = codes >= 0, _bars(domain)
    counts = np.bincount(bar_of_code[codes[present]], cells.rows[present], minlength=_count(bar_of_code))
    return np.append(counts, 0.0)


def _codes_by_size(domain: ValueDomain, texts: Sequence[str]) -> Ints:
    """Return the values that texts of another spelling stand for, as 1.0 does for 1; -1 where there is none."""
    if domain.units is None or not texts:
        return np.full(len(texts), -1, dtype=np.int64)
    code_of_unit = {unit: code for code, unit in enumerate(domain.units.tolist())}
    sizes = exact_values(texts, domain.kind)
    codes = [-1 if size is None else code_of_unit.get(size * 10**domain.scale, -1) for size in sizes]
    return np.array(codes, dtype=np.int64)


def _of_bins(domain: ValueDomain, cells: PublishedCells, missing: Sequence[str]) -> Floats:
    """Spread every published bin evenly over the part of it that lies between the table's ends."""
    line, bar_of_code = GrainLine(domain), _bars(domain)
    present = ~_lacking(cells, missing)
    spans = np.zeros((len(present), 2))
    spans[present] = [_span(domain, line, text) for text in cells.texts.gather(np.flatnonzero(present))]
    low, high = np.clip(spans, 0.0, line.stops[-1]).T
    ranges = PublishedRanges(low, high, np.zeros(len(low), dtype=bool), present, line.starts, line.stops)
    return np.append(rows_on_line(ranges, cells.rows, bar_of_code, _count(bar_of_code)), 0.0)


def _span(domain: ValueDomain, line: GrainLine, text: str) -> tuple[float, float]:
    """Return where a bin begins and stops; it holds its upper edge, and its lower one if its bracket says so."""
    bin_of_text = BIN.fullmatch(text)
    if bin_of_text is None:
        raise _not_published(domain)
    opening, low, high = bin_of_text.groups()
    first, last = (line.place(Fraction(edge)) for edge in (low, high))
    return math.ceil(first) if opening == "[" else math.floor(first) + 1.0, math.floor(last) + 1.0


def _lacking(cells: PublishedCells, missing: Sequence[str]) -> Bools:
    """Tell which cells mean "missing"."""
    return marked_missing(cells.texts.fill_null(""), missing)


def _bars(domain: ValueDomain) -> Ints:
    return bar_of_value(domain) if domain.texts else np.zeros(0, dtype=np.int64)


def _count(bar_of_code: Ints) -> int:
    return int(bar_of_code.max(initial=-1)) + 1


def _not_published(domain: ValueDomain) -> InputError:
    return InputError(
        "column '{name}' of the release shows cells that the policy could not have published", name=domain.name
    )


# All columns of a table beside its release


RANGE = rf"^[\[(](-?[0-9.]+), (-?[0-9.]+)[\])](?:{OR_MISSING})?$"


@dataclass(frozen=True)
class ColumnChange:
    """One published column: different values before and after, and how exact its cells still are."""

    name: str
    before: int
    after: int
    exact: float  # share of rows that publish a value of the table as it is
    width: float | None  # mean width of the ranges of numbers, 0 for an exact one; None where some have no known width
    reconstruction: Reconstruction | None  # None where the policy could not have published the column's cells
    unreadable: str = ""  # and why not

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def before_and_after(
    table: pl.DataFrame, release: pl.DataFrame, policy: Policy, apart: Mapping[str, pl.Series] | None = None
) -> list[ColumnChange]:
    """Compare the columns that both tables have: quasi-identifiers, kept columns, then sensitive ones.

    `apart` holds the exact cells that a release counts by class, beside its rows.
    """
    columns = dict.fromkeys([*policy.visible, *policy.sensitive])
    shared = [name for name in columns if name in table.columns and name in release.columns]
    return [
        _change(with_one_number(table[name], policy.missing), release[name], policy, apart or {}) for name in shared
    ]


def _change(table: pl.Series, published: pl.Series, policy: Policy, apart: Mapping[str, pl.Series]) -> ColumnChange:
    domain = ValueDomain.of(Tally.of(table), policy.missing, policy.below.get(table.name))
    cells = PublishedCells.of(published)
    ends = [cells.texts.str.extract(RANGE, group).cast(pl.Float64, strict=False) for group in (1, 2)]
    kept = cells.texts.is_in(pl.Series(domain.texts, dtype=pl.String).implode()).fill_null(False).to_numpy()
    widths = (ends[1] - ends[0]).to_numpy()
    known = partial(
        ColumnChange,
        name=table.name,
        before=len(domain.texts),
        after=len(cells.texts),
        exact=float(np.average(kept, weights=cells.rows)),
        width=_mean_width(widths, kept, cells),
    )
    exact_cells = apart.get(table.name)
    try:
        if exact_cells is not None:
            return known(reconstruction=reconstructed(domain, PublishedCells.of(exact_cells), policy, apart=True))
        return known(reconstruction=reconstructed(domain, cells, policy))
    except (InputError, PolicyError) as error:  # the hierarchies of a project may have changed since
        return known(reconstruction=None, unreadable=error.sentence)


def _mean_width(widths: Floats, kept: Bools, cells: PublishedCells) -> float | None:
    """Return the mean width of ranges and exact numbers; None without ranges, and where a cell has an unknown width."""
    if np.isnan(widths).all():
        return None
    shown = cells.texts.ne_missing(MISSING).to_numpy() & cells.texts.is_not_null().to_numpy()
    known = np.where(np.isnan(widths) & kept, 0.0, widths)[shown]
    return None if np.isnan(known).any() else float(np.average(known, weights=cells.rows[shown]))
