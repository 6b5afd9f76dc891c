"""`tclose anonymize`, killed, interrupted, ended or out of space: the old release or a whole new one, nothing between.

The method is one without kernels: what is tested is how the command ends, not how rows are split.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tclose import Policy, anonymize, verify
from tclose.examples import hospital
from tclose.release.certificate import load

from .conftest import Outcome

POLICY = """
others = "drop"
k = 3
[quasi.age]
[quasi.zip]
hierarchy = { prefix = [4, 3, 2, 1] }
[quasi.sex]
[sensitive.ldl]
t = 0.2
[sensitive.glucose]
t = 0.2
[sensitive.systolic]
t = 0.2
"""
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--force", "--method", "mondrian")
FILES = ("--out", "r.csv", "--certificate", "c.json", "--record", "seed.json")
COMMAND = [sys.executable, "-c", "from tclose.cli import main; main()"]
ROWS = 2000  # as CSV, more than the small disks below have space for

DEADLY = """
import os, signal, sys
from tclose.cli import main, terminal
number, last = getattr(signal, sys.argv.pop(1)), int(sys.argv.pop(1))
moments, writing = 0, False

def moment():
    global moments
    moments += 1
    if moments == last:
        os.kill(os.getpid(), number)

def deadly(name):
    original = getattr(os, name)
    def call(*given, **more):
        global writing
        writing = writing or str(given[0]).endswith(".part")
        if not writing:
            return original(*given, **more)
        moment()
        answer = original(*given, **more)
        moment()
        return answer
    setattr(os, name, call)

terminal.ProgressBar.__call__ = lambda self, share, phase="": moment()
for function in ("open", "fsync", "replace", "chmod"):
    deadly(function)
try:
    main()
finally:
    sys.stderr.write(f"{moments} moments")
"""


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(autouse=True)
def old(folder: Path) -> dict[str, bytes]:
    """Put a table there, and an older release with its certificate; return all files."""
    hospital(ROWS, seed=1).write_csv(folder / "t.csv")
    (folder / "p.toml").write_text(POLICY)
    release = anonymize(hospital(50, seed=2), Policy.load(folder / "p.toml"), method="mondrian")
    release.write(folder / "r.csv", certificate=folder / "c.json")
    return content_of(folder)


def copies(folder: Path, number: int) -> Iterator[Path]:
    """Make folders with the same files."""
    files = content_of(folder)
    for index in range(number):
        copy = folder / f"copy{index}"
        copy.mkdir()
        for name, data in files.items():
            (copy / name).write_bytes(data)
        yield copy


def sound(folder: Path, old: dict[str, bytes]) -> bool:
    """Assert that the release is the old one or a complete new one that verifies; tell whether it is new."""
    found = content_of(folder)
    new = found["r.csv"] != old["r.csv"]
    if new:
        assert verify(folder / "r.csv", folder / "c.json").holds
    loaded = load(folder / "c.json")
    assert loaded.digest == loaded.written_digest
    if "seed.json" in found:
        assert json.loads(found["seed.json"])["seed"] >= 0
        assert stat.S_IMODE((folder / "seed.json").stat().st_mode) == 0o600
    return new


def left_behind(folder: Path, old: dict[str, bytes]) -> set[str]:
    """Return the files that are neither of the old release nor of a new one."""
    return set(content_of(folder)) - set(old) - {"seed.json"}


def ended_often(folder: Path, name: str, times: int) -> tuple[Sequence[Path], list[int]]:
    """Run the command in several folders; it sends itself a signal, each time at a later moment of its work.

    Return the folders and the exit statuses. A moment is a report of progress, or just before or after a call that
    opens, flushes or renames a file.
    """
    first, *others = copies(folder, times + 1)
    moments = int(ended_at(first, name, 0).stderr.split()[0])
    assert moments > 20
    chosen = [round(moment) for moment in np.linspace(1, moments, times)]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda copy, moment: ended_at(copy, name, moment), others, chosen))
    return others, [end.returncode for end in ends]


def ended_at(folder: Path, name: str, moment: int) -> subprocess.CompletedProcess[str]:
    """Run the command; it sends itself a signal at one of its moments, counted from 1, or at none."""
    command = [sys.executable, "-c", DEADLY, name, str(moment), *ASKED, *FILES]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)


@pytest.mark.parametrize("moments", [2, pytest.param(12, marks=pytest.mark.soak)])
def test_killed_at_any_moment(folder: Path, old: dict[str, bytes], moments: int) -> None:
    folders, ends = ended_often(folder, "SIGKILL", moments)
    assert set(ends) == {-signal.SIGKILL}
    new = [sound(copy, old) for copy in folders]
    assert new == sorted(new)  # old up to some moment, new from then on
    assert set(new) == {False, True}
    parts = {name for copy in folders for name in left_behind(copy, old)}
    assert all(name.startswith(".tclose-") and name.endswith(".part") for name in parts)


@pytest.mark.parametrize("moments", [2, pytest.param(6, marks=pytest.mark.soak)])
def test_asked_to_end_at_any_moment(folder: Path, old: dict[str, bytes], moments: int) -> None:
    """Nothing is left behind; while the files get their names, the request comes too late."""
    folders, ends = ended_often(folder, "SIGTERM", moments)
    assert set(ends) <= {143, 0}
    assert ends[0] == 143
    for copy, end in zip(folders, ends, strict=True):
        assert left_behind(copy, old) == set()
        assert sound(copy, old) == (end == 0)
        assert end == 0 or content_of(copy) == old


def skip_if_ignored(name: str) -> None:
    if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here, as under nohup: the work would never end")


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "ended on request"),
        ("SIGHUP", 129, "the terminal was closed"),
    ],
)
def test_asked_to_end_during_the_work(
    folder: Path, old: dict[str, bytes], misbehaving: dict[str, str], name: str, status: int, says: str
) -> None:
    skip_if_ignored(name)
    os.mkfifo(folder / "begun")
    environment = {**os.environ, **misbehaving, "BEGUN": str(folder / "begun")}
    command = [*COMMAND, *ASKED[:-1], "endless", *FILES]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        (folder / "begun").read_text()  # waits until the method has begun
        child.send_signal(getattr(signal, name))
        out, err = child.communicate(timeout=1800)
    assert (child.returncode, out, err.strip()) == (status, "", says)
    assert content_of(folder) == old


IMPATIENT = """
import os, signal
from tclose.cli import main
from tclose.release import files
discard = files.Pending.discard

