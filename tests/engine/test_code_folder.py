"""Kernels whose machine code cannot be kept: the work is done, and one line says what it costs and how to fix it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tclose.partition.shared import code_folder

COMMAND = [sys.executable, "-c", "from tclose.cli import main; main()"]
FILES = {"t.csv": "age,pay\n20,1\n30,2\n40,1\n50,2\n", "p.toml": "k = 2\n[quasi.age]\n[sensitive.pay]\nt = 0.5\n"}
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "sabre", "--out", "r.csv")
SAYS = "so every run compiles them again (about 2 s): set NUMBA_CACHE_DIR to a folder that can be written to\n"


def run(folder: Path, *arguments: str, code: str = COMMAND[2], **environment: str) -> tuple[int, str, str]:
    """Run a command in a folder; /dev/null in a path is a place that nobody can write to, not even root.

    Kernels are hardly optimized, which takes less time.
    """
    for name, text in FILES.items():
        (folder / name).write_text(text)
    command, more = [sys.executable, "-c", code, *arguments], {**os.environ, "NUMBA_OPT": "1", **environment}
    done = subprocess.run(command, cwd=folder, env=more, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_a_chosen_folder_that_cannot_be_written(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, *ASKED, NUMBA_CACHE_DIR="/dev/null/kernels")
    kept_nowhere = "warning: compiled kernels cannot be kept in /dev/null/kernels (NUMBA_CACHE_DIR), "
    assert (status, err) == (0, kept_nowhere + SAYS)
    assert (tmp_path / "r.csv").exists()


READ_ONLY = """
from pathlib import Path
from tclose.partition.shared import code_folder
code_folder.OWN = Path("/dev/null/__pycache__")
from tclose.cli import main
main()
"""


def test_a_read_only_installation_and_home(tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/dev/null"}
    status, _, err = run(tmp_path, *ASKED, code=READ_ONLY, **chosen)
    assert (status, err) == (0, "warning: compiled kernels cannot be kept on this machine, " + SAYS)
    status, out, _ = run(tmp_path, "doctor", code=READ_ONLY, **chosen)
    assert status == 0
    assert out.splitlines()[-1].startswith(
        "compiled kernels cannot be kept on this machine, so every run compiles them"
    )


def test_a_read_only_installation_keeps_kernels_in_the_home(tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(tmp_path)}
    status, _, err = run(tmp_path, *ASKED, code=READ_ONLY, **chosen)
    assert (status, err) == (0, "")
    assert list((tmp_path / ".cache" / "tclose").rglob("*.nbi"))


def test_nobody_knows_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", unknown)
    monkeypatch.setattr(code_folder, "OWN", Path("/dev/null/__pycache__"))
    assert code_folder.writable_folder() is None


def test_doctor_says_so(tmp_path: Path) -> None:
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/kernels"}
    status, out, _ = run(tmp_path, "doctor", "--json", **nowhere)
    assert (status, json.loads(out)["kernels"]) == (0, None)
    status, out, err = run(tmp_path, "doctor", "--warm", **nowhere)
    assert (status, out) == (2, "")
    assert err.startswith("error: compiled kernels cannot be kept in /dev/null/kernels")
    status, out, _ = run(tmp_path, "doctor", "--json", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert (status, json.loads(out)["kernels"]) == (0, str(tmp_path / "kept"))


def test_compare_says_so_once(tmp_path: Path) -> None:
    asked = ("compare", "t.csv", "--policy", "p.toml", "--methods", "sabre,microaggregation:merge", "--json")
    status, out, err = run(tmp_path, *asked, NUMBA_CACHE_DIR="/dev/null/kernels")
    assert {trial["outcome"] for trial in json.loads(out)["methods"]} == {"released"}
    assert (status, err.count("\n"), err.count("so every run compiles them again")) == (0, 1, 1)


# A disk that fills up while kernels are written, and files that are damaged

FULL = """
import numba.core.caching
def full(self, *given):
    raise OSError(28, "No space left on device")
numba.core.caching.IndexDataCacheFile.save = full
from tclose.cli import main
main()
"""


def test_a_full_disk(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, *ASKED, code=FULL, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert status == 0
    assert err.startswith(
        f"warning: compiled kernels cannot be kept in {tmp_path / 'kept'} (NUMBA_CACHE_DIR), so every"
    )
    assert err.count("\n") == 1


def test_damaged_files_are_compiled_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert run(tmp_path, *ASKED, NUMBA_CACHE_DIR=str(kept))[0] == 0
    files = list(kept.rglob("*.nb*"))
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:10])
    (tmp_path / "r.csv").unlink()
    status, _, err = run(tmp_path, *ASKED, NUMBA_CACHE_DIR=str(kept))
    assert (status, err) == (0, "")
