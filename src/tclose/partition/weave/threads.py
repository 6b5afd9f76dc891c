"""Compiled loops side by side; what comes out does not depend on how many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_threads(
    work: Callable[[Item], Answer], items: Sequence[Item], progress: Callable[[float], None] = lambda done: None
) -> Iterator[Answer]:
    """Yield what the work gives for each item, in order."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, answer in enumerate(pool.map(work, items)):
            progress((done + 1) / len(items))
            yield answer