def interrupted(self):
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGHUP)
    discard(self)

files.Pending.discard = interrupted
files.put_in_place = None
def ended(*_):
    os.kill(os.getpid(), signal.SIGTERM)
from tclose.release import release
release.put_in_place = ended
main()
"""


def test_a_second_signal_does_not_interrupt_the_cleaning_up(folder: Path, old: dict[str, bytes]) -> None:
    command = [sys.executable, "-c", IMPATIENT, *ASKED, *FILES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "ended on request\n")
    assert content_of(folder) == old


@pytest.mark.parametrize(
    ("name", "status"),
    [("SIGTERM", 143), *(pytest.param(*end, marks=pytest.mark.soak) for end in (("SIGHUP", 129), ("SIGINT", 130)))],
)
def test_a_comparison_is_asked_to_end(
    folder: Path, old: dict[str, bytes], misbehaving: dict[str, str], name: str, status: int
) -> None:
    """While it waits for its processes: none of them outlives it, and no page is left."""
    skip_if_ignored(name)
    os.mkfifo(folder / "begun")
    environment = {**os.environ, **misbehaving, "BEGUN": str(folder / "begun")}
    asked = ("compare", "t.csv", "--policy", "p.toml", "--methods", "endless", "--limit", "600", "--out", "page.html")
    with subprocess.Popen(
        [*COMMAND, *asked], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        process = int((folder / "begun").read_text())
        child.send_signal(getattr(signal, name))
        out, _ = child.communicate(timeout=1800)
    assert (child.returncode, out) == (status, "")
    assert not Path(f"/proc/{process}").exists()
    assert content_of(folder) == old


def test_a_swallowed_request_to_end_is_raised_again() -> None:
    """As by a library that frees an object at that moment: the next report of progress ends the work."""
    code = (
        "import os, signal\n"
        "from tclose.cli.process import Ended, clean_up_when_ended\n"
        "from tclose.cli.terminal import ProgressBar\n"
        "clean_up_when_ended()\n"
        "try:\n    os.kill(os.getpid(), signal.SIGTERM)\nexcept Ended:\n    pass\n"
        "try:\n    ProgressBar()(0.5)\nexcept Ended as ended:\n    print(ended.exit_status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=1800)
    assert done.stdout == "143\n", done.stderr


def test_a_hang_up_that_is_ignored_stays_ignored(folder: Path, old: dict[str, bytes]) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which the process below inherits
    try:
        done = ended_at(folder, "SIGHUP", 3)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert done.returncode == 0
    assert sound(folder, old)


# Files get their names: nothing is there and the status says so, or all is there and the command has done its work

NAMING = """
import os, signal, sys
from tclose.cli import main, show
from tclose.release import files
step, number = sys.argv.pop(1), getattr(signal, sys.argv.pop(1))

