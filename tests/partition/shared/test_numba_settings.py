"""Settings of numba that lie in the current folder are not read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
from pathlib import Path
from tclose.partition.shared import kernels
from numba.core import config

assert not config.DISABLE_JIT and not config.DUMP_BYTECODE
assert config.OPT == 1, "what the environment says holds"
Path(".numba_config.yaml").write_text("[[")  # numba would fail when it compiles
config.reload_config()
"""


def test_settings_in_the_current_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\ndump_bytecode: 1\n")
    asked = [sys.executable, "-W", "error::UserWarning", "-c", CODE]
    done = subprocess.run(asked, cwd=tmp_path, env={"NUMBA_OPT": "1"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
