"""A first draft of a policy from a table: roles and kinds are guessed and explained, t never is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tclose.words import counted, plain

Kind = Literal["number", "date", "boolean", "text", "mixed"]
Role = Literal["identifier", "quasi", "sensitive"]

# Patterns for a name in small letters with its words between underscores, as in _marital_status_.
IDENTITY = (
    r"^_name_$|(first|last|full|sur|fore|given|family|nick|user)_?name|_(patient|person|customer|client|employee)_name_|"
    r"_ssn_|social_security|mail|phone|_mobile_|_fax_|passport|_iban_|_mrn_|uuid|guid"
)
NUMBERING = (
    r"name|_id_|(patient|person|customer|client|user|case|member|subject)id_|number|_n[or]_|address|account|licen[cs]e"
)
SENSITIVE = (
    r"diagnos|disease|illness|_condition|symptom|_drug|medic|salary|income|wage|_pay|tax|charge|_cost|debt|credit|balance|"
    r"_[lh]dl_|chol|gluc|ha?emo|_bmi_|_weight|pressure|systol|diastol|pulse|_labs?_|_tests?_|_results?_|_scores?_|_grades?_|"
    r"crime|offen|_stay_"
)
QUASI = (
    r"_aged?_|birth|_dob_|_sex_|gender|_race_|ethnic|_zip|postal|post_?code|_city_|_town_|_state_|county|country|region|"
    r"marital|marriage|education|degree|occupation|_job|profession|employ|_work|religion|household|rooms|native|national|"
    r"language|admission|_date|date_|_years?_|_yr_|_lat_|_lon_|latitude|longitude|relationship"
)
LOOK = "a measurement by the look of its values"
MISSING = ("", "NA", "N/A", "?", "null", "NULL", "NaN", "None")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a draft looks at: a column's name, the kind of its values, and counts."""

    name: str
    kind: Kind
    rows: int
    distinct: int  # different values
    missing: int  # rows without a value
    markers: Sequence[str] = ()  # cells such as NA that stand for a missing value


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


def guess(columns: Sequence[Profile]) -> list[Guess]:
    """Guess the role of every column from its name and its profile."""
    guesses = [_guess(column) for column in columns]
    if any(guess.role == "quasi" for guess in guesses):
        return guesses
    unsure = sorted((guess for guess in guesses if guess.role == "sensitive"), key=lambda guess: LOOK not in guess.why)
    return [_as_quasi(guess) if guess in unsure[:1] else guess for guess in guesses]


def _guess(column: Profile) -> Guess:
    role, why = _role(_words(column.name), column.kind, column.rows - column.missing, column.distinct)
    kind = "numbers and text" if column.kind == "mixed" else column.kind
    shown = f"{why}; {kind}, {counted(column.distinct, 'different value')} in {counted(column.rows, 'row')}"
    return Guess(column.name, role, column.kind, shown, column.missing)


def _as_quasi(guess: Guess) -> Guess:
    """Make a column the one that forms the classes; without any, nothing can be judged."""
    return replace(guess, role="quasi", why="no column looks like something that others know: is it this one?")


def _words(name: str) -> str:
    """Return the words of a name as the patterns want them.

    >>> _words("HomeRooms"), _words("marital-status"), _words("Race1")
    ('_home_rooms_', '_marital_status_', '_race_')
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return "_" + re.sub(r"[\W\d_]+", "_", parted).strip("_") + "_"


def _role(name: str, kind: Kind, rows: int, distinct: int) -> tuple[Role, str]:
    if re.search(IDENTITY, name):
        return "identifier", "its name points to one person"
    if re.search(NUMBERING, name) and distinct > 0.5 * rows:
        return "identifier", "its name and its many different values point to one person"
    if re.search(SENSITIVE, name):
        return "sensitive", "its name says something that nobody may learn about a person"
    if re.search(QUASI, name):
        return "quasi", "its name is something that others may know about a person"
    if kind in ("text", "mixed") and rows > 1 and distinct == rows:
        return "identifier", "no two rows share a value"
    if kind == "number" and distinct > 50:
        return "sensitive", LOOK
    return "quasi", "its meaning is unknown, and others may know its values"


def draft(columns: Sequence[Profile]) -> str:
    """Return a policy in TOML, with a comment for every guess; it asks for a t before it can be used."""
    guesses = guess(columns)
    identifiers = [each for each in guesses if each.role == "identifier"]
    lines = [
        "# Drafted by tclose init. Every role below is a guess from names and values: read it line by line.",
        "",
        f"identifiers = [{', '.join(_quoted(each.column) for each in identifiers)}]  # never published",
        *(f"# {_key(each.column)}: {each.why}" for each in identifiers),
        "k = 5  # no class smaller than this",
        f"missing = {json.dumps(_missing_cells(columns))}  # cells that mean: no value",
    ]
    for each in guesses:
        if each.role != "identifier":
            lines += ["", *_section(each)]
    return "\n".join(lines) + "\n"


def _section(guess: Guess) -> list[str]:
    lines = [f"[{guess.role}.{_key(guess.column)}]", f"# {guess.why}"]
    if guess.role == "quasi":
        return lines
    lines.append("# t = 0.?  choose: how far may a class's distribution be from the table's? 0 not at all, 1 anything")
    if guess.kind in ("text", "boolean", "mixed"):
        lines.append('distance = "equal"  # or "hierarchical" with hierarchy = "FILE.csv"')
    if guess.missing:
        lines.append(f'missing = "suppress"  # no value in {counted(guess.missing, "row")}')
    return lines


def _missing_cells(columns: Sequence[Profile]) -> list[str]:
    """Return the cells that mean "missing" in some column; an empty cell always does."""
    shown = {marker for column in columns for marker in column.markers}
    return [marker for marker in MISSING if not marker or marker in shown]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(name: str) -> str:
    """Spell a name as TOML does; whatever is invisible is escaped, so that the draft can be read on a terminal."""
    text = json.dumps(name, ensure_ascii=False)
    return "".join(letter if plain(letter) == letter else rf"\U{ord(letter):08x}" for letter in text)