def ends(place, name, before, after):
    original = getattr(place, name)
    def call(*given, **more):
        calls.append(name)
        if step == before.format(calls.count(name)):
            os.kill(os.getpid(), number)
        answer = original(*given, **more)
        if step == after.format(calls.count(name)):
            os.kill(os.getpid(), number)
        return answer
    setattr(place, name, call)

calls = []
ends(files.Pending, "publish", "before name {}", "after name {}")
ends(files.Pending, "discard", "before discarding {}", "after discarding {}")
ends(files, "flush_folder", "before flushing {}", "after flushing {}")
ends(show, "show_release", "before the answer", "after the answer")
main()
"""
LATE = "asked to end too late: the files had got their names already, so the command has done all its work\n"


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("before name 1", "SIGTERM"),
        pytest.param("before flushing 1", "SIGTERM", marks=pytest.mark.soak),
        ("after name 1", "SIGINT"),
        pytest.param("before name 2", "SIGHUP", marks=pytest.mark.soak),
        pytest.param("after name 3", "SIGTERM", marks=pytest.mark.soak),
        ("before discarding 1", "SIGHUP"),
        pytest.param("before the answer", "SIGTERM", marks=pytest.mark.soak),
        ("after the answer", "SIGTERM"),
    ],
)
def test_asked_to_end_while_files_get_their_names(folder: Path, old: dict[str, bytes], step: str, name: str) -> None:
    """The first name decides: from then on the work is finished, with its own answer and status."""
    skip_if_ignored(name)
    command = [sys.executable, "-c", NAMING, step, name, *ASKED, *FILES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert (done.returncode, done.stderr) == (0, LATE)
    assert done.stdout.startswith("Released r.csv: ")
    assert sound(folder, old)
    assert left_behind(folder, old) == set()
    assert (folder / "seed.json").exists()


def test_asked_to_end_before_files_get_their_names(folder: Path, old: dict[str, bytes]) -> None:
    before = NAMING.replace(
        'ends(files.Pending, "publish"', 'from tclose.release import release\nends(release, "put_in_place"'
    )
    command = [sys.executable, "-c", before, "before name 1", "SIGTERM", *ASKED, *FILES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "ended on request\n")
    assert content_of(folder) == old


# Out of space


@pytest.mark.parametrize("out", ["r.csv", pytest.param("new.parquet", marks=pytest.mark.soak)])
def test_no_space_left(folder: Path, old: dict[str, bytes], out: str) -> None:
    """A limit on the size of files, which stops writing as a full disk does."""
    done = subprocess.run(
        [*COMMAND, *ASKED, "--out", out, "--certificate", "c.json", "--record", "seed.json"],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python would keep modules that were cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: the release cannot be written: File too large\n"
    assert content_of(folder) == old


def test_a_full_disk(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small disk here")
    try:
        (disk / "r.csv").write_text("old")
        files = ("--out", "disk/r.csv", "--certificate", "disk/c.json", "--record", "disk/seed.json")
        done = subprocess.run([*COMMAND, *ASKED, *files], cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr == b"error: the release cannot be written: No space left on device\n"
        assert content_of(disk) == {"r.csv": b"old"}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@contextmanager
def small_files(most_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as a full disk would; Python then gets an error, no signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("earlier", [pytest.param(False, marks=pytest.mark.soak), True])
def test_no_space_for_the_page(
    folder: Path, old: dict[str, bytes], tclose: Callable[..., Outcome], earlier: bool
) -> None:
    """The release is worth more than its page: it is complete, and the message says so."""
    hospital(100, seed=1).write_csv(folder / "t.csv")  # its page is larger than the limit, too
    if earlier:
        (folder / "page.html").write_text("earlier")
    with small_files(400_000):
        done = tclose(*ASKED, *FILES, "--report", "page.html")
    assert (done.status, done.out) == (2, "")
    left = "; page.html is of an earlier release" if earlier else ""
    assert done.err.splitlines()[-1] == (
        f"error: the release is complete, but its page is missing: File too large{left}"
    )
    assert sound(folder, old)
    assert left_behind(folder, old) == ({"page.html"} if earlier else set())
