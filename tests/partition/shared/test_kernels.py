"""Compiled code is kept on disk, and never outlives any source that it was compiled from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import tclose

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
