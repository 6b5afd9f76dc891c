"""How high the proven lower bound on GCP is after 60 CPU seconds, on every table of the comparison.

python bench/bound.py [NAME ...] prices only the cases whose names contain one of these. Every proof is verified.
python bench/bound.py tiny 5000 compares the bound of so many tiny tables with the optimum of the method `exact`.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import tclose
from cases import DATA, Case, cases
from measure import Measurement, at_least, at_most, machine, table
from tclose.measure.bound import bound_problem, lower_bound, verify_bound
from tclose.table import encode_quietly

SECONDS = 60.0
TARGETS = {
    "census FEDTAX t=0.05": 0.29,
    "census FEDTAX t=0.1": 0.234,
    "census FEDTAX t=0.25": 0.114,
    "adult equal t=0.2": 0.13,
    "adult equal t=0.15": 0.16,
    "sal500k t=0.02": 0.11,
}


def bounded(case: Case) -> Measurement:
    """Bound one case; the other cases have no target, but a bound is never negative."""
    problem = bound_problem(encode_quietly(case.table(), case.policy), case.policy)
    bound = lower_bound(problem, seconds=SECONDS, clock=time.process_time)
    started = time.process_time()
    verdict = verify_bound(bound.proof, problem)
    checked = time.process_time() - started
    assert verdict.holds, verdict.reason
    print(
        f"{case.name}: {float(bound.value):.5f} in {bound.seconds:.1f} CPU s, {bound.kind}; verified in {checked:.1f}"
    )
    return at_least(f"{case.name}: lower bound on GCP", float(bound.value), TARGETS.get(case.name, 0.0))


def tiny(tables: int) -> Measurement:
    """Count the tiny tables whose bound lies above the optimum: there must be none."""
    sys.path.insert(0, "tests/measure/bound")
    from test_laws import bounded as quickly_bounded
    from test_laws import optimum, tiny_problem

    compared = seed = wrong = 0
    ratios = []
    while compared < tables:
        problem, seed = tiny_problem(np.random.default_rng(10_000 + seed)), seed + 1
        if (least := optimum(problem)) is None:
            continue
        compared += 1
        bound = quickly_bounded(problem)
        wrong += bool(bound.value > least + 1e-9) or not verify_bound(bound.proof, problem).holds
        ratios += [float(bound.value) / least] if least > 1e-9 else []
    print(f"{compared:,} tables, bound/optimum: median {np.median(ratios):.2f}", file=sys.stderr)
    return at_most(f"{compared:,} tiny tables: bounds above the optimum", wrong, 0)


def main() -> None:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    names = sys.argv[1:]
    if names[:1] == ["tiny"]:
        measured = [tiny(int(names[1]))]
    elif not DATA.exists():
        sys.exit(f"left out: the tables of {DATA} are not there")
    else:
        chosen = [case for case in cases() if not names or any(name in case.name for name in names)]
        measured = [bounded(case) for case in chosen]
    print(f"\n{machine()}\n\n{table(measured)}")


if __name__ == "__main__":
    main()
