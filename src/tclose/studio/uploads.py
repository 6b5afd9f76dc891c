"""Files that a browser sends: a name that is never a path, and a copy that is complete and the user's own."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from starlette.datastructures import UploadFile

from tclose.studio.project import PRIVATE_FILE

LONGEST = 120  # bytes of a name; a file system takes 255


def safe_name(given: str, otherwise: str) -> str:
    """Return the last part of a name as browsers send it, without what no file is called."""
    last = Path(given.replace("\\", "/").replace("\0", "")).name.lstrip(".")
    stem, suffix = os.path.splitext(last)  # noqa: PTH122 - of a text, and the suffix says how the file is read
    room = LONGEST - len(suffix.encode())
    if room < 1:
        return otherwise
    return stem.encode(errors="replace")[:room].decode(errors="ignore") + suffix if stem else otherwise


def keep(upload: UploadFile, target: Path) -> None:
    """Copy what was sent; the file has its name only when it is complete."""
    beside = target.with_name(f".{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
            shutil.copyfileobj(upload.file, file, 1 << 20)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
