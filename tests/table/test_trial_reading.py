"""Damaged Parquet and Arrow files: whatever happens to the process that tries to read them, ours goes on."""

import io
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import polars as pl
import pytest

from tclose import InputError, read
from tclose.table.sources import parse, trial_process
from tclose.table.sources.trial_process import available_memory
from tclose.table.sources.trial_reading import DAMAGED, TOO_LARGE, read_on_trial

ABORTS = Path(__file__).with_name("abort.parquet")  # a page in it makes polars ask for 2^61 bytes
FRAME = pl.DataFrame({"zone": ["north", "south"] * 20, "age": range(40), "pay": [0.5, None] * 20})


def written(how: str) -> bytes:
    file = io.BytesIO()
    getattr(FRAME, f"write_{how}")(file)
    return file.getvalue()


def refusal(data: bytes) -> str | None:
    try:
        parse(data)
    except InputError as error:
        return str(error)
    return None


def test_a_file_that_makes_polars_abort_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read(ABORTS)
    assert str(caught.value) == TOO_LARGE


def test_polars_still_aborts_on_that_file() -> None:
    """If this fails, polars has learned to refuse the file; the trial may have become unnecessary."""
    code = f"import polars; polars.read_parquet({str(ABORTS)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode not in (0, 1)


@pytest.mark.parametrize("how", ["parquet", "ipc", "ipc_stream"])
def test_damaged_files_are_refused_without_a_word_from_polars(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    random, whole = Random(3), written(how)
    for _ in range(6):
        data = bytearray(whole)
        for place in random.sample(range(8, len(whole)), 30):
            data[place] = random.randrange(256)
        assert refusal(bytes(data)) in (DAMAGED, TOO_LARGE, None)
    assert capfd.readouterr() == ("", "")


def test_what_this_process_wrote_itself_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*arguments: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", no_process)
    assert parse(written("parquet"), written_here=True).equals(FRAME)
    assert parse(b"a,b\n1,2\n").rows() == [("1", "2")]  # text can do no harm
    with pytest.raises(AssertionError):
        parse(written("parquet"))


def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(
        InputError, match=r"cannot be started here \(No such file or directory\): give the table as CSV"
    ):
        read_on_trial(written("parquet"), "read_parquet")


@pytest.mark.parametrize(
    ("status", "said", "sentence"),
    [
        (-6, b"memory allocation of 99 bytes failed", TOO_LARGE),
        (-9, b"", TOO_LARGE),
        (-11, b"", DAMAGED),
        (-6, b"double free", DAMAGED),
    ],
)
def test_how_a_process_died_says_why(monkeypatch: pytest.MonkeyPatch, status: int, said: bytes, sentence: str) -> None:
    done = subprocess.CompletedProcess(args=[], returncode=status, stdout=None, stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: done)
    with pytest.raises(InputError) as caught:
        read_on_trial(b"", "read_parquet")
    assert str(caught.value) == sentence


@pytest.mark.skipif(
    not Path("/proc/meminfo").exists(), reason="memory is limited where /proc/meminfo says how much there is"
)
def test_a_trial_gets_no_more_memory_than_there_is() -> None:
    resource = pytest.importorskip("resource")
    code = Path(trial_process.__file__).read_text().partition('if __name__ == "__main__"')[0]
    code += "limit_memory()\nimport resource\n"
    code += "print(*(resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CORE)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    limit, core = map(int, done.stdout.split())
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < limit <= physical + trial_process.overhead()
    assert core == 0
    assert available_memory() > 0
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != limit
