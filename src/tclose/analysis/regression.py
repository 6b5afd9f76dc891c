"""Linear regression on a release, with intervals that cover what the release hides.

A release says which values of x and which values of y a class has, not which belong together. Under t-closeness the
classes also have nearly the same y. So the classes alone show too weak an association: what is missing happens within
them. Two cases enclose it. Pairs within a class may be unrelated, or y may be sorted by x. With X drawn within the
published ranges, coefficient j is Σ gᵢⱼ·yᵢ, where gⱼ is row j of (XᵀX)⁻¹Xᵀ, and both cases are exact: the mean y of the
class for every row, or y sorted by gⱼ within each class, which is the largest sum by the rearrangement inequality.

An interval reaches from one case to the other, and the usual uncertainty of a sample and that between the draws (Rubin,
1987) is added on both sides, as for a parameter that is identified up to a range (Imbens and Manski, 2004). Where the
sign of a coefficient is clear from the classes, only sorting in that direction counts, unless `any` is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import polars as pl

from tclose.analysis.columns import ExactColumn, ListColumn, PublishedColumn, RangeColumn
from tclose.analysis.drawing import Draw
from tclose.errors import InputError
from tclose.types import Floats, Ints

Direction = Literal["same", "any"]
INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class Regression:
    """The coefficients of a linear regression: estimates in the middle of what is possible, and intervals."""

    terms: tuple[str, ...]
    estimate: Floats
    lower: Floats
    upper: Floats
    unrelated: Floats  # the coefficients if x and y are unrelated within every class
    least: Floats  # the smallest and the largest that any pairing within classes gives
    largest: Floats
    standard_error: Floats  # of a sample, and of the draws
    rows: int
    level: float

    @property
    def frame(self) -> pl.DataFrame:
        """The coefficients, one row each."""
        names = ("estimate", "lower", "upper", "unrelated", "least", "largest", "standard_error")
        return pl.DataFrame({"term": self.terms, **{name: getattr(self, name) for name in names}})

    def __repr__(self) -> str:
        """List the coefficients with their intervals."""
        rows = zip(self.terms, self.estimate, self.lower, self.upper, strict=True)
        lines = (f"{term}: {estimate:.4g} [{low:.4g}, {high:.4g}]" for term, estimate, low, high in rows)
        return f"linear regression on {self.rows:,} rows, {self.level:.0%} intervals\n" + "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Case:
    """The coefficients of one draw: of unrelated pairs, of all pairs sorted by the fit, and the extremes of each."""

    unrelated: Floats
    by_fit: Floats
    least: Floats
    largest: Floats
    variance: Floats


def fitted(
    y: ExactColumn,
    x: Mapping[str, PublishedColumn],
    labels: Ints,
    *,
    level: float,
    direction: Direction,
    draws: int,
    seed: int,
) -> Regression:
    """Fit a regression; rows that lack a value are left out."""
    _check(y, x, level, direction, draws)
    rng = np.random.default_rng(seed)
    terms = (INTERCEPT, *(term for column in x.values() for term in _terms(column)))
    cases = [_case(y.numbers, _design(x, Draw(labels, rng)), labels, terms) for _ in range(draws)]
    unrelated, by_fit, least, largest, variance = (
        np.array([getattr(case, name) for case, _ in cases]) for name in _Case.__match_args__
    )
    error = np.sqrt(variance.mean(axis=0) + (1 + 1 / draws) * unrelated.var(axis=0, ddof=1))
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle, low, high = (each.mean(axis=0) for each in (unrelated, least, largest))
    first, last = _region(middle, by_fit.mean(axis=0), low, high, z * error, direction)
    return Regression(
        terms, (first + last) / 2, first - z * error, last + z * error, middle, low, high, error, cases[0][1], level
    )


def _check(y: ExactColumn, x: Mapping[str, PublishedColumn], level: float, direction: str, draws: int) -> None:
    if not x:
        raise InputError("a regression needs at least one column x")
    if y.name in x:
        raise InputError(f"'{y.name}' is both y and x")
    if not 0 < level < 1:
        raise InputError("the level of an interval lies between 0 and 1")
    if direction not in get_args(Direction):
        raise InputError("the direction is 'same' or 'any'")
    if draws < 2:
        raise InputError("a regression needs at least two draws")


def _region(
    unrelated: Floats, by_fit: Floats, least: Floats, largest: Floats, margin: Floats, direction: Direction
) -> tuple[Floats, Floats]:
    """Return from where to where the coefficients reach.

    The intercept moves against the slopes, as it does when all pairs are sorted by the fit.
    """
    clear = np.abs(unrelated) > margin
    upward = unrelated > 0
    clear[0], upward[0] = clear[1:].any(), by_fit[0] > unrelated[0]
    if direction == "any":
        clear[:] = False
    return np.where(clear & upward, unrelated, least), np.where(clear & ~upward, unrelated, largest)


def _case(y: Floats, design: Floats, labels: Ints, terms: tuple[str, ...]) -> tuple[_Case, int]:
    """Fit one draw."""
    known = ~(np.isnan(y) | np.isnan(design).any(axis=1))
    y, x = y[known], design[known]
    labels = np.unique(labels[known], return_inverse=True)[1]
    rows, width = x.shape
    if rows <= width or np.linalg.matrix_rank(x) < width:
        raise InputError(
            f"{', '.join(terms[1:])}: the columns have too few rows, or one of them follows from the others"
        )
    inverse = np.linalg.inv(x.T @ x)
    by_row = inverse @ x.T
    means = (np.bincount(labels, y) / np.bincount(labels))[labels]
    unrelated = by_row @ means
    residuals = y - x @ (by_row @ y)
    rising = y[np.lexsort((y, labels))]
    by_fit = by_row @ _placed(rising, np.lexsort((x @ unrelated, labels)))
    largest = np.array([g[np.lexsort((g, labels))] @ rising for g in by_row])
    least = np.array([g[np.lexsort((-g, labels))] @ rising for g in by_row])
    variance = np.diag(inverse) * (residuals @ residuals) / (rows - width)
    return _Case(unrelated, by_fit, least, largest, variance), rows


def _placed(values: Floats, order: Ints) -> Floats:
    placed = np.empty(len(values))
    placed[order] = values
    return placed


def _terms(column: PublishedColumn) -> tuple[str, ...]:
    """Return the names of a column's coefficients: one for a number, one for each value but the first of a set."""
    if isinstance(column, RangeColumn) or (isinstance(column, ExactColumn) and column.is_number):
        return (column.name,)
    return tuple(f"{column.name}={value}" for value in _levels(column)[1:])


