"""What the descriptions of a release say in plain words; all of it follows from the certificate."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.privacy import requirement
from tclose.privacy.registry import MODELS
from tclose.recode.typed import BOTTOM, HIGH, LABEL, LOW, MEAN, MID, MISSING_ROWS, TOP
from tclose.release.certificate import Certificate
from tclose.release.claims import ModelClaim
from tclose.release.describing.facts import DescribedColumn, Description
from tclose.release.layouts import LAYOUTS
from tclose.release.verification import NO_IDENTITY
from tclose.words import counted, number, plain

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
