"""Compile what numba compiles before the first test, once for all workers, their processes and later runs.

tclose keeps machine code in a folder named after the sources (partition/shared/compile_cache.py). A note in that folder
says that all of it is there, so that a run with nothing to compile need not load the compiler. numba compiles again
when a file of source has another time, so the note holds these times.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tclose.partition.shared import compile_cache
from tclose.partition.shared.compile_cache import PACKAGE, kernel_folder_name, writable_folder

CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}  # for test_kernels.py; compiling takes most of its time
WARM = "from tclose.partition.warm import warm; warm()"


@dataclass(frozen=True)
class Kept:
    """The folder of the kernels, with or without bounds checks."""

    checked: bool

    @property
    def note(self) -> Path | None:
        """The file that says that all kernels are there, if any can be kept."""
        folder = writable_folder(kernel_folder_name(version("numba"), checked=self.checked))
        return None if folder is None else folder / "complete"

    def is_complete(self) -> bool:
        """Tell whether nothing is left to compile, or whether it could not be kept."""
        return self.note is None or (self.note.exists() and self.note.read_text() == _times())

    def start(self) -> subprocess.Popen[bytes]:
        """Begin to compile."""
        settings = CHECKED if self.checked else {}
        return subprocess.Popen([sys.executable, "-c", WARM], env={**os.environ, **settings})


def keep_kernels(copy: Path) -> None:
    """Give a copy of the package the compiled kernels of this one: numba keeps them by the path of their sources."""
    from numba.core.caching import UserProvidedCacheLocator

    subfolder: Callable[[str], str] = UserProvidedCacheLocator.get_suitable_cache_subpath
    compiler, source = version("numba"), PACKAGE.parent
    kept = writable_folder(kernel_folder_name(compiler))
    cache = runpy.run_path(str(copy / Path(compile_cache.__file__).relative_to(source)))  # names by its own sources
    into = copy / "partition" / "__pycache__" / cache["kernel_folder_name"](compiler)
    for sources in {file.parent for file in source.rglob("*.py")} if kept is not None else ():
        own, place = (subfolder(str(folder / "a.py")) for folder in (sources, copy / sources.relative_to(source)))
        if kept is not None and (kept / own).exists():
            shutil.copytree(kept / own, into / place, dirs_exist_ok=True)
            into.chmod(0o700)


def are_complete() -> bool:
    """Tell whether no test has to compile a kernel of tclose."""
    return Kept(False).is_complete() and Kept(True).is_complete()


def compile_what_is_missing(*, checked: bool) -> Iterator[str]:
    """Compile the kernels that are not kept, those with bounds checks too if asked; say so first."""
    missing = [kept for kept in (Kept(False), Kept(True)) if (checked or not kept.checked) and not kept.is_complete()]
    if not missing:
        return
    yield "compiling kernels once for these sources: about 40 CPU seconds, twice with bounds checks ..."
    for kept, compiling in [(kept, kept.start()) for kept in missing]:
        if compiling.wait() == 0 and kept.note is not None:  # else the tests say what is wrong
            kept.note.write_text(_times())


def _times() -> str:
    files = ((str(file), file.stat().st_mtime_ns) for file in sorted(PACKAGE.rglob("*.py")))
    return hashlib.sha256(repr([*files]).encode()).hexdigest()
