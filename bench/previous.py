"""An earlier version of tclose, in a folder and a virtual environment of its own, to measure against."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMIT = "342b2d4"  # the last one before this stage
FOLDER = ROOT / "bench" / ".previous"


def previous_python() -> Path:
    """Return the Python of the earlier version, which is checked out and installed where it is not there yet."""
    python = FOLDER / ".venv" / "bin" / "python"
    if not python.exists():
        FOLDER.mkdir(exist_ok=True)
        archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", FOLDER], input=archive, check=True)
        subprocess.run([sys.executable, "-m", "venv", FOLDER / ".venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", FOLDER], check=True)
    return python
