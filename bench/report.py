"""The page of a 30,000-row release: how much it weighs, and how long it takes to open in headless Chromium.

One JSON line per figure: {name, value, target, holds}. Opening ends when every chart is drawn, by the page's own clock.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

from tclose import Policy, anonymize, attack, read
from tclose.examples import write_example

ROWS = 30_000
TRIES = 5


def say(name: str, value: float, target: float) -> None:
    print(json.dumps({"name": name, "value": round(value, 3), "target": target, "holds": value < target}), flush=True)


def opened(page: Path, folder: Path) -> float:
    """Return the seconds until everything is drawn."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}", "--timeout=20000"]
    done = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True)
    found = re.search(r'data-milliseconds="(\d+)"', done.stdout)
    if found is None:
        sys.exit("the page was not drawn")
    return int(found[1]) / 1000


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, policy_file = write_example(folder, rows=ROWS, seed=7)
        frame, policy = read(table), Policy.load(policy_file)
        release = anonymize(frame, policy, seed=7, effort="fast")
        found = attack(release, original=frame, policy=policy)
        page, start = folder / "report.html", time.perf_counter()
        release.report(page, original=frame, attacks=found)
        say("report: seconds to write the page", time.perf_counter() - start, 30)
        say("report: megabytes", page.stat().st_size / 1e6, 3)
        if shutil.which("chromium") is None:
            print("opening was not measured; install chromium: sudo apt-get install -y chromium", file=sys.stderr)
            return
        say("report: seconds to open", median(opened(page, folder) for _ in range(TRIES)), 2)


if __name__ == "__main__":
    main()
