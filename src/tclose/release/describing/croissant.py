"""Croissant 1.1, the description of datasets for machine learning: schema.org as JSON-LD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tclose.release.describing.datapackage import MEDIA_TYPES
from tclose.release.describing.facts import ColumnType, DescribedTable, Description
from tclose.release.describing.sentences import about, citation, column_words
from tclose.release.formats import PARQUET

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
ENCODINGS = {**MEDIA_TYPES, PARQUET.name: "application/x-parquet"}


def describe(description: Description) -> bytes:
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
    encoding = ENCODINGS[table.kind.name]
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
