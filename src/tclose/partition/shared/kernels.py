"""Compiled loops: numba compiles a `@kernel` on first use and keeps its machine code on disk, once per machine.

Functions that only kernels call are marked `@part`. numba optimizes every function and turns it into machine code, and
does the same again for every function that calls it. For the parts of a kernel that wastes time. Here they are
optimized once, together with their kernel.

numba looks only at a function's own file to tell whether kept code is stale, but compiles what other files hold into
it. So the code is kept in a folder named after all sources of this package (compile_cache.py).

Kernels take a structure of arrays as one argument. numba passes a tuple of arrays as some eight numbers per array to
every function that it calls, which made compiling slow. A structure is passed as one address, that of a block with the
address and the shape of each array. Kernels count no references to the arrays: the caller keeps them alive.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, dataclass_transform

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, config, event, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, unbox
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype
from numpy.typing import DTypeLike

from tclose.errors import InternalError
from tclose.partition.shared.compile_cache import PRIVATE, code_folder
from tclose.types import Ints

# How numba compiles and keeps kernels: one version of each function, machine code for whole kernels only


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


# The decorators, and what is known about the kernels that are loaded


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
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


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


# Structures of arrays that kernels take as one argument


Class = TypeVar("Class", bound=type)
WORD = 8  # bytes


def array(dtype: DTypeLike, dimensions: int = 1) -> Any:
    """Declare a field of a structure: a contiguous array with so many dimensions."""
    return field(metadata={"array": (np.dtype(dtype), dimensions)})


def structure(of: type) -> Any:
    """Declare a field of a structure that is a structure itself."""
    return field(metadata={"structure": of})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(array, structure))
def kernel_struct(cls: Class) -> Class:
    """Make a class of array fields a frozen dataclass that kernels can take as an argument."""
    cls.__post_init__ = _write_block  # type: ignore[attr-defined]
    made: Any = dataclass(frozen=True, eq=False)(cls)
    made._numba_type_ = StructType(
        made.__qualname__, {member.name: _member_type(member.metadata) for member in fields(made)}
    )
    return made  # type: ignore[no-any-return]


def _member_type(declared: Mapping[str, Any]) -> Any:
    if "structure" in declared:
        return declared["structure"]._numba_type_
    dtype, dimensions = declared["array"]
    return types.Array(from_dtype(dtype), dimensions, "C")


def _write_block(struct: Any) -> None:
    """Write the block that kernels read: per array its address and shape, per inner structure its address."""
    numbers: list[int] = []
    for declared in fields(struct):
        value = getattr(struct, declared.name)
        if "structure" in declared.metadata:
            numbers.append(value.address)
            continue
        dtype, dimensions = declared.metadata["array"]
        if value.dtype != dtype or value.ndim != dimensions or not (value.flags.carray or not value.size):
            raise InternalError(
                "{kind}.{name} is not the array that its kernels expect", kind=type(struct).__name__, name=declared.name
            )
        numbers += [value.ctypes.data, *value.shape]
    block: Ints = np.array(numbers, dtype=np.int64)
    object.__setattr__(struct, "_block", block)
    object.__setattr__(struct, "address", block.ctypes.data)


class StructType(types.Type):
    """The type of a structure inside kernels."""

    def __init__(self, name: str, members: Mapping[str, Any]) -> None:
        self.members = dict(members)
        super().__init__(name=f"{name}({', '.join(f'{name}: {kind}' for name, kind in members.items())})")

    def slot(self, member: str) -> int:
        """Return where a member's numbers begin in the block."""
        before = list(self.members)[: list(self.members).index(member)]
        return sum(1 + getattr(self.members[name], "ndim", 0) for name in before)


register_model(StructType)(models.OpaqueModel)


@unbox(StructType)
def _unbox(kind: StructType, value: Any, context: Any) -> Any:
    number = context.pyapi.object_getattr_string(value, "address")
    address = context.pyapi.number_as_ssize_t(number)
    context.pyapi.decref(number)
    return NativeValue(context.builder.inttoptr(address, cgutils.voidptr_t))


@infer_getattr
class _Members(AttributeTemplate):
    key = StructType

    def generic_resolve(self, kind: StructType, member: str) -> Any:  # type: ignore[override]
        return kind.members.get(member)


@lower_getattr_generic(StructType)
def _get_member(context: Any, builder: Any, kind: StructType, value: Any, member: str) -> Any:
    """Read an array or an inner structure from the block, which never changes while a kernel runs."""
    member_type, slot = kind.members[member], kind.slot(member)
    block = builder.bitcast(value, ir.IntType(64).as_pointer())
    unchanging = builder.module.add_metadata([])

    def number(offset: int) -> Any:
        loaded = builder.load(builder.gep(block, [ir.IntType(64)(slot + offset)], inbounds=True))
        loaded.set_metadata("invariant.load", unchanging)
        return loaded

    if isinstance(member_type, StructType):
        return builder.inttoptr(number(0), cgutils.voidptr_t)
    shape = [number(1 + i) for i in range(member_type.ndim)]
    itemsize = context.get_abi_sizeof(context.get_data_type(member_type.dtype))
    strides = [ir.IntType(64)(itemsize)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length, flags=["nsw"]))
    made = make_array(member_type)(context, builder)
    data = builder.inttoptr(number(0), context.get_data_type(member_type.dtype).as_pointer())
    populate_array(made, data, shape, strides, ir.IntType(64)(itemsize), None)
    return made._getvalue()
