"""Compiled loops: numba compiles a `@kernel` on first use and keeps its machine code on disk, once per machine.

Functions that only kernels call are marked `@part`. numba looks only at a function's own file to tell whether kept code
is stale, but compiles what other files hold into it. So the code is kept in a folder named after all sources of this
package (code_folder.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.compiler import Compiler

from tclose.partition.shared.code_folder import code_folder
from tclose.partition.shared.compiler import CannotBeKept, KeptCode, PartCompiler, RarePartCompiler, widen_arguments

Function = TypeVar("Function", bound=Callable[..., Any])

USUAL_SECONDS = 0.4  # to compile a kernel, in CPU seconds, measured on the machine of decision 028
KERNELS: list[Any] = []  # those of all modules that are loaded
_seconds: dict[int, float] = {}


def kernel(function: Function) -> Function:
    """Compile a function; it runs without the interpreter's lock, so that threads run side by side."""
    compile_: Any = numba.njit(nogil=True, error_model="numpy")
    compiled: Any = compile_(function)
    folder = _folder()
    if folder is not None:
        with suppress(CannotBeKept):
            compiled._cache = KeptCode(function, folder)
    widen_arguments(compiled)
    KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]


def slow_kernel(seconds: float) -> Callable[[Function], Function]:
    """Compile a function that takes more than the usual time to compile: about so many seconds."""

    def compile_(function: Function) -> Function:
        compiled = kernel(function)
        _seconds[id(compiled)] = seconds
        return compiled

    return compile_


def part(function: Function) -> Function:
    """Compile a function that only kernels call; Python cannot call it."""
    return _part(function, PartCompiler)


def rare_part(function: Function) -> Function:
    """Compile a function that few tables need: copied into the kernels that call it, it would slow them down."""
    return _part(function, RarePartCompiler)


def _part(function: Function, pipeline: type[Compiler]) -> Function:
    compile_: Any = numba.njit
    compiled: Function = compile_(
        nogil=True,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=pipeline,
    )(function)
    widen_arguments(compiled)
    return compiled


def seconds_to_compile() -> float:
    """Return about how long the loaded kernels that are not yet on disk take to compile."""
    return sum(_seconds_of(compiled) for compiled in KERNELS if not is_ready(compiled))


def is_ready(compiled: Any) -> bool:
    """Tell whether a kernel is compiled, in this process or on disk."""
    if compiled.signatures:
        return True
    folder = compiled.stats.cache_path
    name = f"{Path(compiled.py_func.__code__.co_filename).stem}.{compiled.py_func.__name__}-"
    return folder is not None and any(file.name.startswith(name) for file in Path(folder).glob("*.nbi"))


@contextmanager
def compiling(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    """Call `begin` whenever numba begins to compile a kernel within this block, and `end` when it is compiled.

    Either may be called from another thread than the one that entered the block.
    """
    listener = _Listener(begin, end)
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]


class _Listener(event.Listener):
    """Reports the outermost compilation only; numba's lock lets a single thread compile at a time."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end, self._depth = begin, end, 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begin()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._end()


@cache
def _folder() -> Path | None:
    """Return where machine code is kept, or None if no private folder can be written to; then it is not kept."""
    return code_folder(numba.__version__, checked=bool(numba.config.BOUNDSCHECK))  # type: ignore[attr-defined]


def seconds_of_each_run() -> float:
    """Return about how long those loaded kernels take to compile that cannot be kept on disk, as far as is known."""
    return sum(_seconds_of(compiled) for compiled in KERNELS if getattr(compiled._cache, "failed", True))


def _seconds_of(compiled: Any) -> float:
    return _seconds.get(id(compiled), USUAL_SECONDS)
