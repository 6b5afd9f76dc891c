"""What several methods use; no method imports another method.

Importing this package makes numba ignore settings from the current folder: another person may have put them there
(docs/security.md). numba reads `.numba_config.yaml` when it is imported, and again whenever it compiles. Its module
that does so gets a `yaml` of its own that finds nothing in any file. Settings in the environment are the user's and
hold as before.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType, SimpleNamespace
from typing import Any

READS_SETTINGS = "numba.core.config"
NO_YAML = SimpleNamespace(safe_load=lambda file: None)


def ignore_settings_of_folder() -> None:
    """Let numba be imported without them; a numba that a program imported before tclose stays as it is."""
    if READS_SETTINGS not in sys.modules and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != READS_SETTINGS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)


def _import(name: str, *about: Any, **more: Any) -> Any:
    return NO_YAML if name == "yaml" else builtins.__import__(name, *about, **more)


ignore_settings_of_folder()
