"""Linear regression on a release, with intervals that cover what the release hides.

A release says which values of x and which values of y a class has, not which belong together. Under t-closeness the
classes also have nearly the same y. So the classes alone show too weak an association: what is missing happens within
them, and nothing in the release says how much, or in which direction. Three answers, `any` by default:

- `any` lets y belong to any row of its class, and x lie anywhere in its range. The interval reaches from the smallest
  coefficient to the largest.
- `fit` assumes that pairs within classes follow one linear law, the same in every class, with an unknown amount of
  noise. The interval reaches over all amounts: from unrelated pairs to pairs without noise.
- `same` assumes that a coefficient whose sign the classes show clearly has that sign within classes, too.

Coefficient j of a regression is Σ gᵢⱼ·yᵢ, where gⱼ is row j of (XᵀX)⁻¹Xᵀ. With X known, it is largest if y is sorted by
gⱼ within each class (the rearrangement inequality), and so it is exactly known how far it can go.

The usual uncertainty of a sample and that between draws of x (Rubin, 1987) is added on both sides, as for a parameter
that is identified up to a range (Imbens and Manski, 2004). Decision 133 has the reasons and figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Literal, Protocol, get_args

import numpy as np
import polars as pl

from tclose.analysis.columns import ExactColumn, ListColumn, PublishedColumn, RangeColumn
from tclose.analysis.synthetic import ColumnDistribution, Draw
from tclose.errors import InputError
from tclose.types import Bools, Claim, Floats, Ints

# The columns x: what each row's may be, drawn at random or as far as possible in one direction


INTERCEPT = "intercept"


class Regressor(Protocol):
    """One column x: a column of the regression for a number, and one for each value but the first of a set."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coefficients."""

    def drawn(self, draw: Draw) -> Floats:
        """Return a possible value of each row, one column per term; NaN where it is missing."""

    def farthest(self, slopes: Floats) -> Floats:
        """Return the possible values that make the sum of slopes · values largest."""


@dataclass(frozen=True, eq=False)
class ExactRegressor:
    """Numbers or texts that are published exactly."""

    terms: tuple[str, ...]
    values: Floats

    def drawn(self, draw: Draw) -> Floats:
        """Return the values."""
        return self.values

    def farthest(self, slopes: Floats) -> Floats:
        """Return the values."""
        return self.values


@dataclass(frozen=True, eq=False)
class RangeRegressor:
    """Numbers that are published as ranges."""

    column: RangeColumn
    spread: ColumnDistribution

    @property
    def terms(self) -> tuple[str, ...]:
        """The name of the column."""
        return (self.column.name,)

    def drawn(self, draw: Draw) -> Floats:
        """Return numbers within the ranges, spread as those of the table."""
        return draw.numbers(self.column, self.spread)[:, None]

    def farthest(self, slopes: Floats) -> Floats:
        """Return an end of each range."""
        return np.where(slopes > 0, self.column.closed_high[:, None], self.column.closed_low[:, None])


@dataclass(frozen=True, eq=False)
class SetRegressor:
    """Values of a set: whether a row has each of them but the first, which is the reference."""

    column: ListColumn

    @property
    def terms(self) -> tuple[str, ...]:
        """The column and the value."""
        return _names(self.column.name, self.column.values)

    def drawn(self, draw: Draw) -> Floats:
        """Return indicators of values that the rows may have."""
        return _indicators(draw.values(self.column), len(self.column.values))

    def farthest(self, slopes: Floats) -> Floats:
        """Return the indicators of the value with the largest slope."""
        levels = self.column.values
        allowed = np.array([[value in each for value in levels] for each in self.column.lists])[self.column.codes]
        padded = np.hstack([np.zeros((len(slopes), 1)), slopes])
        return _indicators(np.where(allowed, padded, -np.inf).argmax(axis=1), len(levels))


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression, the constant first."""

    parts: tuple[Regressor, ...]
    labels: Ints

    @classmethod
    def of(cls, x: Mapping[str, PublishedColumn], labels: Ints) -> Design:
        """Return the design of some columns."""
        return cls(tuple(_part(column, labels) for column in x.values()), labels)

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return (INTERCEPT, *(term for part in self.parts for term in part.terms))

    @property
    def blocks(self) -> list[slice]:
        """Which columns of the design belong to each part."""
        ends = np.cumsum([1, *(len(part.terms) for part in self.parts)])
        return [slice(start, end) for start, end in pairwise(ends)]

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Return possible values of every row."""
        draw = Draw(self.labels, rng)
        return np.hstack([np.ones((len(self.labels), 1)), *(part.drawn(draw) for part in self.parts)])

    def farthest(self, slopes: Floats, known: Bools) -> Floats:
        """Return, for the rows that count, the values that make the sum of slopes · values largest."""
        every = np.zeros((len(known), slopes.shape[1]))
        every[known] = slopes
        pairs = zip(self.parts, self.blocks, strict=True)
        farthest = np.hstack([np.ones((len(known), 1)), *(part.farthest(every[:, block]) for part, block in pairs)])
        return np.asarray(farthest[known])


