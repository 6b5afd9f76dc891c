"""`make fuzz`: damaged files by the thousand, through the real command line. Nothing may crash, hang or deceive.

    python bench/fuzz                          10,000 cases, a new seed
    python bench/fuzz --cases 100 --seed 7     a hundred cases, always the same
    python bench/fuzz --only 7000042           one case again; its files stay in ./fuzz-finds/7000042

A find is: an exit status other than 0, 1 and 2, a process that dies, a case that takes too long, a control character
or the text of a crash on stdout or stderr, or a verdict that differs from that of an oracle, of another order of the
rows or of another format. The exit status is 1 when there is a find.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from worker import work

HERE = Path(__file__).resolve().parent
FINDS = Path("fuzz-finds")
SPACING = 1_000_000  # between the seeds of two runs
CASE_SECONDS = 120  # a case takes a fraction of a second; this is for a machine that does other things as well


@dataclass(frozen=True)
class Find:
    """A case that went wrong."""

    seed: int
    what: str


class Worker:
    """A process that works through cases; it is ended when a case takes too long, and replaced when it dies."""

    def __init__(self, published: Path) -> None:
        self._published = published
        self._process: subprocess.Popen[str] | None = None

    def run(self, seed: int) -> tuple[str, str | None]:
        """Return the kind of a case and what went wrong, if anything did."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        timer = threading.Timer(CASE_SECONDS, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            process.stdin.write(f"{seed}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer = json.loads(line)
            return answer["kind"], answer["what"]
        status = process.wait()
        self._process = None
        return "unknown", f"it took longer than {CASE_SECONDS} s" if late.is_set() else f"the process died ({status})"

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, str(HERE), "--work", str(self._published)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self._process

    def end(self) -> None:
        """Let the process go."""
        if self._process is not None:
            self._process.kill()
            self._process.__exit__(None, None, None)


def fuzz(seeds: list[int], workers: int, published: Path) -> tuple[Counter[str], list[Find]]:
    """Run all cases, some side by side."""
    left: SimpleQueue[int] = SimpleQueue()
    for seed in seeds:
        left.put(seed)
    kinds: Counter[str] = Counter()
    finds: list[Find] = []

    def run() -> None:
        worker = Worker(published)
        try:
            while True:
                seed = left.get_nowait()
                kind, what = worker.run(seed)
                kinds[kind] += 1
                if what is not None:
                    finds.append(Find(seed, what))
                    _keep(seed, what, published)
        except Empty:
            pass
        finally:
            worker.end()

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return kinds, finds


def _keep(seed: int, what: str, published: Path) -> None:
    """Keep the files of a find, and say how to see it again."""
    folder = _write(seed, published)
    print(f"FIND {seed}: {what}\n     python {HERE} --only {seed}    (files in {folder})", flush=True)


def _write(seed: int, published: Path) -> Path:
    """Write the files of a case and a script that runs its commands; return their folder."""
    folder = FINDS / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, str(HERE), "--write", str(folder), str(seed), "--published", str(published)]
    subprocess.run(command, check=True)
    return folder


def _again(seed: int, published: Path) -> int:
    """Run a case once more, show what its commands print, and say whether it is still a find."""
    folder = _write(seed, published)
    subprocess.run([sys.executable, str(folder / "run.py")], check=False)
    _, finds = fuzz([seed], 1, published)
    if not finds:
        print(f"case {seed} is no find (files in {folder})")
    return 1 if finds else 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run tclose on damaged files.")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="run one case again and show what it printed")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--published", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make-published", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _made(folder: Path) -> Path:
    """Publish the releases whose certificates are damaged."""
    command = [sys.executable, str(HERE), "--make-published", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def main() -> int:
    given = options()
    if given.work or given.write or given.make_published:
        return work(given)
    with tempfile.TemporaryDirectory() as name:
        published = given.published or _made(Path(name))
        if given.only is not None:
            return _again(given.only, published)
        seed = secrets.randbelow(100_000) if given.seed is None else given.seed
        print(f"{given.cases:,} cases with --seed {seed} on {given.workers} workers", flush=True)
        begun = time.monotonic()
        kinds, finds = fuzz([seed * SPACING + n for n in range(given.cases)], given.workers, published)
    listed = ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
    print(f"{len(finds):,} finds in {sum(kinds.values()):,} cases ({listed}) in {time.monotonic() - begun:.0f} s")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
