"""How far the estimates of population uniqueness are off, on populations that are known.

Run with the Python of .venv: python bench/population.py. Prints a line per population and sampling fraction: the true
share of people who are alone, and the median and the range of each estimate over 20 samples.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from tclose.measure.risk import pitman, zayatz
from tclose.types import Ints

SAMPLES, PEOPLE = 20, 30_000
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def restaurant(alpha: float, theta: float, chance: np.random.Generator) -> Ints:
    """Return the class of everyone in a population that follows Pitman's model."""
    seats, sizes = [0], [1]
    for person in range(1, PEOPLE):
        if chance.random() < (theta + len(sizes) * alpha) / (theta + person):
            seats.append(len(sizes))
            sizes.append(1)
        else:
            chosen = seats[chance.integers(person)]
            while chance.random() < alpha / sizes[chosen]:  # an old class is chosen in proportion to its size less α
                chosen = seats[chance.integers(person)]
            seats.append(chosen)
            sizes[chosen] += 1
    return np.array(seats)


def lognormal(spread: float, chance: np.random.Generator) -> Ints:
    """Return the class of everyone in a population whose classes have lognormal chances."""
    shares = chance.lognormal(0, spread, PEOPLE)
    return chance.choice(PEOPLE, PEOPLE, p=shares / shares.sum())


def table(name: str, columns: list[str]) -> Ints:
    """Return the class of every row of a real table, taken as a population."""
    frame = pl.read_csv(DATA / name, infer_schema_length=0).select(columns)
    return frame.select(pl.struct(columns).rank("dense"))[columns[0]].to_numpy().astype(np.int64)


def line(name: str, population: Ints, fraction: float, chance: np.random.Generator) -> str:
    """Compare estimates with the truth."""
    people = len(population)
    true = int((np.bincount(population) == 1).sum()) / people
    shares: dict[str, list[float]] = {"pitman": [], "zayatz": []}
    for _ in range(SAMPLES):
        sample = chance.choice(population, round(fraction * people), replace=False)
        sizes = np.unique(sample, return_counts=True)[1]
        for estimator in (pitman, zayatz):
            shares[estimator.__name__].append(estimator(sizes, people).population / people)
    spelled = (
        f"{estimator} {np.median(found):.3f} ({min(found):.3f} to {max(found):.3f})"
        for estimator, found in shares.items()
    )
    return f"{name}, {fraction:.0%} of {people:,}: true {true:.3f}; {'; '.join(spelled)}"


def main() -> None:
    """Print all lines."""
    chance = np.random.default_rng(1)
    populations = {
        "Pitman α=0.5 θ=100": restaurant(0.5, 100, chance),
        "Pitman α=0.8 θ=20": restaurant(0.8, 20, chance),
        "lognormal, spread 1": lognormal(1, chance),
        "lognormal, spread 2.5": lognormal(2.5, chance),
    }
    if DATA.is_dir():
        populations["adult.csv, 4 columns"] = table("adult.csv", ["age", "sex", "race", "education"])
        populations["adult.csv, 6 columns"] = table(
            "adult.csv", ["age", "sex", "race", "education", "occupation", "marital-status"]
        )
    for name, population in populations.items():
        for fraction in (0.01, 0.05, 0.2):
            print(line(name, population, fraction, chance), flush=True)


if __name__ == "__main__":
    sys.exit(main())
