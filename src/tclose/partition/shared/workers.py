"""Work in threads that ends at once when somebody cancels it; the results do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from tclose.partition.shared.kernels import part
from tclose.table.classes import threads
from tclose.types import Ints, Progress

Flag = Ints  # of one number: 0, or 1 once the work is to stop

Item = TypeVar("Item")
Result = TypeVar("Result")

HEARTBEAT_SECONDS = 0.1  # between two reports of progress, each of which may cancel the work


def lowered_flag() -> Flag:
    """Return a flag that tells kernels to go on, until it is raised by setting its number to 1."""
    return np.zeros(1, dtype=np.int64)


@intrinsic
def _load(typing_context: Any, flag: Any) -> Any:
    """Read the flag's number from memory every time: the compiler may not keep it, as another thread sets it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(array.data, "monotonic", 8)

    return types.int64(flag), generate


@part
def raised(flag: Flag) -> bool:
    """Tell, inside a kernel, whether the work is to stop."""
    return bool(_load(flag) != 0)  # type: ignore[call-arg]


def in_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], progress: Progress, stop: Flag, *, quick: bool = False
) -> Iterator[Result]:
    """Yield the result of each item, in order.

    Progress is reported at every heartbeat. When it raises, or when the caller gives up, the flag is raised, items that
    have not begun are dropped, and the threads end before this function does. Quick work needs no threads: starting one
    takes longer.
    """
    if quick:
        for number, item in enumerate(items):
            progress((number + 1) / len(items))
            yield work(item)
        return
    with ThreadPoolExecutor(threads()) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for number, future in enumerate(futures):
                while not wait([future], HEARTBEAT_SECONDS).done:
                    progress(number / len(items))
                progress((number + 1) / len(items))
                yield future.result()
        except BaseException:
            stop[0] = 1
            for future in futures:
                future.cancel()
            raise
