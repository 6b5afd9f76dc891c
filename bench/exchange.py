"""What the exchange attack learns from releases of several methods, and what `temper` changes (docs/method.md).

Made tables have two uniform quasi-identifiers and one independent attribute of two values, 30 % "yes"; t = 0.2. The
adversary knows everybody's class. For real tables, the classes are found again from the release, as `tclose attack`
does. Figures are means over the seeds; "right" is of those of which the adversary is sure, on the true values and on
values that are shuffled within classes.

    python bench/exchange.py made [ROWS] | real
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import tclose
from cases import cases
from tclose.measure.exchange import AttributeInference, inference_of
from tclose.measure.exchange.knowledge import whole_classes
from tclose.partition import method_and_options, method_named
from tclose.partition.weave.temper import tempered
from tclose.types import silent
from temper import made_table

METHODS = ("weave", "weave:best", "sabre", "microaggregation:swap", "microaggregation:merge", "mondrian")
REAL_METHODS = ("weave", "sabre", "microaggregation:merge", "mondrian")
CASES = ("census FEDTAX t=0.25", "adult equal t=0.2")
TEMPER = 0.2
SEEDS = range(6)
HEADINGS = (
    "GCP | pair test (by correlation) | best guess, class → correlation → attack | gain (bits) | sure (right) "
    "| shuffled: pair test, right | s"
)


def line(name: str, gcp: float, found: list[tuple[AttributeInference, AttributeInference]], seconds: float) -> str:
    """Return one line of the table: the means over some tables."""

    def mean(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    true, shuffled = zip(*found, strict=True)
    sure = sum(one.sure for one in true)
    right, chance = (sum(one.right for one in each) / max(sure, 1) for each in (true, shuffled))
    guesses = " → ".join(
        f"{mean(getattr(one, guess) for one in true):.3f}"
        for guess in ("class_guess", "correlation_guess", "best_guess")
    )
    certain = f"{sure / sum(one.rows for one in true):.1%}" + (f" ({right:.0%})" if sure else "")
    control = f"{mean(one.pair_test for one in shuffled):.3f}" + (f", {chance:.0%}" if sure else "")
    pairs = f"{mean(one.pair_test for one in true):.3f} ({mean(one.correlation_pair_test for one in true):.3f})"
    figures = f"{pairs} | {guesses} | {mean(one.gain for one in true):.3f}"
    return f"| {name} | {gcp:.4f} | {figures} | {certain} | {control} | {seconds:.1f} |"


def made(rows: int, k: int, method: str, share: float) -> str:
    """Attack releases of made tables."""
    found, losses, seconds = [], [], 0.0
    method_name, options = method_and_options(method)
    for seed in SEEDS:
        problem = made_table(rows, 0.3, k, seed)
        labels = method_named(method_name)(problem, seed=seed, progress=silent, **options)
        labels = tempered(problem, labels, share, seed, silent) if share else labels
        begun = time.process_time()
        inference = inference_of(whole_classes(problem, labels, ("value",)))
        seconds += time.process_time() - begun
        found.append((inference.figures[0], inference.control[0]))
        sides = [np.ptp(problem.points[labels == c], axis=0).mean() for c in range(labels.max() + 1)]
        losses.append(float(np.bincount(labels) @ np.array(sides)) / rows)
    return line(
        f"{rows:,}, k = {k}: {method}{', temper' if share else ''}", np.mean(losses), found, seconds / len(SEEDS)
    )


def real(case: Any, method: str, share: float) -> str:
    """Attack a release of a real table as the command does."""
    policy = replace(case.policy, temper=Fraction(str(share)) if share else None)
    table = case.table()
    release = tclose.anonymize(table, policy, method=method, seed=1)
    begun = time.process_time()
    finding = tclose.attack(release, original=table, policy=policy)["exchange"].findings["release"]
    seconds, details = time.process_time() - begun, finding.details
    if not details:
        return f"| {case.name}: {method} | {release.certificate.measures['gcp']:.4f} | {finding.sentence} |||||"
    found = [
        (AttributeInference(name, **figures), AttributeInference(name, **details["control"][name]))
        for name, figures in details["attributes"].items()
    ]
    rows = f"{details['rows']:,} of {table.height:,} rows"
    name = f"{case.name} ({rows}): {method}{', temper' if share else ''}"
    return line(name, release.certificate.measures["gcp"], found, seconds)


def main() -> None:
    """Print one line per table and method."""
    warnings.simplefilter("ignore", tclose.LeakWarning)
    print(f"| table, method | {HEADINGS} |\n" + "|---" * 8 + "|", flush=True)
    if sys.argv[1:2] == ["real"]:
        by_name = {case.name: case for case in cases()}
        for name in CASES:
            for method, share in [("weave", 0.0), ("weave", TEMPER), *((other, 0.0) for other in REAL_METHODS[1:])]:
                print(real(by_name[name], method, share), flush=True)
        return
    for rows, k in [(int(sys.argv[2]), 3)] if len(sys.argv) > 2 else [(200, 3), (1000, 3), (1000, 5), (200, 10)]:
        for method in METHODS:
            print(made(rows, k, method, 0.0), flush=True)
        print(made(rows, k, "weave", TEMPER), flush=True)


if __name__ == "__main__":
    main()
