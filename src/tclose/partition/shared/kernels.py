"""Compiled loops: `@kernel` compiles a function with numba once and keeps the machine code on disk.

numba looks only at a function's own file to tell whether kept code is stale, but compiles what other files hold into
it. So the code is kept in a folder named after all sources of this package: after any change, all of it is new.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

PREFIX = "tclose-kernels-"
PACKAGE = Path(__file__).parent.parent
OWN = PACKAGE / "__pycache__"


def kernel(function: Function) -> Function:
    """Compile a function; it runs without the interpreter's lock, so that threads run side by side."""
    settings: Any = numba.config
    before, folder = settings.CACHE_DIR, _folder()
    compile_: Any = numba.njit(cache=folder is not None, nogil=True)
    try:
        settings.CACHE_DIR = str(folder or before)
        compiled: Function = compile_(function)
    finally:
        settings.CACHE_DIR = before
    return compiled


@cache
def _folder() -> Path | None:
    """Return where machine code is kept; nothing where no place can be written in, so that it is not kept."""
    name = PREFIX + _fingerprint()
    for place in _places():
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place / name):
                pass
        except OSError:
            continue
        if place == OWN:
            _remove_stale(name)
        return place / name
    return None


def _remove_stale(name: str) -> None:
    """Remove the code of earlier sources of this very package."""
    for other in OWN.glob(PREFIX + "*"):
        if other.name != name:
            shutil.rmtree(other, ignore_errors=True)


def _places() -> list[Path]:
    """Return the folders to try, the first that can be written in being the one."""
    asked = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return [Path(asked)] if asked else [OWN, home / "tclose"]


def _fingerprint() -> str:
    """Return a name for all sources of this package and the numba that compiles them."""
    found = hashlib.sha256(numba.__version__.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