def _levels(column: PublishedColumn) -> tuple[str, ...]:
    if isinstance(column, ListColumn):
        return column.values
    if isinstance(column, ExactColumn):
        return tuple(column.cells.cast(pl.String).drop_nulls().unique().sort())
    raise InputError(f"column '{column.name}' holds class means, which a regression on rows cannot use")


def _design(x: Mapping[str, PublishedColumn], draw: Draw) -> Floats:
    """Return the columns of the regression, the constant first; ranges and sets are drawn."""
    parts = [np.ones((len(draw.labels), 1))]
    for column in x.values():
        if isinstance(column, RangeColumn):
            parts.append(draw.numbers(column)[:, None])
        elif isinstance(column, ExactColumn) and column.is_number:
            parts.append(column.numbers[:, None])
        else:
            parts.append(_indicators(column, draw))
    return np.hstack(parts)


def _indicators(column: PublishedColumn, draw: Draw) -> Floats:
    levels = _levels(column)
    if isinstance(column, ListColumn):
        codes = draw.values(column)
    else:
        assert isinstance(column, ExactColumn)
        texts = column.cells.cast(pl.String)
        places = texts.replace_strict(list(levels), np.arange(len(levels)), default=-1, return_dtype=pl.Int64)
        codes = places.fill_null(-1).to_numpy()
    table = np.vstack([np.eye(len(levels)), np.full(len(levels), np.nan)])
    return np.asarray(table[codes][:, 1:])
