"""Linear regression on released tables: do the helper's intervals cover the raw coefficients, and how wide are they?

    python bench/regression.py [--seeds 200] [--rows 2000] [--cases nhanes,salary] [--t 0.15,0.1]

For every seed, so many rows are drawn from a real table and published with k = 5 and t as `columns`; `tclose.load`
reads the file with its certificate. An interval covers if it holds the coefficient of the raw rows; its width is
divided by that of the usual 95 % interval of the raw rows. Least squares on midpoints is there to compare with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tclose
from cases import DATA
from measure import machine

K = 5
ADULT = 18  # years: blood pressure of children follows another law
CASES: dict[str, tuple[str, list[str], str, list[str]]] = {  # file, quasi-identifiers, y, x
    "nhanes": ("nhanes_labs.csv", ["Age", "Gender", "HHIncomeMid"], "BPSysAve", ["Age", "Gender"]),
    "salary": ("census_sal500k.csv", ["age", "sex", "education"], "salary_class", ["age", "sex", "education"]),
}


def rows_of(case: str) -> pl.DataFrame:
    """Return the complete rows of a table."""
    file, quasi, y, _ = CASES[case]
    frame = pl.read_csv(DATA / file, infer_schema_length=None).select(*quasi, y).drop_nulls()
    return frame.filter(pl.col("Age") >= ADULT) if case == "nhanes" else frame


def least_squares(design: Any, y: Any) -> tuple[Any, Any]:
    """Return the coefficients and their standard errors."""
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    residuals = y - design @ found
    return found, np.sqrt(np.diag(inverse) * (residuals @ residuals) / (len(y) - len(found)))


def raw_design(rows: pl.DataFrame, x: list[str]) -> Any:
    """Return the constant and the columns x; of texts, one column for each value but the first."""
    parts = [np.ones(rows.height)]
    for name in x:
        if rows.schema[name] == pl.String:
            parts += [(rows[name] == value).to_numpy().astype(float) for value in rows[name].unique().sort()[1:]]
        else:
            parts.append(rows[name].to_numpy().astype(float))
    return np.column_stack(parts)


def published(rows: pl.DataFrame, case: str, t: float, seed: int) -> tclose.LoadedRelease:
    """Publish rows as typed columns and load them."""
    _, quasi, y, _ = CASES[case]
    policy = tclose.Policy.from_dict({"quasi": quasi, "sensitive": {y: {"t": str(t)}}, "k": K})
    release = tclose.anonymize(rows, policy, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        out, certificate = Path(folder, "r.parquet"), Path(folder, "c.json")
        release.write(out, certificate=certificate, release_format="columns")
        return tclose.load(out, certificate)


def one(frame: pl.DataFrame, case: str, t: float, rows: int, seed: int) -> dict[str, Any]:
    """Compare the regressions of one seed."""
    _, _, y, x = CASES[case]
    raw = frame[np.random.default_rng(seed).choice(frame.height, rows, replace=False)]
    coefficients, errors = least_squares(raw_design(raw, x), raw[y].to_numpy().astype(float))
    loaded = published(raw, case, t, seed)
    found = loaded.regression(y, x)
    middles = _middles(loaded, x)
    naive, naive_errors = least_squares(middles, loaded.typed[y].to_numpy().astype(float))
    return {
        "terms": found.terms,
        "covers": (found.lower <= coefficients) & (coefficients <= found.upper),
        "width": (found.upper - found.lower) / (2 * 1.96 * errors),
        "bias": (found.estimate - coefficients) / errors,
        "midpoints cover": np.abs(naive - coefficients) <= 1.96 * naive_errors,
    }


def _middles(loaded: tclose.LoadedRelease, x: list[str]) -> Any:
    drawn, middle = loaded.resample(0), loaded.midpoints
    parts = {name: middle[name] if name in middle.columns else drawn[f"{name}_synthetic"] for name in x}
    return raw_design(pl.DataFrame(parts), x)


def figures(results: list[dict[str, Any]], case: str, t: float) -> list[list[str]]:
    """Return one line for each coefficient, and one for all of them together."""
    found = []
    covers, naive = (np.array([each[name] for each in results]) for name in ("covers", "midpoints cover"))
    widths, biases = (np.array([each[name] for each in results]) for name in ("width", "bias"))
    for place, term in enumerate(results[0]["terms"]):
        found.append(
            [
                f"{case}, t = {t:g}: {term}",
                f"{100 * covers[:, place].mean():.1f}",
                f"{widths[:, place].mean():.2f}",
                f"{widths[:, place].max():.2f}",
                f"{biases[:, place].mean():+.2f}",
                f"{100 * naive[:, place].mean():.1f}",
            ]
        )
    together, most = f"{100 * covers.all(axis=1).mean():.1f}", f"{widths.max(axis=1).mean():.2f}"
    by_midpoints = f"{100 * naive.all(axis=1).mean():.1f}"
    found.append([f"{case}, t = {t:g}: all", together, most, f"{widths.max():.2f}", "", by_midpoints])
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    if not DATA.exists():
        sys.exit(f"left out: the tables of {DATA} are not there")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--cases", default="nhanes,salary")
    parser.add_argument("--t", default="0.15,0.1")
    asked, started = parser.parse_args(), time.perf_counter()
    print(machine())
    print("| coefficient | covered, % | mean width / raw | largest | bias in raw errors | midpoints cover, % |")
    print("|---|---|---|---|---|---|")
    for t in map(float, asked.t.split(",")):
        for case in asked.cases.split(","):
            frame = rows_of(case)
            results = [one(frame, case, t, asked.rows, seed) for seed in range(asked.seeds)]
            print("\n".join(f"| {' | '.join(line)} |" for line in figures(results, case, t)), flush=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
