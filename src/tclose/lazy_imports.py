"""What is imported when somebody asks for it, and what is done once a library is imported.

`import tclose` and `tclose --help` load none of the engines, and not even polars. A name that is
asked for loads its modules without looking into the current folder, which Python puts on the path of `python -c` and
which may be another one by then (decision 144).
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

TYPE_CHECKING = False  # `typing` is loaded later as well
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any


def homes(names: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name, given the names of each module, with spaces between them."""
    return {name: module for module, own in names.items() for name in own.split()}


def attribute(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Return a name of a package from its module, which is loaded now; the package keeps it."""
    if name not in homes:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    found = getattr(_imported(homes[name]), name)
    setattr(sys.modules[package], name, found)
    return found


def _imported(module: str) -> ModuleType:
    """Import a module without looking into the current folder."""
    if "" not in sys.path:
        return import_module(module)
    sys.path.remove("")
    try:
        return import_module(module)
    finally:
        sys.path.insert(0, "")


def when_imported(library: str, act: Callable[[], None]) -> None:
    """Act once a library is imported: now, if it is already."""
    if hasattr(sys.modules.get(library), "api"):  # the last that frames need of it
        act()
    elif library not in sys.modules:
        sys.meta_path.insert(0, _Awaited(library, act))


class _Awaited:
    """Finds nothing itself: it lets a library be found as always, and acts when it has been loaded."""

    def __init__(self, library: str, act: Callable[[], None]) -> None:
        self._library, self._act, self._asks_others = library, act, False

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how the library is found, with a loader that acts afterwards; many only ask whether it is there."""
        if name != self._library or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = find_spec(name)
        finally:
            self._asks_others = False
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def loaded(module: ModuleType) -> None:
            load(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._act()

        spec.loader.exec_module = loaded  # type: ignore[method-assign]
        return spec
