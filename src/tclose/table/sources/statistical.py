"""Files of Stata (.dta), SPSS (.sav, .zsav) and SAS (.sas7bdat, .xpt), read by pyreadstat.

Where every value of a column has a label, the labels become the cells, since these are what people read. Labels of
some values only, such as of codes for "refused", leave the numbers as they are. Values that the file declares missing
are missing.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import Labels, Source, TableRead, check_names, tidied
from tclose.table.sources.magic import missing_reader
from tclose.words import legible

SAS_PAGE = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
OLD_STATA = tuple(bytes([release, order, 1, 0]) for release in range(104, 116) for order in (1, 2))
NEVER_READ = "the table looks like a file of {name} but cannot be read: it is damaged or was cut off"


def _read_as(reader: str, name: str, article: str, data: bytes, said: SourceSettings) -> TableRead:
    """Read a file by one of pyreadstat's readers."""
    try:
        import pyreadstat
    except ImportError:
        raise missing_reader(f"this is {article} {name} file", "stata") from None
    options: dict[str, Any] = {} if said.encoding is None else {"encoding": said.encoding.upper()}
    try:
        frame, about = getattr(pyreadstat, reader)(io.BytesIO(data), output_format="polars", **options)
    except MemoryError:
        raise
    except Exception:  # its message could quote cells
        raise InputError(NEVER_READ.format(name=name)) from None
    check_names(list(frame.columns))
    if frame.height == 0:
        raise InputError("the table has a header but no rows")
    described = {column: text for column, text in (about.column_names_to_labels or {}).items() if text}
    labels = Labels(described, dict(about.variable_value_labels or {}))
    labelled, remarks = _labelled(tidied(frame), labels.values)
    return TableRead(labelled, SourceSettings(format=name.lower()), tuple(remarks), labels=labels)


def _labelled(frame: pl.DataFrame, values: Mapping[str, Mapping[Any, str]]) -> tuple[pl.DataFrame, list[str]]:
    """Replace codes by their labels in columns where each code has one, and no two have the same."""
    columns, remarks = [], []
    for column in frame.iter_columns():
        labels = values.get(column.name, {})
        codes = [code for code in column.unique().to_list() if code is not None and code != ""]
        known = [code for code in codes if code in labels]
        if known and len(known) == len(codes) and len({labels[code] for code in codes}) == len(codes):
            column = _texts(column, {code: labels[code] for code in codes})
        elif known:
            remarks.append(f"column '{legible(column.name)}' keeps its codes, since not each has a label of its own")
        columns.append(column)
    return pl.DataFrame(columns), remarks


def _texts(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    codes = pl.Series(list(labels), dtype=column.dtype)
    texts = pl.Series(list(labels.values()), dtype=pl.String)
    return column.alias("").replace_strict(codes, texts, default=None, return_dtype=pl.String).alias(column.name)


def _source(name: str, article: str, reader: str, begins: tuple[bytes, ...]) -> Source:
    read_as = partial(_read_as, reader, name, article)

    def read(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
        return read_as(data, SourceSettings()).frame

    return Source(f"{name} file", begins, read, declared=name.lower(), read_as=read_as, spelled=True)


STATA = _source("Stata", "a", "read_dta", (b"<stata_dta>", *OLD_STATA))
SPSS = _source("SPSS", "an", "read_sav", (b"$FL2", b"$FL3"))
SPSS_PORTABLE = _source("SPSS", "an", "read_por", (b"ASCII SPSS PORT FILE",))
SAS = _source("SAS", "a", "read_sas7bdat", (SAS_PAGE,))
SAS_TRANSPORT = _source("SAS", "a", "read_xport", (b"HEADER RECORD*******LIB",))
