"""What runs in a process of its own: read Parquet or Arrow files from standard input, and say whether that worked.

`trial_reading` starts it with `python -c` and the text of this module, so it imports nothing of tclose. Its arguments
are the name of polars' reader and the folders of `sys.path`; its exit status is the answer. Where the name is followed
by `MANY`, files come one after the other, each after its length; a byte answers each that can be read. Where it is
followed by `GROUPS`, each line asks for a file, or for some of its columns, batch by batch: all cells, or the different
ones, counted.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

MANY, GROUPS, LENGTH = ":many", ":groups", 8  # files; tables as groups of rows; bytes of a length
ROWS, FIRST = "rows", "first"  # of a group
READ, DAMAGED, REPEATED_NAME, NO_MEMORY = 0, 3, 4, 5  # exit statuses
RESERVED, RESERVED_PER_CORE = 2 << 30, 128 << 20  # bytes of addresses that libraries and threads hardly use


def main() -> None:
    """Answer with an exit status; skip the clean-up of libraries, which takes time."""
    _, reader, *sys.path[:] = sys.argv
    limit_memory()
    if reader.endswith(GROUPS):
        os._exit(outcome_of_groups(reader.removesuffix(GROUPS)))
    many = reader.endswith(MANY)
    os._exit(outcome_of_many(reader.removesuffix(MANY)) if many else outcome(reader, sys.stdin.buffer.read()))


def limit_memory() -> None:
    """Let a damaged file neither take all of the machine's memory nor leave a copy of itself as a core dump."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = available_memory()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        known = [limit for limit in (soft, hard, most + overhead()) if limit != resource.RLIM_INFINITY]
        if most:
            resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))


def overhead() -> int:
    """Return how many bytes of addresses are reserved without being used, at most."""
    return RESERVED + RESERVED_PER_CORE * (os.cpu_count() or 1)


def available_memory() -> int:
    """Return how many bytes Linux could give away without swapping; 0 where nobody says."""
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return 0


def outcome_of_many(reader: str) -> int:
    """Read one table after the other, until there are no more or one cannot be read."""
    while length := sys.stdin.buffer.read(LENGTH):
        if status := outcome(reader, sys.stdin.buffer.read(int.from_bytes(length, "big"))):
            return status
        os.write(1, b"+")
    return READ


def outcome(reader: str, data: bytes) -> int:
    """Read a table as `columnar` will."""

    def read(pl: Any) -> None:
        pl.DataFrame(getattr(pl, reader)(io.BytesIO(data)))

    return outcome_of(read)


def outcome_of_groups(reader: str) -> int:
    """Answer requests for tables that are too large to be read at once, until there are no more."""

    def answer(pl: Any) -> None:
        table, rows = pl.LazyFrame(), 0
        for line in sys.stdin.buffer:
            asked = json.loads(line)
            if "path" in asked:
                table = getattr(pl, reader)(asked["path"], glob=False, hive_partitioning=False)
                rows = table.select(pl.len()).collect().item()
                sys.stdout.buffer.write(rows.to_bytes(LENGTH, "big"))
                send(pl.DataFrame(schema=table.collect_schema()))
            else:
                answer_of = groups if asked["counted"] else cells
                for start in range(0, rows, asked["rows"]):
                    for places in asked["places"]:
                        send(answer_of(pl, table.slice(start, asked["rows"]), places))
                        sys.stdout.buffer.flush()
            sys.stdout.buffer.flush()

    return outcome_of(answer)


def cells(pl: Any, rows: Any, places: list[int]) -> Any:
    """Return some columns, which get their places in the request as names."""
    return rows.select(pl.nth(place).alias(str(key)) for key, place in enumerate(places)).collect()


def groups(pl: Any, rows: Any, places: list[int]) -> Any:
    """Count the different cells of some columns, which get their places in the request as names."""
    keys = [str(key) for key in range(len(places))]
    cells = rows.select(pl.nth(place).alias(key) for key, place in zip(keys, places, strict=True))
    counted = cells.with_row_index(FIRST).group_by(keys).agg(pl.len().alias(ROWS), pl.col(FIRST).min())
    return counted.collect(engine="streaming")


def send(frame: Any) -> None:
    """Write a frame to standard output, as an Arrow stream after its length."""
    data = io.BytesIO()
    frame.write_ipc_stream(data)
    sys.stdout.buffer.write(len(data.getbuffer()).to_bytes(LENGTH, "big"))
    sys.stdout.buffer.write(data.getbuffer())


def outcome_of(work: Callable[[Any], None]) -> int:
    """Do some work with polars, and return the exit status that says how it ended."""
    try:
        import polars as pl
    except (ImportError, MemoryError):  # there is not even room for the library
        return NO_MEMORY
    try:
        work(pl)
    except MemoryError:
        return NO_MEMORY
    except pl.exceptions.DuplicateError:
        return REPEATED_NAME
    except BaseException:  # a panic of polars is no Exception
        return DAMAGED
    return READ


if __name__ == "__main__":
    main()
