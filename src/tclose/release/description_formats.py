"""The formats of descriptions beside a release: codebook, Data Package, Croissant and DDI.

- A codebook in plain words, as Markdown: what the columns mean, what is promised, and what not to conclude.
- A Frictionless Data Package, version 2 of the standard.
- Croissant 1.1, the description of datasets for machine learning: schema.org as JSON-LD.
- DDI-Codebook 2.5, in which archives of the social sciences describe files and variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from tclose.errors import InputError, did_you_mean
from tclose.release.certificate import Certificate
from tclose.release.description import (
    RANGES,
    ColumnType,
    DescribedColumn,
    DescribedTable,
    Description,
    about,
    cautions,
    check_certified,
    citation,
    claims_about,
    column_words,
    promise_words,
)
from tclose.release.formats import CSV, PARQUET
from tclose.words import plain

# Codebook


SHOWN = 12  # values of a column
CHECKING = (
    "With the certificate, anyone can judge the release again, without the original table: "
    "`tclose verify RELEASE --certificate CERTIFICATE`."
)
DISTANCE = "A distance t is 0 if a class shows the same distribution as the whole table, and 1 at most."
SPECIAL = re.compile(r"([\\`*_<>\[\]#&~|])")  # what means something to Markdown or HTML


def codebook(description: Description) -> bytes:
    """Return the codebook."""
    return ("\n".join(_lines(description)) + "\n").encode()


def _lines(description: Description) -> Iterator[str]:
    yield from (f"# Codebook: {_plain(description.name)}", "", _plain(about(description)), "")
    yield from _file_lines(description)
    for table in description.tables:
        yield from _columns(table, description)
    yield from _reading() if description.certificate.release_format == "text" else ()
    yield from _promises(description)
    yield from ("## What not to conclude", "", *(f"- {_plain(caution)}" for caution in cautions(description)), "")
    yield from ("## How to check it", "", CHECKING, "", f"Certificate digest: `{description.certificate.digest}`", "")
    yield from ("## How to cite it", "", _plain(citation(description)))


def _file_lines(description: Description) -> Iterator[str]:
    yield from ("## Files", "", "| file | rows | bytes | SHA-256 |", "|---|---|---|---|")
    for table in description.tables:
        for file in table.files:
            yield f"| {_plain(file.path)} | {file.rows:,} | {file.size:,} | `{file.sha256}` |"
    yield ""


def _columns(table: DescribedTable, description: Description) -> Iterator[str]:
    several = len(description.tables) > 1
    holds = f": {table.holds}" if table.holds else ""
    yield from (f"## Columns of {_plain(table.name)}{holds}" if several else "## Columns", "")
    yield from ("| column | type | values | meaning |", "|---|---|---|---|")
    for column in table.columns:
        words = column_words(column, description.certificate)
        yield f"| {_plain(column.name)} | {column.type} | {_plain(_values(column))} | {_plain(words)} |"
    missing = [cell for cell in description.policy.missing if cell]
    also = f" So do these texts: {', '.join(map(_plain, missing))}." if missing else ""
    yield from ("", f"An empty cell means that the value is missing.{also}", "")


def _values(column: DescribedColumn) -> str:
    """Say which values a column shows."""
    if column.low is not None:
        shown = f"{column.low} to {column.high}"
    elif column.values:
        more = f" and {len(column.values) - SHOWN} more" if len(column.values) > SHOWN else ""
        shown = ", ".join(column.values[:SHOWN]) + more
    elif not column.different:
        return "none: all are missing"
    else:
        shown = f"{column.different:,} different texts"
    return f"{shown}; some missing" if column.missing else shown


def _reading() -> Iterator[str]:
    yield from ("## How quasi-identifiers read", "", "| cell | meaning |", "|---|---|")
    yield from (f"| `{cell}` | {meaning} |" for cell, meaning in RANGES.items())
    yield ""


def _promises(description: Description) -> Iterator[str]:
    certificate = description.certificate
    yield from ("## What is promised", "")
    if certificate.guarantee:
        yield from (f"{certificate.guarantee[0].upper()}{certificate.guarantee[1:]}.", "")
    if certificate.scope:
        yield from (_plain(f"Not covered: {certificate.scope}."), "")
    for attribute in (None, *description.policy.required):
        shown = "all columns" if attribute is None else _plain(attribute)
        yield from (f"- {shown}: {promise_words(claim)}" for claim in claims_about(certificate, attribute))
    persons = " k and l count persons, not rows." if certificate.counted == "persons" else ""
    yield from ("", f"{DISTANCE}{persons}", "")


def _plain(text: str) -> str:
    """Return text of one line in which nothing means anything to Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", plain(text))


