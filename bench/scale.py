"""What a release of a large table takes besides the partition: CPU seconds per phase, and peak memory.

    python bench/scale.py phases [copies] [labels.npy]    CPU seconds and peak memory of every phase
    python bench/scale.py memory [copies] [labels.npy]    peak memory alone, measured without a look at the phases
    python bench/scale.py check [copies]                  the check, out of core and in memory (20 copies by default)

The table is census_sal500k, repeated (2 copies by default: a million rows), as a Parquet file; the release is Parquet,
too. The denominator is polars reading, sorting and writing the same file, in the same run. Every figure comes from a
process of its own. Kernels are compiled already; CPU seconds are counted after a small release has loaded them, while
memory holds only what this release needs. With a file of labels, which is made if there
is none, the classes of one copy are taken from it and repeated, so that tables of any size can be looked at.
The denominator of the check is polars' streaming group_by of the same columns.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from measure import at_most, machine, table

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "census_sal500k.csv"
POLICY = {
    "k": 2,
    "others": "drop",
    "quasi": ["age", "sex", "education"],
    "sensitive": {"salary_class": {"t": 0.088}},
}
PARTITION, LABELS = "partition", "labels.npy"
PHASES = {  # phase: the functions that do its work, each as (module, name)
    "read": [("tclose.run.commands", "as_frame")],
    "encode": [("tclose.run.rows", "encode")],
    "feasibility": [("tclose.run.anonymization", "publishable"), ("tclose.run.anonymization", "columns_of_own_values")],
    PARTITION: [("tclose.release.published_table", "split")],
    "recode": [("tclose.release.published_table", "recoded_classes")],
    "order": [("tclose.release.published_table", "ordered")],
    "measures": [("tclose.release.layouts.one_table", "published_table")],
    "write": [("tclose.release.release", "write_table")],
    "read back": [("tclose.release.release", "_read")],
    "judge": [("tclose.release.published_table", "judge"), ("tclose.release.published_table", "encode_quietly")],
    "exposed": [("tclose.release.release", "exposed_rows")],
}
MOST_CPU, MOST_MEGABYTES = 2.0, 300.0  # times polars; above the interpreter
MOST_CHECK_CPU = 4.0  # times polars


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, all its threads, and the processes that it waited for."""
    return sum(os.times()[:4])


