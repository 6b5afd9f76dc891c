"""Plant the slips of `mutations.toml`, one at a time, in a copy of the sources; the tests must notice them.

    python bench/mutations.py
    python bench/mutations.py --only seed_of_apply_is_dropped --jobs 2

A slip that no test notices is a survivor: it needs a test. At most two may survive. A slip whose text is not found, or
which no test can even load, is a mistake of the list. In the end, the tests that noticed something run once more
without any slip, and must pass. The sources themselves are never changed.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".toml")
PACKAGE = Path("src", "tclose")
MOST_SURVIVORS = 2
CPU_SECONDS = 600  # of one process, several times what the tests of a slip take: an endless loop is noticed, too
SECONDS = 3600  # after which tests are ended that wait for something in vain
PASSED, FAILED = 0, 1  # exit statuses of pytest
FAILURE = re.compile(r"(?:FAILED|ERROR) (\S+?(?:::[\w.]+)*(?:\[.*?\])?)(?: - .*)?")  # of pytest's summary: the test
OPTIONS = ("-x", "--tb=no", "--no-header", "-rfE", "-p", "no:cacheprovider", "-m", "not soak")


@dataclass(frozen=True, kw_only=True)
class Slip:
    """A plausible mistake: the text of one file that becomes another one, and the tests that have to notice it."""

    name: str
    file: str  # below src/tclose
    text: str
    becomes: str
    slip: str  # how it happens
    tests: tuple[str, ...]  # below tests, the nearest first
    compiled: bool = False  # whether compiled loops change

    def changed(self, source: str) -> str:
        """Return the source with the slip."""
        return source.replace(self.text, self.becomes)

    def problems(self, root: Path) -> list[str]:
        """Say why the slip cannot be planted in the sources as they are."""
        path = root / PACKAGE / self.file
        if not path.is_file():
            return [f"{self.name}: there is no file {self.file}"]
        source = path.read_text(encoding="utf-8")
        if (found := source.count(self.text)) != 1:
            return [f"{self.name}: its text stands in {self.file} {found} times, not once"]
        problems = [
            f"{self.name}: there are no tests {each}" for each in self.tests if not (root / "tests" / each).exists()
        ]
        if self.becomes == self.text:
            problems.append(f"{self.name}: it changes nothing")
        try:
            ast.parse(self.changed(source))
        except SyntaxError:
            problems.append(f"{self.name}: what it becomes is no Python")
        return problems


def slips() -> list[Slip]:
    """Read the list."""
    given = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Slip(**{**said, "name": name, "tests": tuple(said["tests"])}) for name, said in given.items()]


@dataclass(frozen=True)
class Outcome:
    """What the tests made of a slip, which of them noticed it, and how many seconds of CPU that took."""

    slip: Slip
    status: str  # killed, SURVIVED or BROKEN
    noticed_by: str
    seconds: float


class Copy:
    """A copy of the repository in which slips are planted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)  # with its time, by which numba knows it

    @contextmanager
    def planted(self, slip: Slip) -> Iterator[None]:
        """Let the copy have a slip, and the compiled loops that it leaves as they are."""
        from warm_kernels import keep_kernels

        path = self.folder / PACKAGE / slip.file
        path.write_text(slip.changed(path.read_text(encoding="utf-8")), encoding="utf-8")
        try:
            if not slip.compiled:
                keep_kernels(self.folder / PACKAGE)
            yield
        finally:
            shutil.copy2(ROOT / PACKAGE / slip.file, path)

    def run(self, tests: Sequence[str], *options: str) -> tuple[int, list[str], float]:
        """Run tests; return pytest's status (none if they hang), those that failed, and the seconds of CPU."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *OPTIONS, *options, *tests],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(self.folder / "src"), "CI": "true"},  # which shortens no line
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            alarm = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            alarm.start()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            alarm.cancel()
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()
        failed = [found[1] for line in lines if (found := FAILURE.fullmatch(line)) is not None]
        return process.returncode, failed, used.ru_utime + used.ru_stime

    def outcome(self, slip: Slip) -> Outcome:
        """Plant a slip and run its tests until one fails."""
        tests = [*(f"tests/{each}" for each in slip.tests), str(PACKAGE / slip.file)]
        with self.planted(slip):
            status, failed, seconds = self.run(tests)
        if status == PASSED:
            return Outcome(slip, "SURVIVED", "", seconds)
        if status < 0:
            return Outcome(slip, "killed", "tests that never end", seconds)
        if status == FAILED and failed:
            return Outcome(slip, "killed", failed[0], seconds)
        return Outcome(slip, "BROKEN", f"pytest ended with status {status}", seconds)


def outcomes(chosen: Sequence[Slip], jobs: int) -> Iterator[Outcome]:
    """Try slips in as many copies as there are jobs; then those tests without a slip, which must pass."""
    with tempfile.TemporaryDirectory(prefix="tclose-mutations-") as place, ThreadPoolExecutor(jobs) as pool:
        (Path(place) / "shared").symlink_to(ROOT.parent / "shared")  # the real tables, beside the repository
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(jobs):
            copies.put(Copy(Path(place, str(number))))

        def tried(slip: Slip) -> Outcome:
            copy = copies.get()
            try:
                return copy.outcome(slip)
            finally:
                copies.put(copy)

        found = []
        for outcome in (each.result() for each in as_completed([pool.submit(tried, slip) for slip in chosen])):
            found.append(outcome)
            yield outcome
        noticed = {each.noticed_by: each for each in found if each.status == "killed" and "::" in each.noticed_by}
        if noticed:
            status, failed, _ = copies.get().run(sorted(noticed), "--maxfail=1000")
            if status not in (PASSED, FAILED):
                raise SystemExit(f"without any slip, pytest ended with status {status}")
            for test in failed:
                yield Outcome(noticed[test].slip, "BROKEN", f"{test} fails without the slip, too", 0.0)


def main() -> int:
    """Try the slips that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="try these slips")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="slips that are tried at a time")
    asked = parser.parse_args()
    every = slips()
    chosen = [slip for slip in every if asked.only is None or slip.name in asked.only]
    if unknown := {*(asked.only or ())} - {slip.name for slip in every}:
        parser.error(f"there is no slip {', '.join(sorted(unknown))}")
    if problems := [problem for slip in chosen for problem in slip.problems(ROOT)]:
        print(*problems, sep="\n")
        return 1
    from warm_kernels import compile_what_is_missing

    for line in compile_what_is_missing(checked=False):
        print(line, flush=True)
    counts, seconds = dict.fromkeys(("killed", "SURVIVED", "BROKEN"), 0), 0.0
    for each in outcomes(chosen, asked.jobs):
        counts[each.status] += 1
        seconds += each.seconds
        print(f"{each.status:9}{each.seconds:7.1f} s  {each.slip.name}  {each.noticed_by}", flush=True)
    print(f"{len(chosen)} slips: {counts['killed']} killed, {counts['SURVIVED']} survived, {counts['BROKEN']} broken; "
          f"{seconds:.0f} CPU seconds")  # fmt: skip
    return int(counts["SURVIVED"] > MOST_SURVIVORS or counts["BROKEN"] > 0)


if __name__ == "__main__":
    sys.path.append(str(ROOT / "tests"))
    sys.exit(main())
