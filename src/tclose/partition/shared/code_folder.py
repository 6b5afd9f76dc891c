"""The folder in which compiled kernels are kept, and what it costs where there is none.

It is named after all sources of this package: after any change, all code in it is new. This module does not load numba,
so that the state of an installation can be told without it. A folder that another user could write to is not used
(private_folder.py, decision 143).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tclose.partition.shared.private_folder import CHECKED, PRIVATE, Objection, make_private, objection_to_content

PACKAGE = Path(__file__).parent.parent
OWN = PACKAGE / "__pycache__"
PREFIXES = {False: "tclose-kernels-", True: "tclose-checked-kernels-"}  # without and with bounds checks
CHOSEN = "NUMBA_CACHE_DIR"


def kernel_folder_name(compiler: str, *, checked: bool = False) -> str:
    """Return the name of the folder for the machine code of these sources, by the version of the compiler."""
    return PREFIXES[checked] + _fingerprint(compiler)


def state_of_folder() -> tuple[Path | None, str]:
    """Return the folder in which the folders of kernels lie, if there is one, and who can write to it, or why not."""
    not_private: list[str] = []
    for folder, objection in _tried(_name_for_installed()):
        if folder is not None:
            who = "only you can write to it" if CHECKED else "who else can write to it is not checked here"
            return folder.parent, "; ".join([who, *(f"not used, because {why}" for why in not_private)])
        not_private += [] if objection is None else [objection.why]
    return None, "; ".join(f"not used, because {why}" for why in not_private) or "no folder can be written to"


def _name_for_installed() -> str:
    """Return the name of the folder for the compiler that is installed, without loading it."""
    try:
        return kernel_folder_name(version("numba"))
    except PackageNotFoundError:
        return PREFIXES[False]


def writable_folder(name: str = "") -> Path | None:
    """Return the first of the possible folders, or a folder in it, that is private and can be written to, if any."""
    return next((folder for folder, _ in _tried(name) if folder is not None), None)


def code_folder(compiler: str, *, checked: bool) -> Path | None:
    """Return where the machine code of these sources is kept, or None if it cannot be; remove that of earlier ones."""
    name = kernel_folder_name(compiler, checked=checked)
    folder = writable_folder(name)
    if folder is not None and folder.parent == OWN.resolve():
        for other in OWN.glob(PREFIXES[checked] + "*"):
            if other.name != name:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def compiled_each_time(seconds: float | None = None) -> str:
    """Say in one line that kernels cannot be kept, what that costs, and how to fix it."""
    chosen = os.environ.get(CHOSEN)
    how_long = "some seconds" if seconds is None else f"about {max(seconds, 1.0):.0f} s"
    where = f"in {chosen} ({CHOSEN})" if chosen else "on this machine"
    *_, (_, objection) = tried = [(None, None), *_tried(_name_for_installed())]
    if objection is None or any(folder is not None for folder, _ in tried):  # in that case, the disk is full
        return (
            f"compiled kernels cannot be kept {where}, so every run compiles them again ({how_long}): "
            f"set {CHOSEN} to a folder that can be written to"
        )
    cure = f"set {CHOSEN} to a folder of your own that nobody else can write to"
    cure += f", or mend this one: {objection.cure}" if objection.cure else ""
    return (
        f"compiled kernels are not kept {where}: {objection.why}, so another user could put code there that tclose "
        f"would run; every run compiles them again ({how_long}): {cure}"
    )


def _tried(name: str) -> Iterator[tuple[Path | None, Objection | None]]:
    """Try the folders in their order; yield each that can be used, or why it is not private; None if not writable."""
    for place in _places():
        try:
            real, objection = make_private(place, mode=0o755 if place == OWN else PRIVATE)
            if objection is None and name:
                real, objection = make_private(real / name)
                objection = objection or objection_to_content(real)
            if objection is None:
                with tempfile.TemporaryFile(dir=real):
                    pass
        except OSError:
            yield None, None
        else:
            yield (real if objection is None else None), objection


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