def megabytes(field: str) -> float:
    """Return what Linux says about this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


class Clock:
    """Adds CPU seconds up by phase, those of an inner phase to the inner one only; and the peak memory of each."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.peaks: dict[str, float] = defaultdict(float)
        self._stack, self._last = ["other"], cpu_seconds()

    def lap(self) -> None:
        """Put what was used since the last lap down to the current phase."""
        now = cpu_seconds()
        self.seconds[self._stack[-1]] += now - self._last
        self.peaks[self._stack[-1]] = max(self.peaks[self._stack[-1]], megabytes("VmHWM"))
        Path("/proc/self/clear_refs").write_text("5")
        self._last = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what happens inside as this phase."""
        self.lap()
        self._stack.append(name)
        try:
            yield
        finally:
            self.lap()
            self._stack.pop()

    def watch(self, phase: str, module: str, name: str) -> None:
        """Count every call of a function."""
        work = getattr(import_module(module), name)

        def watched(*given: Any, **named: Any) -> Any:
            with self.phase(phase):
                done = work(*given, **named)
                return iter(list(done)) if isinstance(done, Iterator) else done

        setattr(import_module(module), name, watched)


def release(path: Path, out: Path) -> None:
    """Publish a table."""
    from tclose.steps import anonymize

    warnings.simplefilter("ignore")
    anonymize(str(path), POLICY, out=out, certificate=out.with_suffix(".json"), seed=1, force=True)


def warm(folder: Path) -> None:
    """Load the compiled kernels by a small release."""
    pl.read_csv(DATA, n_rows=2000).write_parquet(folder / "small.parquet")
    release(folder / "small.parquet", folder / "small_release.parquet")


def use_labels(path: Path, *, record: bool) -> None:
    """Write down the classes that the partition makes, or take them from a file that has them."""
    published = import_module("tclose.release.published_table")
    split = published.split

    def recorded(*given: Any) -> Any:
        made = split(*given)
        np.save(path, made.labels)
        return made

    def repeated(rows: Any, *_: Any) -> Any:
        labels = np.load(path).astype(np.int64)
        copies, classes = len(rows.table) // len(labels), int(labels.max()) + 1
        return published.Split(np.concatenate([labels + copy * classes for copy in range(copies)]), None)

    published.split = recorded if record else repeated


def run_ours(what: str, folder: Path) -> dict[str, Any]:
    """Publish the table of a folder and return the figures."""
    import tclose  # noqa: F401

    idle, labels, files = megabytes("VmRSS"), folder / LABELS, (folder / "table.parquet", folder / "out.parquet")
    if what == "phases":
        warm(folder)
    if what == "record" or labels.exists():
        use_labels(labels, record=what == "record")
    if what in ("record", "memory"):
        release(*files)
        return {"peak": megabytes("VmHWM") - idle, "idle": idle}
    clock = Clock()
    for phase, functions in PHASES.items():
        for module, name in functions:
            clock.watch(phase, module, name)
    clock.lap()
    clock.seconds.clear()
    release(*files)
    clock.lap()
    return {"seconds": clock.seconds, "peaks": {name: peak - idle for name, peak in clock.peaks.items()}}


def run_polars(folder: Path) -> dict[str, float]:
    """Read, sort and write the table, and return the figures."""
    idle, before = megabytes("VmRSS"), cpu_seconds()
    frame = pl.read_parquet(folder / "table.parquet")
    frame.sort(frame.columns).write_parquet(folder / "sorted.parquet")
    return {"seconds": cpu_seconds() - before, "peak": megabytes("VmHWM") - idle}


def run_group_by(folder: Path) -> dict[str, float]:
    """Count the groups of rows that a check has to count, and return the figures."""
    idle, before = megabytes("VmRSS"), cpu_seconds()
    columns = [*POLICY["quasi"], *POLICY["sensitive"]]
    pl.scan_parquet(folder / "table.parquet").group_by(columns).len().collect(engine="streaming")
    return {"seconds": cpu_seconds() - before, "peak": megabytes("VmHWM") - idle}


def run_check(engine: Literal["memory", "disk"], folder: Path) -> dict[str, Any]:
    """Check the table, and return the figures and the answer; the process that reads the file counts, too."""
    from tclose.run import disk  # noqa: F401
    from tclose.steps import check

    idle, before = megabytes("VmRSS"), cpu_seconds()
    answer = check(folder / "table.parquet", POLICY, engine=engine).to_dict()
    seconds, peak = cpu_seconds() - before, megabytes("VmHWM") - idle
    reader = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"seconds": seconds, "peak": peak, "idle": idle, "reader": reader, "answer": answer}


def main_check(copies: int) -> None:
    """Measure the check of a large table."""
    with tempfile.TemporaryDirectory() as name:
        folder, one = Path(name), pl.read_csv(DATA)
        pl.concat([one] * copies, rechunk=True).write_parquet(folder / "table.parquet")
        size = (folder / "table.parquet").stat().st_size / 2**20
        del one
        theirs, ours, memory = apart("group by", folder), apart("only disk", folder), apart("only in memory", folder)
    assert ours["answer"] == memory["answer"]
    print(f"{copies * 500_000:,} rows, {size:.0f} MB of Parquet; {machine()}")
    print(f"polars: {theirs['seconds']:.2f} CPU s, {theirs['peak']:.0f} MB")
    print(f"the interpreter with tclose imported: {ours['idle']:.0f} MB")
    for where, found in (("disk", ours), ("memory", memory)):
        print(
            f"{where}: {found['seconds']:.2f} CPU s, {found['peak']:.0f} MB above the interpreter; "
            f"the process that reads the file: {found['reader']:.0f} MB in all"
        )
    told = [at_most("CPU s of the check out of core / polars", ours["seconds"] / theirs["seconds"], MOST_CHECK_CPU)]
    print(f"\n{table(told)}")


def apart(what: str, folder: Path) -> Any:
    """Run a part of this file in a process of its own."""
    return apart_in(__file__, what, folder)


def apart_in(file: str, what: str, folder: Path) -> Any:
    """Run a part of a file in a process of its own."""
    command = [sys.executable, file, what, str(folder)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])


def main() -> None:
    """Measure."""
    copies = next((int(word) for word in sys.argv[2:] if word.isdigit()), 2)
    known = next((Path(word) for word in sys.argv[2:] if word.endswith(".npy")), None)
    with tempfile.TemporaryDirectory() as name:
        folder, one = Path(name), pl.read_csv(DATA)
        if known is not None:
            if not known.exists():
                one.write_parquet(folder / "table.parquet")
                apart("record", folder)
                shutil.copy(folder / LABELS, known)
            shutil.copy(known, folder / LABELS)
        pl.concat([one] * copies, rechunk=True).write_parquet(folder / "table.parquet")
        del one
        theirs, ours = apart("polars", folder), apart(f"only {sys.argv[1]}", folder)
    print(f"{copies * 500_000:,} rows; {machine()}\npolars: {theirs['seconds']:.2f} CPU s, {theirs['peak']:.0f} MB")
    if sys.argv[1] == "memory":
        print(f"the interpreter with tclose imported: {ours['idle']:.0f} MB")
        told = [at_most("peak memory above the interpreter, MB", ours["peak"], MOST_MEGABYTES)]
    else:
        for phase, seconds in ours["seconds"].items():
            print(f"{phase:12} {seconds:7.2f} CPU s   peak {ours['peaks'][phase]:6.0f} MB")
        besides = sum(seconds for phase, seconds in ours["seconds"].items() if phase != PARTITION)
        told = [at_most(f"CPU s besides the partition ({besides:.2f}) / polars", besides / theirs["seconds"], MOST_CPU)]
    print(f"\n{table(told)}")


COMMANDS: dict[str, Callable[[Path], Any]] = {
    "polars": run_polars,
    "record": lambda folder: run_ours("record", folder),
    "only phases": lambda folder: run_ours("phases", folder),
    "only memory": lambda folder: run_ours("memory", folder),
    "group by": run_group_by,
    "only disk": lambda folder: run_check("disk", folder),
    "only in memory": lambda folder: run_check("memory", folder),
}

if __name__ == "__main__":
    if sys.argv[1] in COMMANDS:
        print(json.dumps(COMMANDS[sys.argv[1]](Path(sys.argv[2]))))
    elif sys.argv[1] == "check":
        main_check(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    else:
        main()
