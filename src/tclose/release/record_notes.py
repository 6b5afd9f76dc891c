"""What the record of a release holds, and how it is written; `record.py` reads it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.distance import Counts
from tclose.policy import Builder, CostTable, Policy
from tclose.policy.pseudonym import Pseudonym
from tclose.policy.settings import spelled
from tclose.release.certificate import Certificate
from tclose.release.files import sha256
from tclose.table import CodedTable, Hierarchy
from tclose.table.costs import Costs
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.types import Ints

FORMAT = 2
UNNAMED_KEY = Pseudonym(Path("key"))  # in place of the file of a key
MOST_ROWS = 2**48  # of a run of rows; more is no table


@dataclass(frozen=True, eq=False)
class Notes:
    """What a record keeps that no published file shows."""

    options: Mapping[str, Any] = field(default_factory=dict)  # of the method
    engine: str = "memory"
    kinds: Mapping[str, str] = field(default_factory=dict)  # of each quasi-identifier: number, date, text or label
    longest: Mapping[str, int] = field(default_factory=dict)  # the length of labels that are prefixes
    edges: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)  # of sensitive columns judged in bins
    table_sha256: str | None = None  # of the file of the original table
    batches: Ints | None = None  # the batch that each published row came with, counted from 0; None for one batch
    policy: Mapping[str, Any] | None = None  # as it was asked for, if it is known without its files
    room: Fraction = Fraction(0)  # the share of every t that the first release left unused for later batches
    source: Mapping[str, Any] | None = None  # how the file of the original table is written, if the policy says so

    def with_room(self, asked: Policy, room: Fraction) -> Notes:
        """Note what was asked for, of which every t was lowered by a share."""
        return replace(self, policy=written_down(asked).to_dict(), room=room) if room else self

    @classmethod
    def of(cls, table: CodedTable, options: Mapping[str, Any]) -> Notes:
        """Note how the columns of a table are published."""
        prefixes = {name: column for name, column in table.quasi.items() if _by_prefix(column)}
        return cls(
            options=dict(options),
            kinds={name: kind_of_column(column) for name, column in table.quasi.items()},
            longest={name: max(map(len, column.hierarchy.leaves), default=0) for name, column in prefixes.items()},  # type: ignore[union-attr]
            edges={name: column.edges for name, column in table.sensitive.items() if column.edges is not None},
        )


def _by_prefix(column: QuasiColumn) -> bool:
    return isinstance(column, LabelColumn) and column.builder is not None and column.builder.kind == "prefix"


def kind_of_column(column: QuasiColumn) -> str:
    """Say what the cells of a quasi-identifier are: ranges of numbers or dates, labels, or sets of text."""
    if isinstance(column, LabelColumn):
        return "label"
    return column.values.kind if isinstance(column, NumberColumn) else "text"


def written_down(policy: Policy) -> Policy:
    """Return a policy that names no files: hierarchies and matrices stand in it, and where keys are is not said."""
    quasi = {name: _without_files(spec) for name, spec in policy.quasi.items()}
    sensitive = {name: _without_files(spec) for name, spec in policy.sensitive.items()}
    keys = policy.pseudonym and dict.fromkeys(policy.pseudonym, UNNAMED_KEY)
    return replace(policy, quasi=quasi, sensitive=sensitive, pseudonym=keys)


def _without_files(spec: Any) -> Any:
    changes: dict[str, Any] = {}
    if isinstance(spec.hierarchy, Path):
        changes["hierarchy"] = Builder("rows", tuple(Hierarchy.load(spec.hierarchy).rows()))
    if isinstance(matrix := getattr(spec, "matrix", None), Path):
        costs = Costs.load(matrix)
        rows = tuple(tuple(Fraction(int(cost)) for cost in row) for row in costs.matrix)
        changes["matrix"] = CostTable(costs.values, rows)
    return replace(spec, **changes) if changes else spec


def policy_digest(policy: Mapping[str, Any]) -> str:
    """Return the fingerprint of a policy without files; what only a report profile says plays no role."""
    relevant = {name: value for name, value in policy.items() if name != "context"}
    return hashlib.sha256(json.dumps(relevant, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def file_digest(path: Any) -> str | None:
    """Return the fingerprint of a table that is an ordinary file; a frame, a pipe and a folder have none."""
    if not isinstance(path, str | Path) or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record_bytes(
    notes: Notes,
    policy: Policy,
    *,
    seed: int,
    about: Mapping[str, Any],
    certificate: Certificate,
    certificate_file: str | None,
    table: CodedTable | None,
) -> bytes:
    """Return the bytes of a record; `table` is the release as it was judged, where it is one table with classes.

    `about` holds the method, the version, how readers judge, how the files were written, and the table's name.
    """
    asked = notes.policy if notes.policy is not None else written_down(policy).to_dict()
    proof = {"name": certificate_file, "sha256": sha256(certificate.to_bytes()), "digest": certificate.digest}
    content = {
        "format": FORMAT,
        "seed": int(seed),
        **{key: about[key] for key in ("method", "version", "part_rows", "guard_formulas", "judged_by")},
        "release_format": certificate.release_format,
        "source": notes.source,
        "options": notes.options,
        "engine": notes.engine,
        "room": spelled(notes.room),
        "policy": asked,
        "policy_sha256": policy_digest(asked),
        "table": {"name": about["table"], "sha256": notes.table_sha256},
        "release": [{"name": f.name, "rows": f.rows, "sha256": f.sha256} for f in certificate.files],
        "certificate": proof,
        "withheld": about["withheld"],
        "columns": {
            "kinds": notes.kinds,
            "longest": notes.longest,
            "edges": {column: [spelled(edge) for edge in edges] for column, edges in notes.edges.items()},
        },
        "batches": [] if table is None else rolled(_batches(notes, len(table))),
        "classes": None if table is None else classes_of_record(table),
    }
    return (json.dumps(content, ensure_ascii=False, default=str) + "\n").encode()


def _batches(notes: Notes, rows: int) -> Ints:
    return np.zeros(rows, dtype=np.int64) if notes.batches is None else notes.batches


def classes_of_record(table: CodedTable) -> dict[str, Any]:
    """Return the published cells of each class, in the published order, its rows, and the counts of its values."""
    classes = table.classes
    first = table.visible[classes.rows[classes.starts]]
    cells = [first[name].alias("").cast(pl.String).to_list() for name in first.columns]
    return {
        "columns": list(first.columns),
        "cells": [list(row) for row in zip(*cells, strict=True)],
        "rows": classes.sizes.tolist(),
        "values": {name: _values(table, name) for name in table.sensitive},
    }


def _values(table: CodedTable, name: str) -> list[dict[str, int]]:
    """Return how often each class shows each value of a column; a missing value is the empty text."""
    values, classes = table.values(name), table.classes
    texts = np.array([*values.texts, ""], dtype=object)
    counts = Counts.from_codes(
        classes.labels, np.where(values.codes < 0, len(texts) - 1, values.codes)[classes.rows], len(texts)
    )
    spelled_values, numbers = texts[counts.codes].tolist(), counts.counts.tolist()
    ends = zip(counts.starts.tolist(), counts.ends.tolist(), strict=True)
    return [dict(zip(spelled_values[start:end], numbers[start:end], strict=True)) for start, end in ends]


def rolled(batches: Ints) -> list[list[int]]:
    """Return the batches of the rows as pairs of a batch and how many rows in a row came with it."""
    starts = np.flatnonzero(np.concatenate(([True], batches[1:] != batches[:-1])))
    lengths = np.diff(starts, append=len(batches))
    return [list(pair) for pair in zip(batches[starts].tolist(), lengths.tolist(), strict=True)]


def unrolled(runs: Sequence[Sequence[int]]) -> Ints:
    """Return the batch of every row."""
    numbers = np.array([run[0] for run in runs], dtype=np.int64)
    lengths = np.array([run[1] for run in runs], dtype=np.int64)
    if len(runs) and (lengths.min() < 1 or lengths.sum() > MOST_ROWS or numbers.min() < 0):
        raise ValueError("batches")
    return np.repeat(numbers, lengths)
