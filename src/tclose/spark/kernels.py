"""Kernels on executors: whoever comes first on a machine compiles them, and everybody else waits for the files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tclose.partition.shared.code_folder import writable_folder

LOCK = "tclose-kernels.lock"


@cache
def compiled_once() -> None:
    """Compile the kernels of weave, unless they lie on disk already."""
    from tclose.partition import DEFAULT_METHOD, method_named
    from tclose.partition.shared.kernels import seconds_to_compile

    method_named(DEFAULT_METHOD)
    folder = writable_folder()
    if folder is None or not seconds_to_compile():
        return
    with _locked(folder / LOCK):
        if seconds_to_compile():
            from tclose.partition.warm import warm_weave

            warm_weave()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock among the processes of a machine, where the system has such locks."""
    with path.open("wb") as file:
        with suppress(ImportError):  # Windows has none of this kind
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
