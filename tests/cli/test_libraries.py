"""What libraries do behind Python's back: they abort without memory, panic and print. A command ends in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tclose.cli.process import ABORTED, NO_MEMORY, NO_THREADS, shortage
from tclose.table.sources.door import NO_ROOM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="libraries are contained on POSIX systems only")

POLICY = "[quasi.zone]\n[sensitive.pay]\nt = 1\n"


def released(
    folder: Path, environment: dict[str, str], method: str, *, before: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "table.csv").write_text("zone,pay\n" + "a,1\nb,2\n" * 5)
    (folder / "policy.toml").write_text(POLICY)
    arguments = ["anonymize", "table.csv", "--policy", "policy.toml", "--out", "release.csv", "--method", method]
    command = [sys.executable, "-c", f"{before}\nfrom tclose.cli import main; main()", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
        timeout=1800,
    )


def test_polars_aborts_for_want_of_memory(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    done = released(tmp_path, misbehaving, "aborts")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{NO_MEMORY}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "table.csv"]


def test_an_abort_while_files_are_written_leaves_none(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    """The write of the release aborts when its file is open already."""
    patch = (
        "import polars as pl, tclose.release.output as release\n"
        "def abort(frame, kind, file):\n"
        "    file.write(b'half'); pl.repeat(1, 1 << 58, dtype=pl.Int64, eager=True)\n"
        "release.write_table = abort\n"
    )
    done = released(tmp_path, misbehaving, "mondrian", before=patch)
    assert (done.returncode, done.stderr) == (2, f"{NO_MEMORY}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "table.csv"]


def test_any_other_abort_is_a_bug(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    patch = "import os, threading; threading.Timer(0, lambda: None)\nimport tclose.steps as steps\n"
    patch += f"steps.publish = lambda *a, **k: os.kill(os.getpid(), {int(signal.SIGABRT)})\n"
    done = released(tmp_path, misbehaving, "mondrian", before=patch)
    assert (done.returncode, done.stderr) == (70, f"{ABORTED}\n")


def test_a_panic_is_reported_without_its_text(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    done = released(tmp_path, misbehaving, "panics")
    assert done.returncode == 70
    assert "panicked" not in done.stderr
    assert "out-of-range" not in done.stderr
    assert done.stderr.startswith("error: this is a bug in tclose (PanicException)")


def test_what_a_library_prints_never_reaches_the_terminal(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    done = released(tmp_path, misbehaving, "prints")
    assert done.returncode == 0
    assert "a library prints" not in done.stderr


def test_no_more_threads(tmp_path: Path, misbehaving: dict[str, str]) -> None:
    done = released(tmp_path, misbehaving, "threads")
    assert (done.returncode, done.stderr) == (2, f"{NO_THREADS}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on addresses holds on Linux")
def test_a_table_larger_than_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "table.csv").open("wb") as file:
        file.truncate(8 << 30)  # a hole: it takes no space on the disk
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))"
    code = f"{limit}\nfrom tclose.cli import main; main()"
    command = [sys.executable, "-c", code, "init", "table.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=1800)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {NO_ROOM}\n")


def test_which_errors_mean_that_nothing_is_left() -> None:
    assert shortage(MemoryError()) == NO_MEMORY
    assert shortage(RuntimeError("can't start new thread")) == NO_THREADS
    assert shortage(RuntimeError("anything else")) is None
    assert shortage(ValueError("can't start new thread")) is None
