"""The record of a release, for its steward's eyes only: what repeats the release, and what new rows need to join it.

Format 1 holds the seed, the method and the version. Format 2 adds the options, the policy with everything that its
files say, the cells and counts of every class, the batch that each published row came with, and the fingerprints of the
release and of its certificate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from tclose.distance import Counts
from tclose.errors import InputError, PolicyError
from tclose.messages import say
from tclose.policy import Builder, Policy
from tclose.policy.settings import exact, spelled
from tclose.policy.source import SourceSettings, same_reading
from tclose.policy.tables import Pseudonym
from tclose.policy.variants import with_levels
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.files import sha256
from tclose.release.output import file_name
from tclose.table import CodedTable, Hierarchy
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.table.sensitive import Costs, SensitiveColumn
from tclose.table.sources import read_bytes
from tclose.types import Ints

if TYPE_CHECKING:
    from tclose.release.layouts import LayoutFacts
    from tclose.release.output import Output

# What a record holds, and how it is written


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
    def of(
        cls, quasi: Mapping[str, QuasiColumn], sensitive: Mapping[str, SensitiveColumn], options: Mapping[str, Any]
    ) -> Notes:
        """Note how the columns of a table are published."""
        prefixes = {name: column for name, column in quasi.items() if _by_prefix(column)}
        return cls(
            options=dict(options),
            kinds={name: kind_of_column(column) for name, column in quasi.items()},
            longest={name: max(map(len, column.hierarchy.leaves), default=0) for name, column in prefixes.items()},  # type: ignore[union-attr]
            edges={name: column.edges for name, column in sensitive.items() if column.edges is not None},
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
    if isinstance(spec.hierarchy, Path):
        spec = replace(spec, hierarchy=Builder("rows", tuple(Hierarchy.load(spec.hierarchy).rows())))
    if isinstance(matrix := getattr(spec, "matrix", None), Path):
        spec = replace(spec, matrix=Costs.load(matrix).table)
    return spec


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
    about: LayoutFacts,
    output: Output,
    certificate: Certificate,
    table: CodedTable | None,
) -> bytes:
    """Return the bytes of a record; `table` is the release as it was judged, where it is one table with classes."""
    asked = notes.policy if notes.policy is not None else written_down(policy).to_dict()
    name = None if output.certificate is None else file_name(output.certificate)
    proof = {"name": name, "sha256": sha256(certificate.to_bytes()), "digest": certificate.digest}
    content = {
        "format": FORMAT,
        "seed": int(seed),
        "method": about.method,
        "version": about.version,
        **dict.fromkeys(("part_rows", "guard_formulas")),  # their places in the file
        "judged_by": about.settings,
        **output.recorded,
        "source": notes.source,
        "options": notes.options,
        "engine": notes.engine,
        "room": spelled(notes.room),
        "policy": asked,
        "policy_sha256": policy_digest(asked),
        "table": {"name": about.table, "sha256": notes.table_sha256},
        "release": [{"name": f.name, "rows": f.rows, "sha256": f.sha256} for f in certificate.files],
        "certificate": proof,
        "withheld": about.withheld,
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


# How a record is read


PLAIN = ("temper", "presence")  # settings that play no role when classes are read again


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """A record that was read; of format 1, only the seed, the method and the version are known."""

    format: int
    seed: int
    method: str
    version: str
    content: Mapping[str, Any]

    def __repr__(self) -> str:
        """Say what it is; never the seed."""
        return f"<Record of format {self.format} by {self.method}>"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the method."""
        options: Mapping[str, Any] = self._given("options", Mapping)
        return options

    @property
    def engine(self) -> str:
        """Where the release was made."""
        return str(self.content.get("engine", "memory"))

    @property
    def part_rows(self) -> int | None:
        """How many rows a part has, where the release is a folder."""
        rows = self.content.get("part_rows")
        return rows if isinstance(rows, int) and not isinstance(rows, bool) else None

    @property
    def guard_formulas(self) -> bool:
        """Whether text that a spreadsheet would run has apostrophes in front."""
        return self.content.get("guard_formulas") is True

    @property
    def release_format(self) -> str:
        """Whether cells are text or typed columns."""
        return "columns" if self.content.get("release_format") == "columns" else "text"

    @property
    def source(self) -> SourceSettings | None:
        """How the file of the original table is written, if its policy said so."""
        return same_reading(self.content.get("source"))

    @cached_property
    def policy(self) -> Policy:
        """The policy that was asked for, with everything that its files say."""
        return _policy(self._given("policy", Mapping))

    @cached_property
    def judged_by(self) -> Policy:
        """The policy by which a reader judges the release; a first release may hold a smaller t, for later batches."""
        levels = {name: spec.t for name, spec in self.policy.required.items() if spec.t is not None}
        return with_levels(_policy(self._given("judged_by", Mapping)), levels)

    @property
    def room(self) -> Fraction:
        """The share of every t that the first release left unused."""
        return exact(self.content.get("room", 0))

    @property
    def files(self) -> list[CertifiedFile]:
        """The files of the release: name, rows and fingerprint."""
        entries = self._given("release", list)
        return [CertifiedFile(entry.get("name"), int(entry["rows"]), str(entry["sha256"])) for entry in entries]

    @property
    def certificate_digest(self) -> str:
        """The digest that stands in the certificate."""
        return str(self._given("certificate", Mapping)["digest"])

    @property
    def notes(self) -> Notes:
        """What no published file shows."""
        columns = self._given("columns", Mapping)
        table = self.content.get("table")
        return Notes(
            options=self.options,
            engine=self.engine,
            kinds=columns["kinds"],
            longest=columns["longest"],
            edges={name: tuple(map(exact, edges)) for name, edges in columns["edges"].items()},
            table_sha256=table.get("sha256") if isinstance(table, Mapping) else None,
            batches=unrolled(self._given("batches", list)),
            policy=self._given("policy", Mapping),
            room=self.room,
            source=self.content.get("source"),
        )

    def _given(self, name: str, kind: Any) -> Any:
        value = self.content.get(name)
        if not isinstance(value, kind):
            raise ValueError(name)
        return value


