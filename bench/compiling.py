"""Cold compile time of weave, in CPU seconds: each effort in a fresh process with an empty kernel cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

RUN = """
import json, resource, sys, warnings
import tclose
from tclose.examples import hospital
warnings.simplefilter("ignore")
policy = tclose.Policy.from_dict({policy})
table = hospital(600, seed=3)
tclose.anonymize(table, policy, seed=1, effort="{effort}")
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(used.ru_utime + used.ru_stime))
"""
POLICY = {
    "k": 5,
    "others": "drop",
    "quasi": {"zip": {"hierarchy": {"prefix": [5, 3, 1]}}, "age": {}, "sex": {}},
    "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.5, "distance": "equal"}},
}


def cpu_seconds(effort: str, cache: str) -> float:
    """Return what one process needs to publish a small table with this kernel cache."""
    code = RUN.format(policy=POLICY, effort=effort)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    return float(json.loads(done.stdout))


def main() -> None:
    """Print, per effort, the CPU seconds with an empty cache, with a full one, and the difference."""
    for effort in ("fast", "balanced", "best"):
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = cpu_seconds(effort, cache), cpu_seconds(effort, cache)
        figures = {"cold": cold, "warm": warm, "compile": cold - warm}
        print(json.dumps({"effort": effort, **{name: round(seconds, 1) for name, seconds in figures.items()}}))


if __name__ == "__main__":
    main()
