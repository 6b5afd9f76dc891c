"""How work reaches the executors: as a function in a closure, which finds tclose there and keeps to its cores."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterator["pa.RecordBatch"]
NOT_FOUND = "tclose-is-not-on-the-executors"
OTHER_VERSION = "tclose-is-another-version-on-the-executors"


def settle() -> None:
    """Let no later collection of garbage look at what was loaded, if anything was since the last time.

    Spark collects garbage after every task, which takes 0.1 s with all the objects that numba has.
    """
    global _loaded
    if len(sys.modules) > _loaded:
        _loaded = len(sys.modules)
        gc.collect()
        gc.freeze()


_loaded = 0  # modules, when garbage was collected last


def on_executor(work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow` that does some work.

    The function travels by value and loads tclose only when it is called: the libraries that tclose loads count their
    threads once, when they are loaded, and Spark says in OMP_NUM_THREADS how many a task may have.
    """
    packed, expected = pickle.dumps(work), version("tclose")
    not_found, other_version = NOT_FOUND, OTHER_VERSION

    def run(batches: Batches) -> Batches:
        import os
        import pickle
        from importlib.metadata import PackageNotFoundError, version

        threads = os.environ.get("OMP_NUM_THREADS", "1")
        for name in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "TCLOSE_THREADS"):
            os.environ.setdefault(name, threads)
        try:
            found = version("tclose")
        except PackageNotFoundError:
            raise RuntimeError(not_found) from None
        if found != expected:
            raise RuntimeError(other_version)
        yield from pickle.loads(packed)(batches)
        from tclose.spark.executors import settle

        settle()

    return run
