"""Run every kernel with numba's bounds checks on; test_kernels.py starts this in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numba
import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.partition.warm import warm
from tclose.partition.weave import partition
from tclose.partition.weave.temper import tempered
from tclose.types import silent


@part
def inner(numbers: np.ndarray, i: int) -> float:
    return numbers[i]


@kernel
def outer(numbers: np.ndarray, i: int) -> float:
    return inner(numbers, i)


def main(folder: str, most_rows: int) -> None:
    """Make sure that indices are checked, then run all methods, and weave on problems of every kind."""
    assert numba.config.BOUNDSCHECK
    try:
        outer(np.zeros(3), 3)
    except IndexError:
        print("checked")  # noqa: T201
    warm()
    sys.path.insert(0, folder)
    sys.modules["tests"] = helpers = ModuleType("tests")  # no package of this name that is installed
    helpers.__path__ = [str(Path(folder).parent)]
    from test_weave import every_kind

    for problem in every_kind():
        for effort in ("fast", "best") if problem.rows <= most_rows else ("fast",):
            tempered(problem, partition(problem, effort=effort, seed=1), 0.2, 1, silent)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
