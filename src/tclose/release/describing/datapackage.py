"""A Frictionless Data Package, version 2 of the standard."""

from __future__ import annotations

import json
import re
from typing import Any

from tclose.release.describing.facts import DescribedColumn, DescribedTable, Description
from tclose.release.describing.sentences import about, citation, column_words
from tclose.release.formats import ARROW, CSV, PARQUET

PROFILES = "https://datapackage.org/profiles/2.0"
MEDIA_TYPES = {
    CSV.name: "text/csv",
    PARQUET.name: "application/vnd.apache.parquet",
    ARROW.name: "application/vnd.apache.arrow.file",
    "Excel": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "Stata": "application/x-stata-dta",
    "SPSS": "application/x-spss-sav",
}


def describe(description: Description) -> bytes:
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
        "mediatype": MEDIA_TYPES[table.kind.name],
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
