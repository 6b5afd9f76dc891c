"""The published method, mended: classes and loss on real tables, growth and memory on the hospital.

Warm-up: one small run before anything is timed, so that compiled kernels are loaded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import polars as pl

import tclose
from measure import Measurement, at_least, at_most, seconds, table
from tclose.examples import hospital

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "shared" / "data"
QUASI = ["zip", "age", "sex", "education", "occupation"]
LABS = ["ldl", "hdl", "hemoglobin", "systolic"]
HOSPITAL = tclose.Policy(quasi=QUASI, sensitive={lab: {"t": 0.15} for lab in LABS}, k=5, others="drop")
NHANES_QUASI = ["Age", "Gender", "Race1", "HHIncomeMid", "HomeRooms"]
NHANES = {"Pulse": {"t": 0.1}, "BPSysAve": {"t": 0.1}, "DirectChol": {"t": 0.15}, "TotChol": {"t": 0.15}}

PEAK = """
import sys, warnings, polars as pl
sys.path.insert(0, {here!r})
warnings.simplefilter("ignore")
from release import HOSPITAL, released
import tclose
from tclose.examples import hospital

def memory(field):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(field))

released(hospital(2000, seed=3), HOSPITAL)
frame = pl.read_parquet({path!r})
before = memory("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
release = tclose.anonymize(frame, HOSPITAL, method="fragmentation", seed=1)
made = memory("VmHWM")
release.write({out!r})
print((made - before) / frame.estimated_size(), (memory("VmHWM") - before) / frame.estimated_size())
"""


def released(frame: pl.DataFrame, policy: tclose.Policy, **options: str) -> dict[str, object]:
    """Anonymise and return the certificate's content."""
    return dict(tclose.anonymize(frame, policy, method="fragmentation", seed=1, **options).certificate.content)


def census() -> list[Measurement]:
    """Classes and loss on census_casc, from the a-priori bound alone."""
    frame, found = tclose.read(DATA / "census_casc.csv"), []
    quasi = ["TAXINC", "POTHVAL"]

    def run(t: float, *columns: str, **options: str) -> dict[str, object]:
        asked = {column: {"t": t} for column in columns}
        return released(frame, tclose.Policy(quasi=quasi, sensitive=asked, k=2, others="drop"), **options)

    printed = run(0.25, "FEDTAX", "FICA", bound="published", sizing="gcd")
    found.append(at_most("census FEDTAX+FICA t=.25, as printed: classes", printed["classes"], 1))
    for t, least in ((0.1, 25), (0.25, 100)):
        found.append(at_least(f"census FEDTAX+FICA t={t}: classes", run(t, "FEDTAX", "FICA")["classes"], least))
    for t, least, loss in ((0.05, 35, 0.55), (0.1, 75, 0.48), (0.25, 250, 0.36)):
        content = run(t, "FEDTAX")
        found.append(at_least(f"census FEDTAX t={t}: classes", content["classes"], least))
        found.append(at_most(f"census FEDTAX t={t}: GCP", content["measures"]["gcp"], loss))
    return found


def nhanes() -> list[Measurement]:
    """Four sensitive attributes, five quasi-identifiers, 11,270 rows."""
    frame = tclose.read(DATA / "nhanes_labs.csv")
    policy = tclose.Policy(quasi=NHANES_QUASI, sensitive=NHANES, k=3, others="drop")
    content: dict[str, object] = {}
    taken = seconds(lambda: content.update(released(frame, policy)))
    return [
        at_least("nhanes, four attributes: classes", content["classes"], 2),
        at_most("nhanes, four attributes: seconds", taken, 60),
    ]


def growth() -> Measurement:
    """Ten times the rows."""
    small, large = hospital(20_000, seed=1), hospital(200_000, seed=1)
    few = min(seconds(lambda: released(small, HOSPITAL)) for _ in range(3))
    return at_most(
        "hospital, four labs, 200,000 rows / 20,000 rows: time", seconds(lambda: released(large, HOSPITAL)) / few, 13
    )


def memory() -> list[Measurement]:
    """What anonymize(), and then write(), add at their peaks to a process that holds the frame."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "hospital.parquet")
        hospital(200_000, seed=1).write_parquet(path)
        code = PEAK.format(here=str(HERE), path=path, out=str(Path(folder) / "release.csv"))
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    made, written = map(float, answer.stdout.split())
    return [
        at_most("hospital, 200,000 rows: peak memory that anonymize() adds / the frame", made, 8),
        at_most("the same, with the CSV written and judged from disk", written, 8),
    ]


def main() -> None:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    released(hospital(2000, seed=3), HOSPITAL)
    found = [*(census() if DATA.exists() else []), *(nhanes() if DATA.exists() else []), growth(), *memory()]
    print(f"\n{table(found)}")


if __name__ == "__main__":
    main()
