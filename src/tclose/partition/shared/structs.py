"""Structures of arrays that kernels take as one argument.

numba passes a tuple of arrays as some eight numbers per array to every function that it calls, which made compiling
slow. A structure is passed as one address, that of a block with the address and the shape of each array. Kernels count
no references to the arrays: the caller keeps them alive.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, unbox
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype
from numpy.typing import DTypeLike

from tclose.errors import InternalError
from tclose.types import Ints

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
            raise InternalError(f"{type(struct).__name__}.{declared.name} is not the array that its kernels expect")
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
