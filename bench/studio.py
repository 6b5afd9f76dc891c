"""The studio with 500,000 rows: how fast every click is answered, alone and beside work, and how fast work ends.

One JSON line per figure: {name, value, target, holds}. With `--runs 50` also the memory over that many judgements.
Requests go to the real server one after the other, without a browser; a static file is the empty page.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

TABLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "census_sal500k.csv"
SCREENS = ("open", "columns", "quasi", "sensitive", "risk", "try", "inside", "attack", "publish", "verify")
LIVE = ("sensitive/worst?place=0&t=0.15&distance=equal", "publish/plan?format=csv&name=visits&report=yes")
CHANGES = {
    "columns/role": [{"place": "4", "role": role} for role in ("keep", "quasi")],
    "quasi/k": [{"k": k} for k in ("5", "6")],
    "quasi/column": [{"place": "0", "weight": weight} for weight in ("1", "2")],
    "sensitive/column": [{"place": "0", "t": t} for t in ("0.1", "0.2")],
    "undo": [{"screen": "try"}],
    "redo": [{"screen": "try"}],
}
TRIES, CANCELS = 20, 5
QUICK, CANCELLED = 0.2, 2.0  # seconds
TIMES = dict[str, list[float]]


class Visit:
    """A studio of its own, and requests to it."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-c", "from tclose.cli import main; main()", "studio", "--no-browser"]
        self.server = subprocess.Popen(
            command, env={**os.environ, "HOME": str(home)}, stdout=subprocess.PIPE, text=True
        )
        assert self.server.stdout is not None
        found = re.fullmatch(r"http://(127.0.0.1:(\d+))/\?token=(.+)", self.server.stdout.readline().strip())
        assert found is not None
        self.host, _, token = found.groups()
        self.headers, self.root = {"Origin": f"http://{self.host}"}, ""
        with urllib.request.urlopen(f"http://{self.host}/?token={token}", timeout=60) as entrance:  # it works once
            cookie, path, *_ = entrance.headers["set-cookie"].split("; ")
        self.headers["Cookie"], self.root = cookie, path.removeprefix("Path=")
        self.headers["X-Form-Token"] = re.findall(r'X-Form-Token": "(\w+)', self.ask("GET", "/")[1])[0]
        self.key = ""

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[float, str, str]:
        """Send a request; return the seconds until its answer was read, the answer, and where it leads."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection(self.host, timeout=600)
        begun = time.perf_counter()
        connection.request(
            method, f"{self.root}{path}", urlencode(form or {}), self.headers | (kind if method == "POST" else {})
        )
        answer = connection.getresponse()
        text = answer.read().decode()
        seconds = time.perf_counter() - begun
        assert answer.status < 400, (path, answer.status)
        connection.close()
        return seconds, text, answer.headers.get("location", "").removeprefix(self.root)

    def post(self, action: str, **form: str) -> float:
        return self.ask("POST", f"/p/{self.key}/{action}", form)[0]

    def job(self) -> dict[str, object]:
        return dict(json.loads(self.ask("GET", f"/p/{self.key}/job")[1]))

    def work(self, action: str, **form: str) -> float:
        """Do some work to its end; return its seconds."""
        begun = time.perf_counter()
        self.post(action, **form)
        self.wait()
        return time.perf_counter() - begun

    def wait(self) -> None:
        while (job := self.job())["state"] == "running":
            time.sleep(0.05)
        if job["state"] == "failed":
            sys.exit(f"{job['kind']}: {job['error']}")

    def close(self) -> None:
        self.server.terminate()
        self.server.communicate()


def say(name: str, value: float, target: float | None = None) -> None:
    judged = {} if target is None else {"target": target, "holds": value <= target}
    print(json.dumps({"name": name, "value": round(value, 4), **judged}), flush=True)


def prepare(visit: Visit) -> None:
    """Open the table, give every column its role, and do all work once."""
    visit.key = visit.ask("POST", "/open", {"path": str(TABLE)})[2].split("/")[2]
    visit.ask("GET", f"/p/{visit.key}/open")
    visit.wait()
    for place in range(8):
        visit.post("columns/role", place=str(place), role="sensitive" if place == 7 else "quasi")
    visit.post("sensitive/column", place="0", t="0.1")
    say("work: judging the table, seconds", visit.work("risk/judge"))
    say("work: a release, fast, seconds", visit.work("try/run", method="weave", effort="fast"))
    say("work: looking into its classes, seconds", visit.work("inside/class", **{"candidate": "1"}))
    say("work: attacking it, seconds", visit.work("attack/run", candidate="1"))


def clicks(visit: Visit, label: str, keep_busy: bool) -> TIMES:
    """Time every screen and every change; work goes on beside them where it is asked for."""
    times: TIMES = {}
    for _ in range(TRIES):
        for path in [f"/p/{visit.key}/{screen}" for screen in (*SCREENS, *LIVE)] + ["/", "/static/icon.svg"]:
            if keep_busy and visit.job()["state"] != "running":
                visit.post("try/run", method="weave", effort="best")
            name = path.partition("?")[0].rpartition("/")[2] or "start"
            times.setdefault(name, []).append(visit.ask("GET", path)[0])
        for action, forms in CHANGES.items():
            for form in forms:
                times.setdefault(action, []).append(visit.post(action, **form))
    empty = median(times.pop("icon.svg"))
    for name, found in times.items():
        say(f"{label}: {name}, median seconds", median(found), QUICK)
        say(f"{label}: {name}, worst seconds", max(found))
        say(f"{label}: {name}, median / empty page", median(found) / empty)
    return times


def cancels(visit: Visit) -> None:
    """Time from the click on Cancel until the work has ended."""
    found = []
    for part in range(CANCELS):
        visit.post("try/run", method="weave", effort="best")
        while visit.job()["share"] == 0:
            time.sleep(0.02)
        time.sleep(part)
        begun = time.perf_counter()
        visit.post("cancel", screen="try")
        while visit.job()["state"] == "running":
            time.sleep(0.01)
        found.append(time.perf_counter() - begun)
    say("cancel: worst seconds", max(found), CANCELLED)
    say("cancel: median seconds", median(found), CANCELLED)


def starts(visit: Visit) -> None:
    """Time how long a click that starts work takes, where nothing runs and where other work has to end first."""
    found: TIMES = {"nothing runs": [], "work runs": []}
    for _ in range(CANCELS):
        visit.post("cancel", screen="try")
        for times in found.values():
            times.append(visit.post("try/run", method="weave", effort="best"))
            while visit.job()["share"] == 0:
                time.sleep(0.02)
    visit.post("cancel", screen="try")
    for label, times in found.items():
        say(f"{label}: starting work, median seconds", median(times), QUICK)
        say(f"{label}: starting work, worst seconds", max(times))


def memory(process: int) -> float:
    """Return the resident megabytes of a process."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) / 1024


