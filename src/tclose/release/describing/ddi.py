"""DDI-Codebook 2.5, in which archives of the social sciences describe files and variables."""

from __future__ import annotations

import re
from urllib.parse import quote
from xml.etree import ElementTree

from tclose.release.describing.datapackage import MEDIA_TYPES
from tclose.release.describing.facts import DescribedColumn, DescribedTable, Description
from tclose.release.describing.sentences import about, cautions, citation, claims_about, column_words, promise_words
from tclose.release.formats import CSV

NAMESPACE = "ddi:codebook:2_5"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
SCHEMA = "https://ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
NUMERIC = ("integer", "number")
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
Element = ElementTree.Element


def describe(description: Description) -> bytes:
    """Return the codebook as XML."""
    root = Element("codeBook", {"xmlns": NAMESPACE, "xmlns:xsi": INSTANCE, "version": "2.5"})
    root.set("xsi:schemaLocation", f"{NAMESPACE} {SCHEMA}")
    _document(root, description)
    _study(root, description)
    numbers = _files(root, description)
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


def _files(root: Element, description: Description) -> list[str]:
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
            _child(text, "fileType", MEDIA_TYPES[table.kind.name], **_charset(table))
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