# Frictionless Data Package


PROFILES = "https://datapackage.org/profiles/2.0"


def data_package(description: Description) -> bytes:
    """Return the descriptor; it lies beside the files that it names."""
    certificate = description.certificate
    package: dict[str, Any] = {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": slug(description.name),
        "title": description.name,
        "description": about(description),
        "id": f"urn:tclose:certificate:{certificate.digest}",
        **({"created": certificate.created} if certificate.created else {}),
        "citation": citation(description),
        "resources": [_resource(table, description) for table in description.tables],
    }
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode()


def slug(name: str) -> str:
    """Return a name as URLs have it.

    >>> slug("My Release (2).v1")
    'my-release-2-.v1'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "release"


def _resource(table: DescribedTable, description: Description) -> dict[str, Any]:
    paths = [file.path for file in table.files]
    one = len(paths) == 1
    return {
        "$schema": f"{PROFILES}/dataresource.json",
        "name": slug(table.name),
        "type": "table",
        "path": paths[0] if one else paths,
        **({"title": table.holds} if table.holds else {}),
        "format": table.kind.suffixes[0].removeprefix("."),
        "mediatype": table.kind.media_type,
        **({"encoding": "utf-8", "dialect": {"lineTerminator": "\n"}} if table.kind is CSV else {}),
        "bytes": table.size,
        **({"hash": f"sha256:{table.files[0].sha256}"} if one else {"parts": _parts(table)}),
        "rows": table.rows,
        "schema": {
            "$schema": f"{PROFILES}/tableschema.json",
            "fields": [_field(column, description) for column in table.columns],
            "missingValues": list(dict.fromkeys(("", *description.policy.missing))),
        },
    }


def _parts(table: DescribedTable) -> list[dict[str, Any]]:
    """Return the fingerprints of several files, for which the standard has no place."""
    return [{"path": file.path, "bytes": file.size, "hash": f"sha256:{file.sha256}"} for file in table.files]


def _field(column: DescribedColumn, description: Description) -> dict[str, Any]:
    constraints: dict[str, Any] = {} if column.missing else {"required": True}
    if column.pattern is not None:
        constraints |= {"pattern": column.pattern}
    if column.type == "string" and column.values:
        constraints |= {"enum": list(column.values)}
    if column.type not in ("string", "boolean", "datetime", "list") and column.low is not None:
        constraints |= {"minimum": _bound(column.low, column), "maximum": _bound(str(column.high), column)}
    return {
        "name": column.name,
        "type": "array" if column.type == "list" else column.type,
        **({"format": "any"} if column.type == "datetime" else {}),
        "description": column_words(column, description.certificate),
        **({"constraints": constraints} if constraints else {}),
    }


def _bound(text: str, column: DescribedColumn) -> int | float | str:
    if column.type == "date":
        return text
    return int(text) if column.type == "integer" else float(text)


# Croissant


CROISSANT = "http://mlcommons.org/croissant/"
PLAIN = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileProperty fileObject fileSet format "
    "includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)  # terms that mean what Croissant says
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": CROISSANT,
    "dct": "http://purl.org/dc/terms/",
    "rai": f"{CROISSANT}RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in PLAIN.split()},
}
TYPES: dict[ColumnType, str] = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "string": "sc:Text",
    "list": "sc:Text",
}
PARQUET_ENCODING = "application/x-parquet"  # which Croissant knows by this name


def croissant(description: Description) -> bytes:
    """Return the JSON-LD; it lies beside the files that it names."""
    certificate = description.certificate
    dataset: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": f"{CROISSANT}1.1",
        "name": description.name,
        "description": about(description),
        "identifier": f"urn:tclose:certificate:{certificate.digest}",
        "citeAs": citation(description),
        **({"datePublished": certificate.created} if certificate.created else {}),
        "distribution": [part for table in description.tables for part in _distribution(table)],
        "recordSet": [_record_set(table, description) for table in description.tables],
    }
    return (json.dumps(dataset, indent=2, ensure_ascii=False) + "\n").encode()


def identifiers(names: Iterable[str]) -> list[str]:
    """Return an identifier for each name, all different; readers of Croissant take no spaces in them.

    >>> identifiers(["age", "my age", "my_age"])
    ['age', 'my_age', 'my_age-2']
    """
    made: list[str] = []
    for name in names:
        plain = free = re.sub(r"[^\w./-]", "_", name)
        number = 1
        while free in made:
            number += 1
            free = f"{plain}-{number}"
        made.append(free)
    return made


def _distribution(table: DescribedTable) -> list[dict[str, Any]]:
    """Return the files of a table; several parts also form a set of files."""
    encoding = PARQUET_ENCODING if table.kind is PARQUET else table.kind.media_type
    files = [
        {
            "@type": "cr:FileObject",
            "@id": identifier,
            "name": file.path,
            "contentUrl": file.path,
            "contentSize": f"{file.size} B",
            "encodingFormat": encoding,
            "sha256": file.sha256,
        }
        for identifier, file in zip(_of_files(table), table.files, strict=True)
    ]
    if len(files) == 1:
        return files
    every = {"@type": "cr:FileSet", "@id": _set_name(table), "name": _set_name(table), "encodingFormat": encoding}
    return [*files, {**every, "includes": [file.path for file in table.files]}]


def _of_files(table: DescribedTable) -> list[str]:
    return identifiers(file.path for file in table.files)


def _set_name(table: DescribedTable) -> str:
    return f"{identifiers([table.name])[0]}-parts"


def _record_set(table: DescribedTable, description: Description) -> dict[str, Any]:
    one = len(table.files) == 1
    where = {"fileObject": {"@id": _of_files(table)[0]}} if one else {"fileSet": {"@id": _set_name(table)}}
    place = f"{identifiers([table.name])[0]}/"  # which no file is called
    columns = zip(identifiers(column.name for column in table.columns), table.columns, strict=True)
    return {
        "@type": "cr:RecordSet",
        "@id": place,
        "name": table.name,
        **({"description": table.holds} if table.holds else {}),
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{place}{identifier}",
                "name": column.name,
                "description": column_words(column, description.certificate),
                "dataType": TYPES[column.type],
                **({"isArray": True, "arrayShape": "-1"} if column.type == "list" else {}),
                "source": {**where, "extract": {"column": column.name}},
            }
            for identifier, column in columns
        ],
    }


# DDI-Codebook


NAMESPACE = "ddi:codebook:2_5"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
SCHEMA = "https://ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
NUMERIC = ("integer", "number")
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
Element = ElementTree.Element


def ddi_codebook(description: Description) -> bytes:
    """Return the codebook as XML."""
    root = Element("codeBook", {"xmlns": NAMESPACE, "xmlns:xsi": INSTANCE, "version": "2.5"})
    root.set("xsi:schemaLocation", f"{NAMESPACE} {SCHEMA}")
    _document(root, description)
    _study(root, description)
    numbers = _file_elements(root, description)
    data = _child(root, "dataDscr")
    count = 0
    for table, files in zip(description.tables, numbers, strict=True):
        for column in table.columns:
            count += 1
            _variable(data, f"V{count}", column, files, description)
    ElementTree.indent(root)
    data_of_file: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data_of_file + b"\n"


def _child(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """Add an element; what XML cannot hold becomes a question mark."""
    child = ElementTree.SubElement(parent, tag, {key: _legal(value) for key, value in attributes.items()})
    child.text = None if text is None else _legal(text)
    return child


def _legal(text: str) -> str:
    return FORBIDDEN.sub("?", text)


def _document(root: Element, description: Description) -> None:
    certificate = description.certificate
    citation_of = _child(_child(root, "docDscr"), "citation")
    _child(_child(citation_of, "titlStmt"), "titl", f"Codebook of {description.name}")
    made = _child(citation_of, "prodStmt")
    if certificate.created:
        _child(made, "prodDate", certificate.created[:10], date=certificate.created[:10])
    _child(made, "software", certificate.tool or "tclose", version=certificate.version)


def _study(root: Element, description: Description) -> None:
    certificate = description.certificate
    study = _child(root, "stdyDscr")
    cited = _child(study, "citation")
    title = _child(cited, "titlStmt")
    _child(title, "titl", description.name)
    _child(title, "IDNo", f"urn:tclose:certificate:{certificate.digest}", agency="tclose")
    _child(cited, "biblCit", citation(description))
    _child(_child(study, "stdyInfo"), "abstract", about(description))
    for promise in map(promise_words, claims_about(certificate, None)):
        _child(study, "notes", promise, type="promise")
    for caution in cautions(description):
        _child(study, "notes", caution, type="caution")


def _file_elements(root: Element, description: Description) -> list[str]:
    """Describe every file; return the identifiers of each table's files."""
    numbers, count = [], 0
    for table in description.tables:
        own = []
        for file in table.files:
            count += 1
            own.append(f"F{count}")
            described = _child(root, "fileDscr", ID=f"F{count}", URI=quote(file.path))
            text = _child(described, "fileTxt")
            _child(text, "fileName", file.path)
            _child(text, "fileCont", table.holds or "rows")
            sizes = _child(text, "dimensns")
            _child(sizes, "caseQnty", str(file.rows))
            _child(sizes, "varQnty", str(len(table.columns)))
            _child(text, "fileType", table.kind.media_type, **_charset(table))
            _child(described, "notes", file.sha256, type="fingerprint", subject="SHA-256")
        numbers.append(" ".join(own))
    return numbers


