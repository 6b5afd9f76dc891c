"""How numba compiles and keeps kernels: one version of each function, and machine code for whole kernels only.

numba optimizes every function and turns it into machine code, and does the same again for every function that calls it.
For the parts of a kernel that wastes time. Here they are optimized once, together with their kernel.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from numba.core import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from tclose.partition.shared.private_folder import PRIVATE


class CannotBeKept(Exception):
    """The machine code of a function cannot be kept in the folder for it."""


class _Place(UserProvidedCacheLocator):
    """A folder in the one that was found to be private, and as private."""

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        Path(self.get_cache_path()).mkdir(mode=PRIVATE, exist_ok=True)


class _Kept(CompileResultCacheImpl):
    _locator_classes = [_Place]  # numba would go on to folders that nobody has looked at


class _PrivateFiles(IndexDataCacheFile):
    """Files that nobody else may write, whatever the umask says."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BinaryIO]:
        new = Path(f"{filepath}.tmp.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                yield file
            new.replace(filepath)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


class KeptCode(FunctionCache):
    """Machine code on disk. What cannot be written there, or read again, is compiled each time; no run fails for it."""

    _impl_class = _Kept
    failed = False  # whether code could not be written

    def __init__(self, function: Any, folder: Path) -> None:
        settings: Any = config
        before = settings.CACHE_DIR, getattr(settings, "CACHE_LOCATOR_CLASSES", "")
        settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES = str(folder), ""  # what a user set may not be private
        try:
            super().__init__(function)
        except RuntimeError as error:  # numba finds no place
            raise CannotBeKept from error
        finally:
            settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES = before
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _PrivateFiles(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if the disk lets us."""
        try:
            super().save_overload(sig, data)
        except OSError:
            self.failed = True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a kernel that was kept, or None if there is none, or if its files are damaged: they are forgotten."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling makes of a damaged file
            with suppress(OSError):
                self.flush()
            return None


def widen_arguments(compiled: Any) -> None:
    """Make calls from other kernels share one version: constants and small integers count as integers of 64 bits.

    numba would compile a function again for every constant and every size of integer that it is called with.
    """
    resolve = compiled.get_call_template

    def resolve_widened(arguments: Any, keywords: Any) -> Any:
        return resolve(tuple(map(_widened, arguments)), keywords)

    compiled.get_call_template = resolve_widened


def _widened(argument: Any) -> Any:
    plain: Any = types.unliteral(argument)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain  # type: ignore[attr-defined]


class PartCompiler(Compiler):
    """Compiles a function that only kernels call."""

    def define_pipelines(self) -> Any:
        """Give the function a library of its own kind; all passes are numba's."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part")
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """The code of a part, neither optimized nor turned into machine code before it is linked to its kernel."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What numba hands a function's Python objects to; a part has none."""
        return _NoEnvironments()


class RarePartCompiler(Compiler):
    """Compiles a function that kernels call rarely: it stays a function of its own, so that the others stay small."""

    def define_pipelines(self) -> Any:
        """Give the function a library of its own kind; all passes are numba's."""
        self.state.library = _RarePartLibrary(self.state.targetctx.codegen(), "part")
        return super().define_pipelines()


class _RarePartLibrary(_PartLibrary):
    def add_ir_module(self, ir_module: Any) -> None:
        """Take the code of the function, which is not to be copied into its callers."""
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


class _NoEnvironments:
    def set_env(self, name: str, environment: Any) -> None:
        pass
