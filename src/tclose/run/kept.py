"""What a process that works on the same files again and again has read and coded, while the files stay as they are.

A command works once and ends, so it keeps nothing. The studio's process for a project says `kept()`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tclose.table.sources import is_folder
from tclose.table.sources.folder import visible_names
from tclose.table.sources.locations import files_of

T = TypeVar("T")
Key = tuple[Hashable, ...]
MOST = 8  # things that are kept: a table and some releases, each as it was read and as it was coded
_kept: OrderedDict[Key, object] | None = None


@contextmanager
def kept() -> Iterator[None]:
    """Keep what is read until the block ends."""
    global _kept
    before, _kept = _kept, OrderedDict()
    try:
        yield
    finally:
        _kept = before


def forget() -> None:
    """Make room: drop everything that is kept."""
    if _kept is not None:
        _kept.clear()


def once(key: Key | None, make: Callable[[], T]) -> T:
    """Return what was made before with this key, or make it; without a key, nothing is kept."""
    if _kept is None or key is None:
        return make()
    if key not in _kept:
        _kept[key] = make()
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found: T = _kept[key]  # type: ignore[assignment]
    return found


def state_of(table: object) -> Key | None:
    """Tell one content of a table's files from another; None for what has no file, or cannot be looked at."""
    if not isinstance(table, str | Path) or str(table) == "-":
        return None
    try:
        return str(table), states([part for file in files_of(table) for part in _parts(file)])
    except (OSError, ValueError):
        return None  # whoever reads it says what is wrong


def states(files: Sequence[Path]) -> Key:
    """Tell one content of some files from another: also of one that was written twice within a tick of the clock."""
    found = [(str(file), file.stat()) for file in files]
    return tuple((name, each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino) for name, each in found)


def _parts(file: Path) -> list[Path]:
    return [file, *(file / name for name in visible_names(file))] if is_folder(file) else [file]
