"""Kernels whose machine code cannot be kept: the work is done, and one line says what it costs and how to fix it."""

from __future__ import annotations

import json
import os
import pickle
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose.partition.shared import compile_cache

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
    done = subprocess.run(command, cwd=folder, env=more, capture_output=True, text=True, check=False, timeout=1800)
    return done.returncode, done.stdout, done.stderr


def test_a_chosen_folder_that_cannot_be_written(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, *ASKED, NUMBA_CACHE_DIR="/dev/null/kernels")
    kept_nowhere = "warning: compiled kernels cannot be kept in /dev/null/kernels (NUMBA_CACHE_DIR), "
    assert (status, err) == (0, kept_nowhere + SAYS)
    assert (tmp_path / "r.csv").exists()


READ_ONLY = """
from pathlib import Path
from tclose.partition.shared import compile_cache
compile_cache.OWN = Path("/dev/null/__pycache__")
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
    monkeypatch.setattr(compile_cache, "OWN", Path("/dev/null/__pycache__"))
    assert compile_cache.writable_folder() is None


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


def test_damaged_files_are_compiled_again(compiled: Path, tmp_path: Path) -> None:
    kept = Path(shutil.copytree(compiled, tmp_path / "kept"))
    files = list(kept.rglob("*.nb*"))
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:10])
    status, _, err = run(tmp_path, *ASKED, NUMBA_CACHE_DIR=str(kept))
    assert (status, err) == (0, "")


# Another user's code: the files are pickles, and loading one runs what its author wants


class Planted:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, makes: Path) -> None:
        self.makes = makes

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.makes)!r}, 'w').close()",)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which kernels were kept."""
    folder = tmp_path_factory.mktemp("compiled")
    assert run(folder, *ASKED, NUMBA_CACHE_DIR=str(folder / "kept"))[0] == 0
    return folder / "kept"


@pytest.fixture
def kept(compiled: Path, tmp_path: Path) -> Path:
    """Return a folder in which every file that numba would load is a planted one."""
    shutil.copytree(compiled, tmp_path / "kept")
    files = list((tmp_path / "kept").rglob("*.nb[ci]"))
    assert files
    for path in files:
        path.write_bytes(pickle.dumps(Planted(tmp_path / "run")))
    return tmp_path / "kept"


def is_not_used(folder: Path, kept: Path, why: str, cure: str) -> None:
    """Assert that a release is made, that nothing planted was run, and that one line says why."""
    status, out, err = run(folder, *ASKED, NUMBA_CACHE_DIR=str(kept))
    assert status == 0, err
    assert out.startswith("Released r.csv: ")
    assert not (folder / "run").exists()
    assert err == (
        f"warning: compiled kernels are not kept in {kept} (NUMBA_CACHE_DIR): {why}, so another user could put code "
        f"there that tclose would run; every run compiles them again (about 2 s): {cure}\n"
    )


OWN_FOLDER = "set NUMBA_CACHE_DIR to a folder of your own that nobody else can write to"


def test_what_is_planted_would_run(kept: Path, tmp_path: Path) -> None:
    """In a folder of the user's own, numba loads it: the tests below look for what would happen."""
    assert run(tmp_path, *ASKED, NUMBA_CACHE_DIR=str(kept))[0] == 0
    assert (tmp_path / "run").exists()


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("which", "mode"), [("kept", 0o777), ("folder", 0o775), ("file", 0o666), ("way", 0o777)])
def test_what_others_can_write_is_not_loaded(kept: Path, tmp_path: Path, which: str, mode: int) -> None:
    named = next(kept.iterdir())
    path = {"kept": kept, "folder": named, "file": next(named.rglob("*.nbi")), "way": tmp_path}[which]
    path.chmod(mode)
    try:
        is_not_used(tmp_path, kept, f"others can write to {path}", f"{OWN_FOLDER}, or mend this one: chmod go-w {path}")
    finally:
        tmp_path.chmod(0o700)


def chown(path: Path) -> None:
    os.chown(path, pwd.getpwnam("nobody").pw_uid, -1, follow_symlinks=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("which", ["all", "file", "link"])
def test_what_belongs_to_another_user_is_not_loaded(kept: Path, tmp_path: Path, which: str) -> None:
    if which == "all":
        for path in (kept, *kept.rglob("*")):
            chown(path)
        is_not_used(tmp_path, kept, f"{kept} belongs to nobody", OWN_FOLDER)
    elif which == "file":
        path = next(kept.rglob("*.nbc"))
        chown(path)
        is_not_used(tmp_path, kept, f"{path} belongs to nobody", OWN_FOLDER)
    else:
        link = tmp_path / "link"
        link.symlink_to(kept)
        chown(link)
        is_not_used(tmp_path, link, f"the link {link} belongs to nobody", OWN_FOLDER)


def test_the_folder_of_the_package_is_left_to_others_who_can_write_to_it(kept: Path, tmp_path: Path) -> None:
    """A private folder in the home is used, and nothing needs to be said."""
    chosen = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(tmp_path)}
    code = READ_ONLY.replace("/dev/null/__pycache__", str(kept))
    kept.chmod(0o777)
    assert run(tmp_path, *ASKED, code=code, **chosen)[::2] == (0, "")
    assert not (tmp_path / "run").exists()
    assert list((tmp_path / ".cache" / "tclose").rglob("*.nbi"))
    health = json.loads(run(tmp_path, "doctor", "--json", code=code, **chosen)[1])
    state = f"only you can write to it; not used, because others can write to {kept}"
    assert (health["kernels"], health["kernels_state"]) == (str(tmp_path / ".cache" / "tclose"), state)


def test_kept_code_is_closed_to_others(tmp_path: Path) -> None:
    """Whatever the umask, and wherever the settings of numba would put it."""
    elsewhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    code = f"import os; os.umask(0)\n{COMMAND[2]}"
    assert run(tmp_path, *ASKED, code=code, NUMBA_CACHE_DIR=str(tmp_path / "new" / "kept"), **elsewhere)[0] == 0
    paths = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert {path.suffix for path in paths} > {".nbi", ".nbc"}
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600, 0o700}


def test_doctor_names_the_folder_and_its_state(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert (
        f"  kernels            {kept} (only you can write to it)\n"
        in run(tmp_path, "doctor", NUMBA_CACHE_DIR=str(kept))[1]
    )
    kept.chmod(0o775)
    _, out, _ = run(tmp_path, "doctor", NUMBA_CACHE_DIR=str(kept))
    assert f"  kernels            not kept (not used, because others can write to {kept})\n" in out
    assert out.splitlines()[-1].startswith(f"compiled kernels are not kept in {kept} (NUMBA_CACHE_DIR): others can")
    status, out, err = run(tmp_path, "doctor", "--warm", NUMBA_CACHE_DIR=str(kept))
    assert (status, out, err[:42]) == (2, "", "error: compiled kernels are not kept in " + str(kept)[:2])
