"""Linear regression on a release, with intervals that cover what the release hides.

A release says which values of x and which values of y a class has, not which belong together. Under t-closeness the
classes also have nearly the same y. So the classes alone show too weak an association: what is missing happens within
them, and nothing in the release says how much, or in which direction. Three answers, `any` by default:

- `any` lets y belong to any row of its class, and x lie anywhere in its range. The interval reaches from the smallest
  coefficient to the largest.
- `fit` assumes that pairs within classes follow one linear law, the same in every class, with an unknown amount of
  noise. The interval reaches over all amounts: from unrelated pairs to pairs without noise.
- `same` assumes that a coefficient whose sign the classes show clearly has that sign within classes, too.

The usual uncertainty of a sample and that between draws of x (Rubin, 1987) is added on both sides, as for a parameter
that is identified up to a range (Imbens and Manski, 2004). Decision 133 has the reasons and figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import polars as pl

from tclose.analysis.columns import ExactColumn, ListColumn, PublishedColumn, RangeColumn
from tclose.analysis.designs import INTERCEPT, Design
from tclose.analysis.pairing import NOISE, Fit, Pairs, bounds, extremes, laws, orders
from tclose.errors import InputError
from tclose.types import Bools, Claim, Floats, Ints

Direction = Literal["any", "fit", "same"]
ASSUMPTIONS = {
    "any": "Nothing is assumed about which values belong together within a class.",
    "fit": (
        "This assumes that pairs within classes follow one linear law, the same in every class. Where the slope differs"
        " between groups or along x, and where classes are large (as those of mondrian), an interval may miss the"
        " coefficient of the raw table."
    ),
    "same": (
        "This assumes that each coefficient has the sign within classes that the classes show. A column that goes with"
        " both x and y (a confounder) breaks this, and an interval may then miss the coefficient of the raw table."
    ),
}
STEWARD = "the same regression on the raw table: ask the steward for it"
STARTS = 3  # draws of x from which the bounds of `any` are sought


@dataclass(frozen=True, eq=False)
class Regression:
    """The coefficients of a linear regression: intervals, and estimates in their middle.

    A coefficient that the release leaves open without any limit has an infinite interval, and NaN for its estimate.
    """

    terms: tuple[str, ...]
    estimate: Floats
    lower: Floats
    upper: Floats
    unrelated: Floats  # the coefficients if x and y are unrelated within every class
    least: Floats  # the smallest and the largest that are possible under the assumption
    largest: Floats
    standard_error: Floats  # of unrelated pairs: of a sample, and of the draws
    rows: int
    level: float
    y: str
    assumes: str  # what the intervals rest on, in sentences

    @property
    def frame(self) -> pl.DataFrame:
        """The coefficients, one row each."""
        names = ("estimate", "lower", "upper", "unrelated", "least", "largest", "standard_error")
        return pl.DataFrame({"term": self.terms, **{name: getattr(self, name) for name in names}})

    @property
    def claims(self) -> dict[str, Claim]:
        """Whether the release tells the sign of each slope, by term: yes, or undecided and what would decide it."""
        intervals = zip(self.terms, self.lower, self.upper, strict=True)
        return {term: self._claim(term, low, high) for term, low, high in intervals if term != INTERCEPT}

    def _claim(self, term: str, low: float, high: float) -> Claim:
        shown = f"the {self.level:.0%} interval is [{low:.4g}, {high:.4g}]"
        if low <= 0 <= high:
            says = f"The release leaves open whether the coefficient of {term} is positive or negative: {shown}."
            return Claim(answer="undecided", says=says, needs=STEWARD)
        sign = "positive" if low > 0 else "negative"
        return Claim(answer="yes", says=f"The coefficient of {term} is {sign}: {shown}.")

    def __repr__(self) -> str:
        """List the coefficients with their intervals, what is open, and what is assumed."""
        rows = zip(self.terms, self.estimate, self.lower, self.upper, strict=True)
        lines = [f"{term}: {estimate:.4g} [{low:.4g}, {high:.4g}]" for term, estimate, low, high in rows]
        if undecided := [term for term, claim in self.claims.items() if claim.answer == "undecided"]:
            lines.append(f"Signs that the release leaves open: {', '.join(undecided)}. To decide them takes {STEWARD}.")
        head = f"linear regression of {self.y} on {self.rows:,} rows, {self.level:.0%} intervals"
        return "\n".join([head, *lines, self.assumes])


@dataclass(frozen=True, eq=False)
class _Region:
    """How far coefficients reach, without and with the uncertainty of a sample and of the draws."""

    least: Floats
    largest: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class _Drawn:
    """One draw of the rows that lack no value."""

    known: Bools
    fit: Fit
    pairs: Pairs


def fitted(
    y: ExactColumn | RangeColumn,
    x: Mapping[str, PublishedColumn],
    labels: Ints,
    *,
    level: float,
    direction: Direction,
    draws: int,
    seed: int,
    withheld: int | None = 0,
) -> Regression:
    """Fit a regression; rows that lack a value are left out."""
    _check(y, x, level, direction, draws)
    rng = np.random.default_rng(seed)
    design = Design.of(x, labels)
    drawn = [_drawn(design, y, rng) for _ in range(draws)]
    unrelated = np.array([each.fit.by_row @ each.pairs.means for each in drawn])
    variance = np.mean(
        [each.fit.variance(each.pairs.sorted_by(rng.random(each.known.sum()))) for each in drawn], axis=0
    )
    error = _error(variance, unrelated)
    z = NormalDist().inv_cdf((1 + level) / 2)
    region = {"any": _any, "fit": _fit, "same": _same}[direction](design, drawn, z, error, rng)
    with np.errstate(invalid="ignore"):
        middle = (region.lower + region.upper) / 2
    middle[~np.isfinite(middle)] = np.nan
    rows = int(drawn[0].known.sum())
    return Regression(
        design.terms, middle, region.lower, region.upper, unrelated.mean(axis=0), region.least, region.largest,
        error, rows, level, y.name, _assumptions(direction, [y, *x.values()], withheld),
    )  # fmt: skip


def _check(
    y: ExactColumn | RangeColumn, x: Mapping[str, PublishedColumn], level: float, direction: str, draws: int
) -> None:
    if not x:
        raise InputError("a regression needs at least one column x")
    if y.name in x:
        raise InputError(f"'{y.name}' is both y and x")
    if not 0 < level < 1:
        raise InputError("the level of an interval lies between 0 and 1")
    if direction not in get_args(Direction):
        raise InputError("the direction is 'any', 'fit' or 'same'")
    if draws < 2:
        raise InputError("a regression needs at least two draws")


def _drawn(design: Design, y: ExactColumn | RangeColumn, rng: np.random.Generator) -> _Drawn:
    """Draw x, and y where it is published as bins."""
    low, high = (y.numbers, y.numbers) if isinstance(y, ExactColumn) else (y.closed_low, y.closed_high)
    numbers = low + rng.random(len(low)) * (high - low)
    x = design.drawn(rng)
    known = ~(np.isnan(numbers) | np.isnan(x).any(axis=1))
    fit = Fit.of(x[known])
    if fit is None:
        names = ", ".join(design.terms[1:])
        why = "they have too few rows, or one of them follows from the others within what is published"
        raise InputError(f"no regression on {names}: {why}")
    return _Drawn(known, fit, Pairs.of(numbers[known], low[known], high[known], design.labels[known]))


def _error(variance: Floats, found: Floats) -> Floats:
    """Return the standard error of a mean over draws (Rubin's rules)."""
    return np.asarray(np.sqrt(variance + (1 + 1 / len(found)) * found.var(axis=0, ddof=1)))


def _any(design: Design, drawn: list[_Drawn], z: float, error: Floats, rng: np.random.Generator) -> _Region:
    """Reach as far as any pairs and any values of x within what is published."""
    ends = [extremes(each.fit, each.pairs) for each in drawn]
    ends += [bounds(design, each.known, each.fit, each.pairs) for each in drawn[:STARTS]]
    least, largest = np.min([each[0] for each in ends], axis=0), np.max([each[1] for each in ends], axis=0)
    return _Region(least, largest, least - z * error, largest + z * error)


def _fit(design: Design, drawn: list[_Drawn], z: float, error: Floats, rng: np.random.Generator) -> _Region:
    """Reach over all amounts of noise that pairs of one linear law may have, and all orders of the columns x."""
    results = [[_law(x, each.pairs, rng) for x in orders(design, each.fit.x, each.pairs)] for each in drawn]
    found, variance = np.moveaxis(np.array(results), 3, 0)  # by draw, order, noise and coefficient
    middle, margin = found.mean(axis=0), z * _error(variance.mean(axis=0), found)
    least, largest, lower, upper = (
        end(values, axis=(0, 1))
        for end, values in ((np.min, middle), (np.max, middle), (np.min, middle - margin), (np.max, middle + margin))
    )
    return _Region(*(np.where(np.isnan(ends), sign * np.inf, ends) for sign, ends in
                     ((-1, least), (1, largest), (-1, lower), (1, upper))))  # fmt: skip


def _law(x: Floats, pairs: Pairs, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """Return coefficients and variances for all amounts of noise; NaN, if this order leaves them open."""
    fit = Fit.of(x)
    if fit is None:
        nothing = np.full(x.shape[1], np.nan)
        return [(nothing, nothing)] * (len(NOISE) + 1)
    return list(laws(fit, pairs, rng))


def _same(design: Design, drawn: list[_Drawn], z: float, error: Floats, rng: np.random.Generator) -> _Region:
    """Reach from unrelated pairs to the extreme of the sign that classes show, if they show one clearly.

    The intercept moves against the slopes, as it does when all pairs are sorted by the fit.
    """
    unrelated = np.mean([each.fit.by_row @ each.pairs.means for each in drawn], axis=0)
    by_fit = np.mean([_sorted_by_fit(each) for each in drawn], axis=0)
    least, largest = np.mean([extremes(each.fit, each.pairs) for each in drawn], axis=0)
    clear, upward = np.abs(unrelated) > z * error, unrelated > 0
    clear[0], upward[0] = clear[1:].any(), by_fit[0] > unrelated[0]
    first, last = np.where(clear & upward, unrelated, least), np.where(clear & ~upward, unrelated, largest)
    return _Region(least, largest, first - z * error, last + z * error)


def _sorted_by_fit(drawn: _Drawn) -> Floats:
    unrelated = drawn.fit.by_row @ drawn.pairs.means
    return drawn.fit.by_row @ drawn.pairs.sorted_by(drawn.fit.x @ unrelated)


def _assumptions(direction: Direction, columns: list[PublishedColumn], withheld: int | None) -> str:
    """Return the sentences that name what the intervals rest on."""
    parts = [ASSUMPTIONS[direction]]
    ranges = [column for column in columns if isinstance(column, RangeColumn)]
    if any(np.isinf(column.low).any() or np.isinf(column.high).any() for column in ranges):
        parts.append("Values in a coded tail count as its end.")
    if any(column.some_missing.any() for column in columns if isinstance(column, RangeColumn | ListColumn)):
        parts.append("In a class in which some values are missing, half of the rows, drawn at random, are left out.")
    if withheld is None:
        parts.append("Rows of the table that were withheld, if any, are left out: their number is not known.")
    if withheld:
        parts.append(f"The {withheld:,} withheld rows of the table are left out.")
    return " ".join(parts)
