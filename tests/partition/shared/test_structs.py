"""Structures reach kernels as they are in Python, and refuse arrays that kernels would misread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tclose.errors import InternalError
from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, structure

PAIR = np.dtype([("small", "i4"), ("large", "f8")], align=True)


@kernel_struct
class Inner:
    numbers: np.ndarray = array(np.int64, 2)


@kernel_struct
class Outer:
    pairs: np.ndarray = array(PAIR)
    flags: np.ndarray = array(np.bool_)
    inner: Inner = structure(Inner)
    cube: np.ndarray = array(np.float64, 3)


def outer() -> Outer:
    pairs = np.array([(1, 0.5), (2, 1.5)], dtype=PAIR)
    return Outer(pairs, np.array([True, False]), Inner(np.arange(6).reshape(2, 3)), np.arange(24.0).reshape(2, 3, 4))


@part
def doubled(outer: Outer, i: int, j: int) -> int:
    return 2 * outer.inner.numbers[i, j]


@kernel
def read(outer: Outer, i: int, j: int) -> tuple[int, float, bool, int, float]:
    pair = outer.pairs[i]
    return pair.small, pair.large, outer.flags[i], doubled(outer, i, j), outer.cube[i, j, 1]


@kernel
def write(outer: Outer, i: int) -> int:
    outer.inner.numbers[i, 0] = 99
    outer.pairs[i].large = -1.0
    return outer.inner.numbers.shape[1]


def test_kernels_read_every_member() -> None:
    assert read(outer(), 1, 2) == (2, 1.5, False, 10, 21.0)


def test_kernels_write_to_the_arrays_themselves() -> None:
    struct = outer()
    assert write(struct, 1) == 3
    assert struct.inner.numbers[1, 0] == 99
    assert struct.pairs["large"].tolist() == [0.5, -1.0]


def test_a_replaced_member_is_read() -> None:
    struct = replace(outer(), inner=Inner(np.full((2, 3), 7)))
    assert read(struct, 0, 0)[3] == 14


@pytest.mark.parametrize(
    "numbers",
    [np.zeros((2, 3), dtype=np.int32), np.zeros(6, dtype=np.int64), np.zeros((3, 2), dtype=np.int64).T],
    ids=["dtype", "dimensions", "order"],
)
def test_other_arrays_are_refused(numbers: np.ndarray) -> None:
    with pytest.raises(InternalError, match=r"Inner\.numbers"):
        Inner(numbers)


def test_an_array_that_cannot_be_written_is_refused() -> None:
    numbers = np.zeros((2, 3), dtype=np.int64)
    numbers.flags.writeable = False
    with pytest.raises(InternalError, match=r"Inner\.numbers"):
        Inner(numbers)
