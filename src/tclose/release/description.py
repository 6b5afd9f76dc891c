"""The description of a release, from its files and its certificate alone: tables, columns, cells, and plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.privacy import requirement
from tclose.privacy.registry import MODELS
from tclose.recode.frame import GUARDS
from tclose.recode.typed_table import (
    BOTTOM,
    CLASS,
    CLASS_SIZE,
    HIGH,
    LABEL,
    LOW,
    MEAN,
    MID,
    MISSING_ROWS,
    TOP,
    bins_of,
    listed_as_text,
    suffixes_of,
)
from tclose.release.certificate import ONE_TABLE, Certificate, CertifiedFile
from tclose.release.claims import ModelClaim
from tclose.release.formats import CSV, OutputFormat, format_of
from tclose.release.layouts import LAYOUTS
from tclose.release.verification import NO_IDENTITY
from tclose.table.persons import LENGTH, LETTERS
from tclose.table.sources import parse, read_bytes
from tclose.table.sources.folder import joined
from tclose.table.values import Values, values_of
from tclose.words import counted, number, plain

# Tables, columns and cells


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


# Sentences; all of them follow from the certificate


RANGES = {
    "[20, 29]": "from 20 to 29, both ends included",
    "≥90 or ≤18": "90 or more; 18 or less",
    "{a, b}": "one of the listed values",
    "a single value": "everyone in the class has this value, or the value is a label that covers the class, or a mean",
    "… or missing": "or the value is missing",
}
TYPED = {
    "": "the values that a person of the class can have",
    LOW: "no value in the class is smaller; empty if it is not known",
    HIGH: "no value in the class is larger; empty if it is not known",
    MID: "the middle of the range, which need not be any person's value",
    BOTTOM: "some values in the class are at most this, and it is not published how small they are",
    TOP: "some values in the class are at least this, and it is not published how large they are",
    MEAN: "the mean of the class",
    LABEL: "the label of a hierarchy that covers the class",
    MISSING_ROWS: "whether none, some or all of the rows of the class lack a value",
}
BINS = {
    LOW: "the row's own value is above this; only in the first bin can it be this",
    HIGH: "the row's own value is at most this",
    MID: "the middle of the bin, which need not be the row's own value",
}
SENSITIVE = "each row publishes its own value, or the bin that the value is in"
CAUTIONS = (
    "Do not take a range for an exact value: a person's value lies somewhere in it, and not always in its middle.",
    "Do not conclude that a person has a sensitive value because the person's class shows it often: the promise limits "
    "how far a class may differ from the whole table, it does not make classes equal.",
    "Do not try to find out who a row is about, and do not join this release with other tables for that purpose.",
    "Nothing is promised about somebody who knows how the classes were made.",
)


def about(description: Description) -> str:
    """Say in one paragraph what the release is."""
    certificate = description.certificate
    source = f" of {plain(certificate.table)}" if certificate.table else ""
    rows = max(table.rows for table in description.tables)
    sizes = f"{counted(rows, 'row')} in {counted(int(certificate.claims.classes or 0), 'class')}"
    classes = sizes if certificate.claims.classes else counted(rows, "row")
    withheld = f"; {counted(certificate.withheld, 'row')} withheld" if certificate.withheld else ""
    return (
        f"An anonymised release{source}: {classes}{withheld}. Rows of a class publish the same quasi-identifiers. "
        f"Made by {certificate.tool or 'tclose'} with the method {certificate.method}, and judged from its published "
        "values."
    )


def column_words(column: DescribedColumn, certificate: Certificate) -> str:
    """Say what a column is, and what is promised about it."""
    exact = LAYOUTS[certificate.layout].exact_quasi
    words = {
        "quasi": f"Quasi-identifier: {'published exactly' if exact else 'one common value per class, often a range'}.",
        "keep": "Published exactly. Rows with different values are in different classes.",
        "sensitive": f"Sensitive attribute: {'the values of a group, in any order' if exact else SENSITIVE}.",
        "unlinkable": "Published exactly, and not judged.",
        "pseudonym": "Pseudonym: rows with the same text are rows of one person, in every release with the same key.",
        "group": "Number of the group whose sensitive values belong to these rows, in any order.",
        "count": "Describes the counts of exact values in a class.",
        "class": "Number of the class.",
        "class_size": "How many rows the class has.",
        "typed": _typed_words(column, certificate),
    }[column.role]
    attribute = column.name if column.part_of is None else column.part_of[0]
    promises = "; ".join(promise for promise in map(promise_words, claims_about(certificate, attribute)))
    return f"{words} Promised: {promises}." if promises else words


def claims_about(certificate: Certificate, attribute: str | None) -> Iterator[ModelClaim]:
    """Yield what is claimed about one attribute, or, for None, about classes as such; of several tables once each."""
    every = [file.claims for file in certificate.files if file.claims is not None] or [certificate.claims]
    seen = set()
    for claim in (claim for claims in every for claim in claims.models if claim.attribute == attribute):
        if claim.model in MODELS and (words := promise_words(claim)) not in seen:
            seen.add(words)
            yield claim


def _typed_words(column: DescribedColumn, certificate: Certificate) -> str:
    """Say what a typed column is of a quasi-identifier, or of the bins of a sensitive attribute."""
    name, added = column.part_of or (column.name, "")
    if name in certificate.policy.sensitive:
        return f"Sensitive attribute {plain(name)}, in bins: {BINS.get(added, '')}."
    return f"Quasi-identifier {plain(name)}: {TYPED[added]}."


def promise_words(claim: ModelClaim) -> str:
    """Say which level is required and which one is reached."""
    entry = requirement(str(claim.model))
    reached = claim.reached if isinstance(claim.reached, str) else number(claim.reached or 0)
    return f"{entry.title} {entry.words(claim.required)} (reached {reached})"


def cautions(description: Description) -> Iterator[str]:
    """Yield what a reader must not conclude."""
    certificate = description.certificate
    yield from CAUTIONS
    if LAYOUTS[certificate.layout].exact_quasi:
        yield f"{NO_IDENTITY[0].upper()}{NO_IDENTITY[1:]}."
    if certificate.pseudonyms:
        yield "Pseudonyms link the rows of a person, here and in every release with the same key."
    if certificate.withheld:
        withheld = counted(certificate.withheld, "row")
        yield f"{withheld} withheld: shares in this release are not quite those of the original."


def citation(description: Description) -> str:
    """Say how to cite the release."""
    certificate = description.certificate
    source = f" of {plain(certificate.table)}" if certificate.table else ""
    day = f", {certificate.created[:10]}" if certificate.created else ""
    return (
        f"{plain(description.name)}, an anonymised release{source}{day}. {certificate.tool or 'tclose'}. "
        f"Certificate digest {certificate.digest}."
    )