def _charset(table: DescribedTable) -> dict[str, str]:
    return {"charset": "UTF-8"} if table.kind is CSV else {}


def _variable(data: Element, number: str, column: DescribedColumn, files: str, description: Description) -> None:
    numeric = column.type in NUMERIC
    kind = "contin" if numeric else "discrete"
    variable = _child(data, "var", ID=number, name=column.name, files=files, intrvl=kind)
    _child(variable, "labl", column.name)
    if numeric and column.low is not None:
        _child(_child(variable, "valrng"), "range", min=column.low, max=str(column.high))
    if column.missing:
        listed = _child(variable, "invalrng")
        for cell in dict.fromkeys(("", *description.policy.missing)):
            _child(listed, "item", VALUE=cell)
    _child(variable, "txt", column_words(column, description.certificate))
    for value in column.values:
        _child(_child(variable, "catgry"), "catValu", value)
    _child(variable, "varFormat", type="numeric" if numeric else "character", schema="other")


# All formats


__all__ = ["FORMATS", "check_formats", "description_files", "descriptions"]


@dataclass(frozen=True)
class DescriptionFormat:
    """A format: the ending of its file, what it is, and how it is written."""

    ending: str
    what: str
    describe: Callable[[Description], bytes]  # the bytes depend on the description alone


