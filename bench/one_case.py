"""Anonymise one table of the comparison and print what it lost and which CPU time it took, as JSON.

    python bench/one_case.py NAME EFFORT SEED…

bench/quality.py starts it once with this version and once with an earlier one, so it uses only what both have: also
`cases.py`, which is this version's in both runs.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import tclose
from cases import cases, own_choice


def main() -> None:
    warnings.simplefilter("ignore")
    name, effort, *seeds = sys.argv[1:]
    case = next(case for case in (*cases(), *own_choice()) if case.name == name)
    frame = case.table()
    tclose.anonymize(frame.head(2000), case.policy, seed=1, effort=effort)  # warm-up: kernels are loaded
    for seed in seeds:
        start = time.process_time()
        content = tclose.anonymize(frame, case.policy, seed=int(seed), effort=effort).certificate.content
        took = time.process_time() - start
        assert content["satisfied"]
        assert content["withheld"] == 0
        print(json.dumps({"gcp": content["measures"]["gcp"], "cpu": took}), flush=True)


if __name__ == "__main__":
    main()
