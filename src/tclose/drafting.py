"""A first draft of a policy from a table: roles and kinds are guessed and explained, t never is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tclose.table.values import Kind, values_of

Role = Literal["identifier", "quasi", "sensitive"]

IDENTIFYING = (
    r"name|ssn|social|mail|phone|mobile|address|passport|licen[cs]e|account|iban|(^|_)id$|^id(_|$)|number|nr$|uuid|mrn"
)
QUASI = (
    r"age|birth|dob|sex|gender|race|ethnic|zip|post|city|state|county|country|region|marital|education|degree|"
    r"occupation|job|profession|employ|work|religion|household|rooms|native|language|admission|date|year|lat|lon"
)
SENSITIVE = (
    r"diagnos|disease|illness|condition|symptom|drug|medic|salary|income|wage|pay|tax|charge|cost|debt|credit|balance|"
    r"ldl|hdl|chol|gluc|hemo|bmi|weight|pressure|systol|diastol|pulse|lab|test|result|score|grade|crime|offen|stay"
)
MISSING = ("", "NA", "N/A", "?", "null", "NULL", "NaN", "None")


@dataclass(frozen=True)
class Guess:
    """The role that a column seems to play, and why."""

    column: str
    role: Role
    kind: Kind
    why: str
    missing: int

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"column": self.column, "role": self.role, "kind": self.kind, "why": self.why, "missing": self.missing}


def guess(frame: pl.DataFrame) -> list[Guess]:
    """Guess the role of every column from its name and its values."""
    return [_guess(frame[name]) for name in frame.columns]


def _guess(column: pl.Series) -> Guess:
    values = values_of(column, MISSING)
    rows, distinct = len(values.codes), len(values.texts)
    role, why = _role(column.name.lower(), values.kind, rows - values.missing, distinct)
    shown = f"{why}; {values.kind}, {distinct:,} different values in {rows:,} rows"
    return Guess(column.name, role, values.kind, shown, values.missing)


def _role(name: str, kind: Kind, rows: int, distinct: int) -> tuple[Role, str]:
    whole_words = re.split(r"[^a-z]+", name)
    if re.search(IDENTIFYING, name) and (distinct > 0.5 * rows or "name" in whole_words):
        return "identifier", "its name and its many different values point to one person"
    if kind in ("text", "mixed") and rows > 1 and distinct == rows:
        return "identifier", "no two rows share a value"
    if re.search(SENSITIVE, name):
        return "sensitive", "its name says something that nobody may learn about a person"
    if re.search(QUASI, name):
        return "quasi", "its name is something that others may know about a person"
    if kind == "number" and distinct > 50:
        return "sensitive", "a measurement by the look of its values"
    return "quasi", "nothing tells what it is, and others may know it"


def draft(frame: pl.DataFrame) -> str:
    """Return a policy in TOML, with a comment for every guess; it asks for a t before it can be used."""
    guesses = guess(frame)
    identifiers = [found for found in guesses if found.role == "identifier"]
    missing = _missing_cells(frame)
    lines = [
        "# Drafted by tclose init. Every role below is a guess from names and values: read it line by line.",
        "",
        f"identifiers = {json.dumps([found.column for found in identifiers], ensure_ascii=False)}  # never published",
        *(f"# {found.column}: {found.why}" for found in identifiers),
        "k = 5  # no class smaller than this",
        f"missing = {json.dumps(missing, ensure_ascii=False)}  # cells that mean: no value",
    ]
    for found in guesses:
        if found.role != "identifier":
            lines += ["", *_section(found)]
    return "\n".join(lines) + "\n"


def _section(found: Guess) -> list[str]:
    lines = [f"[{found.role}.{_key(found.column)}]", f"# {found.why}"]
    if found.role == "quasi":
        return lines
    lines.append("# t = 0.?  choose: how far may a class's distribution be from the table's? 0 not at all, 1 anything")
    if found.kind in ("text", "boolean", "mixed"):
        lines.append('distance = "equal"  # or "hierarchical" with hierarchy = "FILE.csv"')
    if found.missing:
        lines.append(f'missing = "suppress"  # {found.missing:,} rows have no value')
    return lines


def _missing_cells(frame: pl.DataFrame) -> list[str]:
    text = [frame[name] for name in frame.columns if frame[name].dtype == pl.String]
    return ["", *(cell for cell in MISSING[1:] if any((column == cell).any() for column in text))]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
