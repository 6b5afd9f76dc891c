"""How much detail weave keeps: GCP on every table of the comparison, as the certificate tells it.

python bench/quality.py [fast|balanced|best]; nothing is timed. Every release is judged before its certificate exists.
"""

from __future__ import annotations

import sys
import warnings

import polars as pl

import tclose
from cases import DATA, HOSPITAL, cases, patients
from measure import Measurement, at_most, machine, table


def lost(frame: pl.DataFrame, policy: tclose.Policy, **options: str) -> float:
    """Return the GCP of a release."""
    content = tclose.anonymize(frame, policy, seed=1, **options).certificate.content
    assert content["satisfied"]
    assert content["withheld"] == 0
    return float(content["measures"]["gcp"])


def against_targets(effort: str) -> list[Measurement]:
    """Every table of the comparison."""
    if not DATA.exists():
        print(f"left out: the tables of {DATA} are not there", file=sys.stderr)
        return []
    found, halved = [], 0
    for case in cases():
        gcp = lost(case.table(), case.policy, effort=effort)
        found.append(at_most(f"{case.name}, {effort}: GCP", gcp, case.most))
        halved += gcp <= case.rival / 2
    print(f"at most half of the best rival's loss: {halved} of {len(found)}", file=sys.stderr)
    return found


def against_fragmentation(effort: str) -> Measurement:
    """The hospital: half of what the published method loses, mended."""
    frame = patients(100_000)
    half = lost(frame, HOSPITAL, method="fragmentation") / 2
    return at_most(f"hospital 100,000 rows, {effort}: GCP", lost(frame, HOSPITAL, effort=effort), round(half, 4))


def main() -> None:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    effort = sys.argv[1] if len(sys.argv) > 1 else "best"
    found = [*against_targets(effort), against_fragmentation(effort)]
    print(f"\n{machine()}\n\n{table(found)}")


if __name__ == "__main__":
    main()
