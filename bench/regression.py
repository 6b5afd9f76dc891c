"""Linear regression on released tables: do the intervals cover the raw coefficients, and how wide are they?

    python bench/regression.py [--seeds 20] [--rows 2000] [--cases cps_mixtape,bwght] [--t 0.15]

The eight tables come from R's packages causaldata, wooldridge and AER. They were chosen before anything was measured.
For every seed, so many rows (at most four fifths) are drawn from a table and published with k = 5 and t as `columns`;
`tclose.load` reads the file with its certificate. An interval covers if it holds the coefficient of the raw rows; its
width is divided by that of the usual 95 % interval of the raw rows. Least squares on midpoints is there to compare.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tclose
from cases import r_table
from measure import machine

K = 5
DIRECTIONS = ("any", "fit", "same")
LEAST_SQUARES = "midpoints"


@dataclass(frozen=True)
class Case:
    """A table of R, what its policy names, and the regression that an analyst wants."""

    package: str
    name: str
    quasi: tuple[str, ...]
    y: str
    x: tuple[str, ...]

    def rows(self) -> pl.DataFrame:
        """Return the complete rows of the columns that are needed."""
        return r_table(self.package, self.name).select(*self.quasi, self.y).drop_nulls()


CASES = (
    Case("causaldata", "cps_mixtape", ("age", "educ", "re74"), "re75", ("re74", "age")),  # earnings a year before
    Case("causaldata", "nhefs_complete", ("wt71", "age", "sex"), "wt82", ("wt71", "age")),  # weight 11 years before
    Case("wooldridge", "wage2", ("educ", "exper", "age"), "wage", ("educ", "exper")),  # the less school, the more work
    Case("wooldridge", "k401ksubs", ("inc", "age", "fsize"), "nettfa", ("inc", "age")),  # wealth: long tails
    Case("wooldridge", "bwght", ("cigs", "faminc"), "bwght", ("cigs", "faminc")),  # most mothers do not smoke
    Case("wooldridge", "gpa2", ("sat", "hsperc", "female"), "colgpa", ("sat", "hsperc")),  # two measures of one talent
    Case("AER", "CPS1988", ("education", "experience", "ethnicity", "region"), "wage", ("education", "experience")),
    Case("AER", "NMES1988", ("age", "gender", "income"), "visits", ("age", "income")),  # hardly any association
)


def least_squares(design: Any, y: Any) -> tuple[Any, Any]:
    """Return the coefficients and their standard errors."""
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    residuals = y - design @ found
    return found, np.sqrt(np.diag(inverse) * (residuals @ residuals) / (len(y) - len(found)))


def design_of(rows: pl.DataFrame, x: tuple[str, ...]) -> Any:
    """Return the constant and the columns x."""
    return np.column_stack([np.ones(rows.height), *(rows[name].to_numpy().astype(float) for name in x)])


def drawn(frame: pl.DataFrame, most: int, seed: int) -> pl.DataFrame:
    """Return the rows of one seed."""
    rows = min(most, frame.height * 4 // 5)
    return frame[np.random.default_rng(seed).choice(frame.height, rows, replace=False)]


def published(raw: pl.DataFrame, case: Case, t: str, seed: int) -> tclose.LoadedRelease:
    """Publish rows as typed columns and load them."""
    policy = tclose.Policy.from_dict({"quasi": case.quasi, "sensitive": {case.y: {"t": t}}, "k": K})
    release = tclose.anonymize(raw, policy, seed=seed, effort="fast")
    with tempfile.TemporaryDirectory() as folder:
        out, certificate = Path(folder, "r.parquet"), Path(folder, "c.json")
        release.write(out, certificate=certificate, release_format="columns")
        return tclose.load(out, certificate)


def one(frame: pl.DataFrame, case: Case, t: str, most: int, seed: int) -> dict[str, Any]:
    """Compare the regressions of one seed: for each way, what covers, the widths and the bias of the estimates."""
    raw = drawn(frame, most, seed)
    y = raw[case.y].to_numpy().astype(float)
    coefficients, errors = least_squares(design_of(raw, case.x), y)
    loaded = published(raw, case, t, seed)
    intervals = {}
    for direction in DIRECTIONS:
        fit = loaded.regression(case.y, case.x, direction=direction)
        intervals[direction] = (fit.lower, fit.estimate, fit.upper)
    naive, margins = least_squares(design_of(loaded.midpoints, case.x), loaded.typed[case.y].to_numpy().astype(float))
    intervals[LEAST_SQUARES] = (naive - 1.96 * margins, naive, naive + 1.96 * margins)
    return {
        way: {
            "covers": (low <= coefficients) & (coefficients <= high),
            "width": (high - low) / (2 * 1.96 * errors),
            "bias": (estimate - coefficients) / errors,
        }
        for way, (low, estimate, high) in intervals.items()
    }


def lines(results: list[dict[str, Any]], case: Case) -> list[list[str]]:
    """Return a line for each coefficient, and one for all of them together."""
    found = {
        way: {name: np.array([each[way][name] for each in results]) for name in ("covers", "width", "bias")}
        for way in (*DIRECTIONS, LEAST_SQUARES)
    }
    texts = [
        [
            f"{case.name}: {term}",
            *(f"{100 * found[way]['covers'][:, place].mean():.0f}" for way in found),
            *(f"{found[way]['width'][:, place].mean():.1f}" for way in found),
            *(f"{found[way]['bias'][:, place].mean():+.1f}" for way in found),
        ]
        for place, term in enumerate(("intercept", *case.x))
    ]
    together = [f"{100 * found[way]['covers'].all(axis=1).mean():.0f}" for way in found]
    widest = [f"{found[way]['width'].max(axis=1).mean():.1f}" for way in found]
    return [*texts, [f"{case.name}: all", *together, *widest, *([""] * len(found))]]


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    parser.add_argument("--t", default="0.15")
    asked, started = parser.parse_args(), time.process_time()
    ways = (*DIRECTIONS, LEAST_SQUARES)
    heads = [f"{what}: {way}" for what in ("covered, %", "width / raw", "bias, raw errors") for way in ways]
    print(machine())
    print(f"| coefficient | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    for case in CASES:
        if case.name in asked.cases.split(","):
            frame = case.rows()
            results = [one(frame, case, asked.t, asked.rows, seed) for seed in range(asked.seeds)]
            print("\n".join(f"| {' | '.join(line)} |" for line in lines(results, case)), flush=True)
    print(f"{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
