"""The folder in which compiled kernels are kept, and what it costs where there is none.

It is named after all sources of this package: after any change, all code in it is new. This module does not load numba,
so that the state of an installation can be told without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
OWN = PACKAGE / "__pycache__"
CHOSEN = "NUMBA_CACHE_DIR"


def writable_folder(name: str = "") -> Path | None:
    """Return the first of the possible folders, or a folder in it, that can be written to; None if none can."""
    for place in _places():
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place / name):
                return place / name
        except OSError:
            continue
    return None


def code_folder(prefix: str, compiler: str) -> Path | None:
    """Return where the machine code of these sources is kept, or None if it cannot be; remove that of earlier ones."""
    name = prefix + _fingerprint(compiler)
    folder = writable_folder(name)
    if folder is not None and folder.parent == OWN:
        for other in OWN.glob(prefix + "*"):
            if other.name != name:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def compiled_each_time(seconds: float | None = None) -> str:
    """Say in one line that kernels cannot be kept, what that costs, and how to fix it."""
    chosen = os.environ.get(CHOSEN)
    how_long = "some seconds" if seconds is None else f"about {max(seconds, 1.0):.0f} s"
    where = f"in {chosen} ({CHOSEN})" if chosen else "on this machine"
    return (
        f"compiled kernels cannot be kept {where}, so every run compiles them again ({how_long}): "
        f"set {CHOSEN} to a folder that can be written to"
    )


def _places() -> list[Path]:
    """Return the folders to try, in this order."""
    chosen = os.environ.get(CHOSEN)
    return [Path(chosen)] if chosen else [OWN, *_of_the_user()]


def _of_the_user() -> list[Path]:
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "tclose"]
    except RuntimeError:  # nobody knows where this user's home is
        return []


def _fingerprint(compiler: str) -> str:
    """Return a name for all sources of this package and the version that compiles them."""
    digest = hashlib.sha256(compiler.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
