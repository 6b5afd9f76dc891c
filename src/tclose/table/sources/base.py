"""What a source of tables declares: by which first bytes it is known, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Source:
    """One file format that tables are read from.

    `read` takes the bytes, and the names of columns that hold few different cells and may come as categories. `check`
    refuses bytes that could harm the process which reads them; what we wrote ourselves needs no check.
    """

    name: str
    begins: bytes  # the first bytes of every such file; empty for the format that takes all the rest
    read: Callable[[bytes, Collection[str]], pl.DataFrame]
    check: Callable[[bytes], None] | None = None
    read_only: Callable[[bytes, Collection[str]], pl.DataFrame] | None = None  # these columns, if it has them all
