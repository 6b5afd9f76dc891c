"""Without pyspark there is one sentence, and tclose itself never loads it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import tclose, tclose.cli
assert "pyspark" not in sys.modules and "tclose.spark" not in sys.modules
sys.modules["pyspark"] = None  # as if it were not installed
try:
    import tclose.spark
except tclose.MissingExtra as missing:
    print(missing)
"""


def test_the_sentence_says_how_to_install_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "tclose.spark needs pyspark: pip install 'tclose[spark]'\n"
