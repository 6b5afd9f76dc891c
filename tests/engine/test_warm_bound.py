"""The kernels of the search for a lower bound are compiled ahead, all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USED = """
from tclose.run.installation import warm_bound
from tclose.partition.shared import kernels
kernels.is_ready = lambda kernel: bool(kernel.signatures)  # as if nothing were kept on disk
print(warm_bound() > 0, [kernel.py_func.__name__ for kernel in kernels.KERNELS if not kernel.signatures])
"""
CODE = """
from tclose.run.installation import warm_bound
from tclose.partition.shared.kernels import KERNELS, is_ready
print(warm_bound() > 0, all(map(is_ready, KERNELS)), warm_bound())
"""


def test_a_search_on_tiny_tables_uses_every_kernel() -> None:
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


@pytest.mark.soak
def test_a_search_on_tiny_tables_compiles_every_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # where nothing is compiled yet
    monkeypatch.setenv("NUMBA_OPT", "0")  # compiling takes most of the time
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "0"]
