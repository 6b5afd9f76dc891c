"""A second opinion on tables of text, written from the definitions and without tclose: k, and t by two distances."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?\Z", re.ASCII)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def figures(
    data: bytes, quasi: Sequence[str], distances: Mapping[str, str], k: int, t: Fraction
) -> dict[str, Any] | None:
    """Return what `tclose check --json` should say of a CSV file; None where this reader is too simple for it."""
    rows = _rows(data)
    if rows is None:
        return None
    header, *records = rows
    at = {name: place for place, name in enumerate(header)}
    columns = {name: _values([record[at[name]] for record in records]) for name in distances}
    if any(values is None for values in columns.values()):
        return None
    classes: dict[tuple[str, ...], list[int]] = {}
    for number, record in enumerate(records):
        classes.setdefault(tuple(record[at[name]] for name in quasi), []).append(number)
    farthest = {
        name: max(_distance(columns[name] or [], rows, kind) for rows in classes.values())
        for name, kind in distances.items()
    }
    smallest = min(map(len, classes.values()))
    return {
        "rows": len(records),
        "classes": len(classes),
        "smallest_class": smallest,
        "satisfied": smallest >= k and all(distance <= t for distance in farthest.values()),
        "closeness": {name: f"{d.numerator}/{d.denominator}" for name, d in farthest.items()},
    }


def _rows(data: bytes) -> list[list[str]] | None:
    """Read records; None where the text is not UTF-8, or its quotes and line ends may be read in more than one way."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip("\n")
    except UnicodeDecodeError:  # tclose reads it as Windows-1252
        return None
    first = text.partition("\n")[0]
    if '"' in first or "\r" in text or ('"' in text and b"\r" in data):
        return None
    separator = max(",;\t", key=first.count)
    separator = "|" if separator not in first and "|" in first else separator
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def _values(cells: list[str]) -> list[Any] | None:
    """Return numbers as numbers and text as text; None where cells are missing or could be dates."""
    if "" in cells or any(DATE.match(cell) for cell in cells):
        return None
    if all(NUMBER.match(cell) and len(cell) <= 100 for cell in cells):
        return [Fraction(cell) for cell in cells]
    small = [cell.lower() for cell in cells]
    return small if set(small) <= {"true", "false"} else cells


def _distance(values: list[Any], rows: list[int], kind: str) -> Fraction:
    whole, part = Counter(values), Counter(values[row] for row in rows)
    order = sorted(whole)
    gaps = [Fraction(part[value], len(rows)) - Fraction(whole[value], len(values)) for value in order]
    if kind == "equal":
        return sum((abs(gap) for gap in gaps), Fraction(0)) / 2
    reached, walked = Fraction(0), Fraction(0)
    for gap in gaps:
        reached += gap
        walked += abs(reached)
    return walked / max(len(order) - 1, 1)
