"""JSON lines (.jsonl, .ndjson): one object per line; a key that is absent, and null, are missing values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import Source, TableRead, check_width
from tclose.words import legible

LARGEST = 2**63


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
    return pl.DataFrame([_column(name, cells) for name, cells in columns.items()])


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


def _column(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of one type; numbers of both kinds are floats, and any other mixture is refused."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not name.strip():
        raise InputError("a column of the table has no name")
    if kinds & {dict, list}:
        raise InputError(f"column '{legible(name)}' holds lists or objects: make it text, a number or a date")
    if kinds <= {str} or kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean if kinds == {bool} else pl.String)
    if kinds <= {int, float} and all(abs(cell) < LARGEST for cell in cells if isinstance(cell, int)):
        return pl.Series(name, cells, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False)
    raise InputError(f"column '{legible(name)}' mixes kinds of values: make them all text, or all numbers")


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