FORMATS: Mapping[str, DescriptionFormat] = {
    "datapackage": DescriptionFormat(".datapackage.json", "a Frictionless Data Package", data_package),
    "croissant": DescriptionFormat(".croissant.json", "Croissant 1.1, for machine learning", croissant),
    "ddi": DescriptionFormat(".ddi.xml", "DDI-Codebook 2.5, for archives", ddi_codebook),
    "codebook": DescriptionFormat(".codebook.md", "a codebook in plain words", codebook),
}


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """Return each format once; refuse those that nobody knows."""
    if isinstance(names, str):
        raise InputError('formats of descriptions are a list: say ["{names}"]', names=names)
    for name in names:
        if name not in FORMATS:
            hint = did_you_mean(str(name), FORMATS) or f"; known are {', '.join(FORMATS)}"
            raise InputError("there is no description '{name}'{hint}", name=name, hint=hint)
    return tuple(dict.fromkeys(names))


def description_files(out: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the file of each description, beside the release.

    >>> [path.name for path in description_files(Path("out/release.csv"), ["ddi", "codebook"]).values()]
    ['release.ddi.xml', 'release.codebook.md']
    """
    return {name: out.with_name(f"{out.stem}{FORMATS[name].ending}") for name in check_formats(names)}


def descriptions(
    names: Sequence[str], out: Path, certificate: Certificate, files: Mapping[str, Path], *, folder: bool
) -> dict[str, bytes]:
    """Describe a release that is to be called `out`; its files are given by the names that the certificate has."""
    if not names:
        return {}
    description = Description.of(out, certificate, files, folder=folder)
    check_certified(description)
    return {name: FORMATS[name].describe(description) for name in names}
