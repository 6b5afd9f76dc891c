"""What can be said about a release from its files and its certificate alone: its tables, their columns, their cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.guard import GUARDS
from tclose.recode.typed import CLASS, CLASS_SIZE, bins_of, listed_as_text
from tclose.recode.untyped import suffixes_of
from tclose.release.certificate import ONE_TABLE, Certificate, CertifiedFile
from tclose.release.formats import CSV, OutputFormat, format_of
from tclose.table.pseudonym_key import LENGTH, LETTERS
from tclose.table.sources import parse, read_bytes
from tclose.table.sources.folder import joined
from tclose.table.values import Values, values_of

ColumnType = Literal["integer", "number", "boolean", "date", "datetime", "string", "list"]
Role = Literal[
    "quasi", "keep", "sensitive", "unlinkable", "pseudonym", "group", "count", "class", "class_size", "typed"
]

MOST_VALUES = 50  # different texts of a column that are listed
WHOLE, DAY = re.compile(r"[+-]?[0-9]+"), re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
PSEUDONYMS = f"^[{LETTERS}]{{{LENGTH}}}$"


@dataclass(frozen=True)
class DescribedFile:
    """A file of a release: where it lies, seen from beside the release, its size and its fingerprint."""

    path: str
    size: int  # bytes
    rows: int
    sha256: str


@dataclass(frozen=True)
class DescribedColumn:
    """A published column: its role by the certificate's policy, and which values its cells show."""

    name: str
    role: Role
    type: ColumnType
    missing: bool  # whether some cell has no value
    different: int  # values that occur
    values: tuple[str, ...] = ()  # all texts that occur, if they are few
    low: str | None = None  # the smallest and the largest number or date
    high: str | None = None
    part_of: tuple[str, str] | None = None  # of a typed column: the quasi-identifier, and what is added to its name

    @property
    def pattern(self) -> str | None:
        """The form of all cells, if they have one."""
        return PSEUDONYMS if self.role == "pseudonym" else None


@dataclass(frozen=True)
class DescribedTable:
    """A table of a release, in one file or in parts."""

    name: str
    files: tuple[DescribedFile, ...]
    columns: tuple[DescribedColumn, ...]
    kind: OutputFormat
    holds: str | None  # what its rows are, where there are several tables

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Description:
    """A release with its certificate, as descriptions in all formats need it."""

    name: str
    certificate: Certificate
    policy: Policy  # that a reader judges by
    tables: tuple[DescribedTable, ...]

    @classmethod
    def of(cls, out: Path, certificate: Certificate, files: Mapping[str, Path], *, folder: bool) -> Description:
        """Read the files of a release that is to be called `out`, given by the names that the certificate has."""
        policy = certificate.policy
        groups = [certificate.files] if certificate.layout in ONE_TABLE else [(file,) for file in certificate.files]
        tables = tuple(_table(out, certificate, policy, group, files, folder=folder) for group in groups)
        return cls(out.stem, certificate, policy, tables)


def _table(
    out: Path,
    certificate: Certificate,
    policy: Policy,
    group: Sequence[CertifiedFile],
    files: Mapping[str, Path],
    *,
    folder: bool,
) -> DescribedTable:
    names = [str(file.name) for file in group]
    data = [read_bytes(files[name]) for name in names]
    frames = [parse(each, written_here=True) for each in data]
    sizes = map(len, data)
    listed = tuple(
        DescribedFile(f"{out.name}/{name}" if folder else name, size, frame.height, str(file.sha256))
        for name, size, frame, file in zip(names, sizes, frames, group, strict=True)
    )
    frame = joined(names, iter(frames))
    shown = GUARDS[certificate.guard].unguarded(frame).columns if certificate.guard else frame.columns
    kind = format_of(Path(names[0]))
    parts = _typed_columns(shown, certificate, policy)
    found = (
        (name, _column(cells, _role(name, certificate, policy, parts), policy.missing, typed=kind is not CSV))
        for cells, name in zip(frame.iter_columns(), shown, strict=True)  # the names that the certificate knows
    )
    bins = bins_of(policy)
    columns = tuple(_by_value(replace(column, part_of=parts.get(name)), bins.get(name, ())) for name, column in found)
    return DescribedTable(out.stem if folder else Path(names[0]).stem, listed, columns, kind, group[0].holds)


def _typed_columns(names: Sequence[str], certificate: Certificate, policy: Policy) -> dict[str, tuple[str, str]]:
    """Return the quasi-identifier of each typed column, and what is added to its name."""
    if certificate.release_format != "columns":
        return {}
    bins = [name for name in bins_of(policy) if name not in names]
    return {
        name + suffix: (name, suffix) for name in (*policy.quasi, *bins) for suffix in suffixes_of(names, name) or ()
    }


def _by_value(column: DescribedColumn, bins: Collection[str]) -> DescribedColumn:
    """Return a column whose bins stand in the order of their values."""
    place = {label: number for number, label in enumerate(bins)}
    return replace(column, values=tuple(sorted(column.values, key=lambda text: place.get(text, len(place)))))


def _column(cells: pl.Series, role: Role, missing_cells: Sequence[str], *, typed: bool) -> DescribedColumn:
    """Describe a column; `typed` says that its file has types of its own, in which text is never a number."""
    listed = isinstance(cells.dtype, pl.List)
    values = values_of(listed_as_text(cells) if listed else cells, missing_cells)
    texts, missing = values.texts, bool((values.codes < 0).any())
    kind: ColumnType = "list" if listed else "string" if typed and cells.dtype == pl.String else _type(values)
    described = partial(DescribedColumn, cells.name, role, kind, missing, len(texts))
    if not texts:
        return described()
    if kind not in ("string", "boolean", "list"):
        return described(low=texts[0], high=texts[-1])
    return described(values=tuple(texts) if len(texts) <= MOST_VALUES and role != "pseudonym" else ())


def _type(values: Values) -> ColumnType:
    """Return the type that all cells of a column have, as they are spelled: 1.0 is no integer."""
    domain = values.domain
    spelled = domain.tally.cells.cast(pl.String).filter(pl.Series(domain.code_of_cell >= 0)).to_list()
    of_kind: dict[str, ColumnType] = {"number": "number", "boolean": "boolean", "date": "datetime"}
    if values.kind == "number" and all(map(WHOLE.fullmatch, spelled)):
        return "integer"
    if values.kind == "date" and all(map(DAY.fullmatch, spelled)):
        return "date"
    return of_kind.get(values.kind, "string") if spelled else "string"


def _role(name: str, certificate: Certificate, policy: Policy, parts: Mapping[str, Any]) -> Role:
    numbered = certificate.release_format == "columns"
    roles: dict[Role, Any] = {
        "typed": parts,
        "class": (CLASS,) if numbered else (),
        "class_size": (CLASS_SIZE,) if numbered else (),
        "pseudonym": certificate.pseudonyms or (),
        "group": (certificate.group,),
        "quasi": policy.quasi,
        "keep": policy.keep,
        "sensitive": policy.sensitive,
        "unlinkable": policy.unlinkable,
    }
    return next((role for role, names in roles.items() if name in names), "count")


def check_certified(description: Description) -> None:
    """Refuse files that are not those that were certified."""
    certified = [file.sha256 for file in description.certificate.files]
    if certified != [file.sha256 for table in description.tables for file in table.files]:
        raise InputError("the files are not those that were certified, so they are not described")
