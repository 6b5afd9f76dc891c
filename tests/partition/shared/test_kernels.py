"""Compiled code is kept on disk, never outlives its sources, says when it compiles, and reads no memory but its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import tclose
from tclose.partition import warm
from tclose.partition.shared import kernels
from tclose.partition.shared.kernels import KERNELS, compiling, is_ready, seconds_to_compile

SOURCE = Path(tclose.__file__).parent
OUTER = "from tclose.partition.shared.kernels import kernel\nfrom tclose.partition.{inner} import value\n"
RUN = "import sys; sys.path.insert(0, sys.argv[1]); from tclose.partition.zz_outer import outer; print(outer())"


def answer(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", RUN, str(folder)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_change_in_another_file_is_seen(tmp_path: Path) -> None:
    """numba alone would run the old code here: the outer function's own file did not change."""
    shutil.copytree(SOURCE, tmp_path / "tclose", ignore=shutil.ignore_patterns("__pycache__"))
    inner = tmp_path / "tclose" / "partition" / "zz_inner.py"
    outer = tmp_path / "tclose" / "partition" / "zz_outer.py"
    inner.write_text("from tclose.partition.shared.kernels import kernel\n@kernel\ndef value():\n    return 1\n")
    outer.write_text(OUTER.format(inner="zz_inner") + "@kernel\ndef outer():\n    return value()\n")
    assert answer(tmp_path) == "1"
    kept = list((tmp_path / "tclose" / "partition" / "__pycache__").glob("tclose-kernels-*"))
    assert len(kept) == 1
    assert any(kept[0].rglob("*.nbc"))
    inner.write_text("from tclose.partition.shared.kernels import kernel\n@kernel\ndef value():\n    return 2\n")
    assert answer(tmp_path) == "2"
    again = list((tmp_path / "tclose" / "partition" / "__pycache__").glob("tclose-kernels-*"))
    assert len(again) == 1
    assert again != kept


def test_compiling_says_when_it_begins_and_ends() -> None:
    @numba.njit
    def inner(x: int) -> int:
        return x + 1

    @numba.njit
    def outer(x: int) -> int:
        return inner(x) * 2

    heard: list[str] = []
    with compiling(lambda: heard.append("begin"), lambda: heard.append("end")):
        assert outer(1) == 4
        assert outer(2) == 6
    assert heard == ["begin", "end"]  # once, though two functions were compiled
    assert outer(1.0) == 4.0
    assert heard == ["begin", "end"]  # the block is left


def test_compiling_says_so_when_it_fails() -> None:
    @numba.njit
    def broken(x: int) -> int:
        return x.nothing

    heard: list[str] = []
    with compiling(lambda: heard.append("begin"), lambda: heard.append("end")), pytest.raises(numba.TypingError):
        broken(1)
    assert heard == ["begin", "end"]


def test_the_estimate_counts_kernels_that_are_not_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(name: str) -> SimpleNamespace:
        code = SimpleNamespace(co_filename="loops.py")
        function = SimpleNamespace(__code__=code, __name__=name)
        return SimpleNamespace(signatures=[], stats=SimpleNamespace(cache_path=str(tmp_path)), py_func=function)

    ready, missing, other = stub("ready"), stub("missing"), stub("read")
    (tmp_path / "loops.ready-12.py311.nbi").touch()
    monkeypatch.setattr(kernels, "KERNELS", [ready, missing, other])
    assert seconds_to_compile() == pytest.approx(2 * kernels.USUAL_SECONDS)
    missing.signatures.append("compiled in this process")
    assert seconds_to_compile() == pytest.approx(kernels.USUAL_SECONDS)


def test_warming_compiles_every_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    warm.warm(lambda share, phase="": shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    own = [kernel for kernel in KERNELS if kernel.py_func.__module__.startswith("tclose.partition.")]
    assert len(own) > 20
    assert [kernel.py_func.__name__ for kernel in own if not is_ready(kernel)] == []
    assert {kernel.py_func.__name__: len(kernel.signatures) for kernel in own if len(kernel.signatures) > 1} == {}
    monkeypatch.setattr(warm, "KERNELS", own)  # without those of other tests
    assert warm.warm() == 0


@pytest.mark.parametrize("rows", [300, pytest.param(5000, marks=pytest.mark.soak)])
def test_no_kernel_reaches_beyond_its_arrays(rows: int) -> None:
    """numba checks no index unless it is asked to; the checked code is kept apart from the other.

    Larger tables than `rows` get the effort `fast` only, which calls the same kernels as `best`.
    """
    script = Path(__file__).with_name("run_with_bounds_checks.py")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}  # compiling takes most of the time
    environment = {**os.environ, **checked, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-W", "error", script, script.parent.parent, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "checked"
