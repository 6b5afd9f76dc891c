"""A codebook in plain words, as Markdown: what the columns mean, what is promised, and what not to conclude."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclose.release.describing.facts import DescribedColumn, DescribedTable, Description
from tclose.release.describing.sentences import (
    RANGES,
    about,
    cautions,
    citation,
    claims_about,
    column_words,
    promise_words,
)
from tclose.words import plain

SHOWN = 12  # values of a column
CHECKING = (
    "With the certificate, anyone can judge the release again, without the original table: "
    "`tclose verify RELEASE --certificate CERTIFICATE`."
)
DISTANCE = "A distance t is 0 if a class shows the same distribution as the whole table, and 1 at most."
SPECIAL = re.compile(r"([\\`*_<>\[\]#&~|])")  # what means something to Markdown or HTML


def describe(description: Description) -> bytes:
    """Return the codebook."""
    return ("\n".join(_lines(description)) + "\n").encode()


def _lines(description: Description) -> Iterator[str]:
    yield from (f"# Codebook: {_plain(description.name)}", "", _plain(about(description)), "")
    yield from _files(description)
    for table in description.tables:
        yield from _columns(table, description)
    yield from _reading() if description.certificate.release_format == "text" else ()
    yield from _promises(description)
    yield from ("## What not to conclude", "", *(f"- {_plain(caution)}" for caution in cautions(description)), "")
    yield from ("## How to check it", "", CHECKING, "", f"Certificate digest: `{description.certificate.digest}`", "")
    yield from ("## How to cite it", "", _plain(citation(description)))


def _files(description: Description) -> Iterator[str]:
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