def grown(visit: Visit, runs: int) -> None:
    """Say how memory changes over many judgements: a worker is renewed now and then, the server is not."""
    server, workers = list[float](), list[float]()
    for run in range(runs):
        visit.work("risk/judge")
        children = [
            int(each)
            for task in Path(f"/proc/{visit.server.pid}/task").glob("*/children")
            for each in task.read_text().split()
        ]
        server.append(memory(visit.server.pid))
        workers.append(max(map(memory, children)))
        if run % 10 == 9:
            say(f"memory after {run + 1} runs: server, MB", server[-1])
            say(f"memory after {run + 1} runs: worker, MB", workers[-1])
    say(f"memory: server after {runs} runs / after 5", server[-1] / server[4], 1.1)
    calm = median(workers[-10:]) / median(workers[20:30])  # the first workers have made releases, too
    say("memory: worker, median of the last 10 runs / of runs 20 to 30", calm, 1.1)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=0)
    runs = options.parse_args().runs
    if not TABLE.exists():
        sys.exit(f"{TABLE} is absent")
    with tempfile.TemporaryDirectory() as home:
        visit = Visit(Path(home))
        try:
            prepare(visit)
            clicks(visit, "nothing runs", keep_busy=False)
            clicks(visit, "work runs", keep_busy=True)
            cancels(visit)
            starts(visit)
            if runs:
                grown(visit, runs)
        finally:
            visit.close()


if __name__ == "__main__":
    main()