def load_record(path: str | Path) -> Record:
    """Read a record; one that is damaged is refused, and no message says what stands in it."""
    try:
        content = json.loads(read_bytes(path))
        number, seed = content.get("format", 1), content["seed"]
        if number not in (1, FORMAT) or isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError("format")
        record = Record(number, seed, str(content["method"]), str(content["version"]), content)
        if number == FORMAT:
            _ = record.notes, record.policy, record.judged_by, record.files, record.certificate_digest, record.source
        return record
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, PolicyError):
        _refuse(path)


def _refuse(path: str | Path) -> NoReturn:
    raise InputError("{path} is not a record of tclose, or of a later version", path=path)


def _policy(given: Mapping[str, Any]) -> Policy:
    policy = Policy.from_dict({name: value for name, value in given.items() if name not in PLAIN})
    if {*policy.files} - {UNNAMED_KEY.key}:
        raise ValueError("a record names no files")
    return policy


class RecordedSeed(int):
    """The seed of a record: as secret as it was, and whatever is made from it must be the recorded files."""

    expected: tuple[str, ...] = ()  # fingerprints; none where the record does not say
    version: str = ""

    @classmethod
    def of(cls, record: Record) -> RecordedSeed:
        """Take the seed of a record."""
        seed = cls(record.seed)
        seed.expected = () if record.format == 1 else tuple(str(file.sha256) for file in record.files)
        seed.version = record.version
        return seed

    def __repr__(self) -> str:
        """Do not show the seed."""
        return "<a recorded seed>"

    def confirm(self, digests: Sequence[str], version: str) -> None:
        """Refuse files that are not the recorded ones."""
        if self.expected and tuple(digests) != self.expected:
            other = (
                say("; the record is of tclose {version}, this is {version_2}", version=self.version, version_2=version)
                if self.version != version
                else ""
            )
            raise InputError(
                "the release was not repeated byte for byte, so nothing was written: the table or a library is "
                "not the one of the record{other}",
                other=other,
            )


def confirm_replay(seed: int, digests: Sequence[str], version: str) -> None:
    """Refuse files that are made from a recorded seed and are not the recorded ones."""
    if isinstance(seed, RecordedSeed):
        seed.confirm(digests, version)
