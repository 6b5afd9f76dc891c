"""The risk of re-identification: prosecutor, journalist and marketer risk, and uniqueness in a population.

The three standard forms are those of El Emam & Dankar (2008). A prosecutor knows that the person is in the table, a
journalist has a register and wants anybody, a marketer wants as many as possible. `sizes` are the rows of each
published class, `people` the register's rows that fit it.

A table is often a sample: someone who is alone in the table need not be alone in the population. All estimators take
the class sizes of the sample and the size of the population.

- Zayatz (1991, "Estimation of the percent of unique population elements on a microdata file using the sample", U.S.
  Bureau of the Census) takes the classes of the population to be as large as those of the sample, and so finds too many
  people who are alone where the sample is a small part.
- Hoshino (2001, "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of Official
  Statistics 17) fits Pitman's random partition, in which the small classes follow a power law.
- Benedetti & Franconi (1998) give the individual risk (`journalist_by_sample`): given a class of the sample, the class
  of the population is negative binomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from tclose.types import Floats, Ints

# Risk of one release


def prosecutor(sizes: Ints) -> float:
    """Return the chance of linking the most exposed row, when the person is known to be in the table.

    >>> prosecutor(np.array([5, 2, 10]))
    0.5
    """
    return 1 / int(sizes.min())


def average_prosecutor(sizes: Ints) -> float:
    """Return the mean chance over all rows: each is found with a chance of one in the rows of its class.

    >>> average_prosecutor(np.array([5, 2, 3]))
    0.3
    """
    return len(sizes) / int(sizes.sum())


def journalist(sizes: Ints, people: Ints) -> float:
    """Return the chance of linking the most exposed row by way of a register; 0 where it knows nobody.

    >>> journalist(np.array([5, 2]), np.array([8, 40]))
    0.125
    """
    known = crowds(sizes, people)
    known = known[known > 0]
    return 1 / int(known.min()) if len(known) else 0.0


def crowds(sizes: Ints, people: Ints) -> Ints:
    """Return how many people fit each class; at least its own rows, even if the register knows fewer; 0 if nobody."""
    return np.where(people > 0, np.maximum(sizes, people), 0)


def marketer(sizes: Ints, people: Ints) -> float:
    """Return the share of rows that are linked rightly when each is linked to anybody who fits.

    Where a register knows fewer people than a class has rows, it is they who are linked to any of the rows.
    """
    fewer, more = np.minimum(sizes, people), np.maximum(sizes, people)
    return float((fewer / more).sum() / sizes.sum())


def unique(sizes: Ints, people: Ints) -> Ints:
    """Return how many rows of each class point to one person of the register and to nobody else."""
    return np.where((sizes == 1) & (people == 1), 1, 0)


# Estimates for the population that a sample was drawn from


GOLDEN = (math.sqrt(5) - 1) / 2
STEPS = 45  # of a golden section: the interval shrinks by 10^9
NODES = 64  # of a Gauss-Laguerre quadrature
MOST_BY_RECURSION = 40  # rows of a class; beyond, the quadrature is exact to 12 digits
LARGE = 1000.0  # arguments of the gamma function beyond which Stirling's series is used
LEAST_ALPHA, MOST_ALPHA = 1e-4, 1 - 1e-6


@dataclass(frozen=True)
class PopulationUniques:
    """How many people of a population are estimated to be alone in their class, and how many of them are sampled."""

    population: float
    sampled: float


def zayatz(sizes: Ints, population: int) -> PopulationUniques:
    """Estimate by the chance that a row that is alone in the sample is alone in the population, too."""
    rows, (size, count) = int(sizes.sum()), np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return PopulationUniques(0.0, 0.0)
    single = np.array([_chance_of_one(int(each), rows, population) for each in size])
    shared = float(count[0] * single[0] / (count * single).sum())
    sampled = float(count[0]) * shared
    return PopulationUniques(min(sampled * population / rows, float(population)), sampled)


def _chance_of_one(size: int, rows: int, population: int) -> float:
    """Return the hypergeometric chance that a sample holds exactly one of `size` people."""
    if rows - 1 > population - size:  # the others do not suffice
        return 0.0
    others = _log_ratio(population - size, rows - 1) - _log_ratio(population, rows)
    return size * rows * math.exp(others)


def _log_ratio(people: int, places: int) -> float:
    """Return the logarithm of people! / (people - places)!."""
    return log_gamma_ratio(people - places + 1, places)


def pitman(sizes: Ints, population: int) -> PopulationUniques:
    """Estimate by the expected number of singletons of Pitman's partition of the population, fitted to the sample."""
    alpha, theta = pitman_parameters(sizes)
    rows, share = int(sizes.sum()), theta + alpha
    singletons = (
        math.log(population) + log_gamma_ratio(share, population - 1) - log_gamma_ratio(theta + 1, population - 1)
    )
    uniques = min(math.exp(singletons), float(population))
    return PopulationUniques(uniques, min(uniques * rows / population, float((sizes == 1).sum())))


