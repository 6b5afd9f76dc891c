"""JSON lines (.jsonl, .ndjson): one object per line; a key that is absent, and null, are missing values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import Source, TableRead, check_width, column_of


def parse(data: bytes, repeated: Collection[str] = ()) -> pl.DataFrame:
    """Return the table that these bytes hold."""
    columns: dict[str, list[Any]] = {}
    rows = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        for name, cell in _object(line, number).items():
            if name not in columns:
                columns[name] = [None] * rows
                check_width(len(columns))
            columns[name].append(cell)
        rows += 1
        for cells in columns.values():
            if len(cells) < rows:
                cells.append(None)
    if not columns:
        raise InputError("the table has no columns: the objects in its lines are empty")
    return pl.DataFrame([column_of(name, cells) for name, cells in columns.items()])


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):  # its message could quote cells
        raise InputError(f"line {number:,} of the table is not a JSON object on one line") from None
    if not isinstance(found, dict):
        raise InputError(f"line {number:,} of the table is not a JSON object")
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _read_as(data: bytes, said: SourceSettings) -> TableRead:
    return TableRead(parse(data), SourceSettings(format="json-lines"))


JSON_LINES = Source(
    "JSON lines",
    (b'{"', b'{ "', b'\xef\xbb\xbf{"', b"{}"),
    parse,
    declared="json-lines",
    read_as=_read_as,
    spelled=True,
)