def _part(column: PublishedColumn, labels: Ints) -> Regressor:
    if isinstance(column, RangeColumn):
        return RangeRegressor(column, ColumnDistribution.of(column, labels))
    if isinstance(column, ListColumn):
        return SetRegressor(column)
    if isinstance(column, ExactColumn):
        return ExactRegressor((column.name,), column.numbers[:, None]) if column.is_number else _texts(column)
    raise InputError("column '{name}' holds class means, which a regression on rows cannot use", name=column.name)


def _texts(column: ExactColumn) -> ExactRegressor:
    texts = column.cells.cast(pl.String)
    levels = texts.drop_nulls().unique().sort().to_list()
    codes = texts.replace_strict(levels, np.arange(len(levels)), default=-1, return_dtype=pl.Int64)
    return ExactRegressor(_names(column.name, levels), _indicators(codes.fill_null(-1).to_numpy(), len(levels)))


def _names(name: str, levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for value in levels[1:])


def _indicators(codes: Ints, levels: int) -> Floats:
    """Return a column for each value but the first; -1 is a missing value."""
    table = np.vstack([np.eye(levels), np.full(levels, np.nan)])
    return np.asarray(table[codes][:, 1:])


# The values y: which of them belongs to which row of its class


STEPS = 40  # of an ascent: on the tables of bench/regression.py, 160 widen the bounds by 2.4 % at most
SMALLEST_STEP = 1e-3
SINGULAR = 1e-7  # the least eigenvalue of XᵀX, columns of length 1, below which a coefficient may be anything
NOISE = (2.0, 1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.0)  # of pairs, in standard deviations of y
ROUNDS = 4  # until the law that pairs follow is the one that they show


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares for given x: (XᵀX)⁻¹, and (XᵀX)⁻¹Xᵀ with a row per coefficient."""

    x: Floats
    inverse: Floats
    by_row: Floats

    @classmethod
    def of(cls, x: Floats) -> LeastSquares | None:
        """Return the fit; None where a column follows from the others."""
        lengths = np.sqrt((x * x).sum(axis=0))
        if len(x) <= x.shape[1] or not lengths.all():
            return None
        moments = (x / lengths).T @ (x / lengths)
        if np.linalg.eigvalsh(moments)[0] < SINGULAR:
            return None
        inverse = np.linalg.inv(moments) / lengths / lengths[:, None]
        return cls(x, inverse, inverse @ x.T)

    def variance(self, y: Floats) -> Floats:
        """Return the usual variance of the coefficients."""
        residuals = y - self.x @ (self.by_row @ y)
        return np.asarray(np.diag(self.inverse) * (residuals @ residuals) / (len(y) - self.x.shape[1]))


@dataclass(frozen=True, eq=False)
class Responses:
    """The values of y, of which it is known only to which class they belong; a bin leaves open where in it they lie."""

    labels: Ints
    rising: Floats  # in the order of the classes, and rising within each
    low: Floats  # the least and the largest that each of them may be
    high: Floats

    @classmethod
    def of(cls, y: Floats, low: Floats, high: Floats, labels: Ints) -> Responses:
        """Return the values of y of some rows."""
        labels = np.unique(labels, return_inverse=True)[1]
        order = np.lexsort((y, labels))
        return cls(labels, y[order], low[order], high[order])

    def largest(self, weights: Floats) -> Floats:
        """Give each row a value of its class's so that the sum of weights · values is largest."""
        order, placed = np.lexsort((weights, self.labels)), np.empty(len(weights))
        placed[order] = np.where(weights[order] > 0, self.high, self.low)
        return placed

    def sorted_by(self, key: Floats) -> Floats:
        """Give each row a value of its class's, in the order of a key."""
        placed = np.empty(len(key))
        placed[np.lexsort((key, self.labels))] = self.rising
        return placed

    @property
    def means(self) -> Floats:
        """The mean of each row's class."""
        means = np.bincount(np.sort(self.labels), self.rising) / np.bincount(self.labels)
        return np.asarray(means[self.labels])

    def reordered(self, block: Floats, key: Floats, by: Floats) -> Floats:
        """Exchange rows of a block within classes, so that they rise by one key where another rises."""
        placed = np.empty_like(block)
        placed[np.lexsort((by, self.labels))] = block[np.lexsort((key, self.labels))]
        return placed