def pitman_parameters(sizes: Ints) -> tuple[float, float]:
    """Return the α and θ under which Pitman's sampling formula gives the classes the largest likelihood."""
    rows, classes = int(sizes.sum()), len(sizes)
    size, count = np.unique(sizes, return_counts=True)
    low, high = -12.0, math.log(rows) + 12  # of the logarithm of θ + α, which is above 0

    def best_theta(alpha: float) -> tuple[float, float]:
        def likelihood(log_share: float) -> float:
            theta = math.exp(log_share) - alpha
            grouped = (classes - 1) * math.log(alpha) + log_gamma_ratio(theta / alpha + 1, classes - 1)
            return grouped - log_gamma_ratio(theta + 1, rows - 1)

        return _largest(likelihood, low, high)

    def profile(alpha: float) -> float:
        within = sum(int(n) * log_gamma_ratio(1 - alpha, int(s) - 1) for s, n in zip(size, count, strict=True))
        return best_theta(alpha)[1] + within

    alpha, _ = _largest(profile, LEAST_ALPHA, MOST_ALPHA)
    return alpha, math.exp(best_theta(alpha)[0]) - alpha


def _largest(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return where a function with one peak is largest, and its value there, by golden sections."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
    return (left, at_left) if at_left > at_right else (right, at_right)


def log_gamma_ratio(start: float, steps: int) -> float:
    """Return the logarithm of start · (start + 1) · … · (start + steps - 1), also where start is very large.

    >>> round(math.exp(log_gamma_ratio(3, 3)), 9), round(log_gamma_ratio(1e12, 1), 6)
    (60.0, 27.631021)
    """
    if start < LARGE:
        return math.lgamma(start + steps) - math.lgamma(start)
    end = start + steps
    series = 1 / (12 * end) - 1 / (12 * start)
    return (start - 0.5) * math.log1p(steps / start) + steps * (math.log(end) - 1) + series


def journalist_by_sample(sizes: Ints, fraction: float) -> Floats:
    """Return, for each class, the expected chance of a right link if the register is the whole population.

    It is the mean of 1/F, where F - the people of the population in the class - is negative binomial with the sampling
    fraction p: p · ∫ u^(f-1) / (p + (1-p) u) du over [0, 1], where f are the rows of the class.

    >>> journalist_by_sample(np.array([1, 5]), 1.0).round(6).tolist()
    [1.0, 0.2]
    """
    size, place = np.unique(sizes, return_inverse=True)
    chances = np.array([_mean_of_inverse(int(rows), fraction) for rows in size])
    return np.asarray(chances[place])


def _mean_of_inverse(rows: int, p: float) -> float:
    q = 1 - p
    if p > 0.5 or rows > MOST_BY_RECURSION:
        nodes, weights = _laguerre()
        return float(p / rows * (weights / (p + q * np.exp(-nodes / rows))).sum())
    integral = math.log(1 / p) / q
    for done in range(1, rows):
        integral = (1 / done - p * integral) / q
    return p * integral


@cache
def _laguerre() -> tuple[Floats, Floats]:
    return np.polynomial.laguerre.laggauss(NODES)