def extremes(fit: LeastSquares, pairs: Responses) -> tuple[Floats, Floats]:
    """Return the smallest and the largest coefficients that any pairs within classes give, with x as it is."""
    least = np.array([g @ pairs.largest(-g) for g in fit.by_row])
    return least, np.array([g @ pairs.largest(g) for g in fit.by_row])


def bounds(design: Design, known: Bools, fit: LeastSquares, pairs: Responses) -> tuple[Floats, Floats]:
    """Return how far each coefficient can go if x may lie anywhere in what is published, too."""
    ends = np.array(
        [[_ascent(design, known, fit, pairs, j, sign) for j in range(len(fit.inverse))] for sign in (-1, 1)]
    )
    return ends[0], ends[1]


def _ascent(design: Design, known: Bools, fit: LeastSquares, pairs: Responses, place: int, sign: int) -> float:
    """Move x towards the ends where the coefficient grows, and sort y anew, as long as that helps.

    Each step raises sign · coefficient. If x comes to lie where its columns follow from each other, there is no end.
    """
    y = pairs.largest(sign * fit.by_row[place])
    best, share = sign * fit.by_row[place] @ y, 1.0
    for _ in range(STEPS):
        found = fit.by_row @ y
        slopes = fit.inverse[place][1:] * (y - fit.x @ found)[:, None] - np.outer(fit.by_row[place], found[1:])
        target = design.farthest(np.hstack([np.zeros((len(y), 1)), sign * slopes]), known)
        while share > SMALLEST_STEP:
            other = LeastSquares.of(fit.x + share * (target - fit.x))
            if other is None:
                return sign * np.inf
            moved = pairs.largest(sign * other.by_row[place])
            reached = sign * other.by_row[place] @ moved
            if reached > best + 1e-9 * abs(best):
                break
            share /= 2
        else:
            break
        fit, y, best, share = other, moved, reached, min(1.0, 2 * share)
    return float(sign * best)


def laws(fit: LeastSquares, pairs: Responses, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Return coefficients and variances if pairs follow one linear law, from unrelated pairs to pairs without noise.

    For each level of noise, y is sorted within classes by the fit plus noise, and the fit is that of these pairs.
    """
    found = fit.by_row @ pairs.means
    yield found, fit.variance(pairs.sorted_by(rng.random(len(pairs.labels))))
    noise = rng.normal(size=len(pairs.labels)) * pairs.rising.std()
    for level in NOISE:
        for _ in range(ROUNDS):
            y = pairs.sorted_by(fit.x @ found + level * noise)
            found = fit.by_row @ y
        yield found, fit.variance(y)


def orders(design: Design, x: Floats, pairs: Responses) -> Iterator[Floats]:
    """Return x as drawn, and with each column in the order of the others' share of the fit within classes, or against.

    A release does not say either which values of two columns x belong together.
    """
    yield x
    fit = LeastSquares.of(x)
    if fit is None or len(design.parts) < 2:
        return
    found = fit.by_row @ pairs.means
    for block in design.blocks:
        own = x[:, block] @ found[block]
        for sign in (1, -1):
            other = x.copy()
            other[:, block] = pairs.reordered(x[:, block], own, sign * (x @ found - own))
            yield other


# The regression


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
    fit: LeastSquares
    pairs: Responses


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
        raise InputError("'{name}' is both y and x", name=y.name)
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
    fit = LeastSquares.of(x[known])
    if fit is None:
        names = ", ".join(design.terms[1:])
        why = "they have too few rows, or one of them follows from the others within what is published"
        raise InputError("no regression on {names}: {why}", names=names, why=why)
    return _Drawn(known, fit, Responses.of(numbers[known], low[known], high[known], design.labels[known]))


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


def _law(x: Floats, pairs: Responses, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """Return coefficients and variances for all amounts of noise; NaN, if this order leaves them open."""
    fit = LeastSquares.of(x)
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
