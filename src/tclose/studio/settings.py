"""Changes of a policy's settings, one at a time: each takes the settings as they are and returns new ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tclose.errors import InputError
from tclose.studio.project import Settings

ROLES = ("identifier", "quasi", "sensitive", "keep", "drop")
LISTS = {"identifier": "identifiers", "keep": "keep"}
TABLES = ("quasi", "sensitive")
LEVELS = {"t", "entropy_l", "alpha", "beta", "enhanced_beta", "delta", "kl", "average_t"}
NUMBERS = {*LEVELS, "step", "top", "bottom", "weight"}
WHOLE = {"l", "n", "k"}
BINS = ("width", "quantiles", "edges")


def mark(column: str) -> str:
    """Return what a form carries to say which column it is about: names may hold what forms change, as line ends."""
    return hashlib.sha256(column.encode(errors="replace")).hexdigest()[:16]


def place_of(columns: Sequence[str], place: int | None, marked: str) -> int:
    """Return the place of the column that a form is about; another tab may have moved it or given it another role."""
    if place is None or (place >= len(columns) and not marked):
        raise InputError("there is no such column")
    marks = [mark(column) for column in columns] if marked else []
    if marked and marked not in marks:
        raise InputError("this column was changed in another window: this is how it is now")
    return marks.index(marked) if marked else place


def role_of(settings: Mapping[str, Any], column: str) -> str:
    """Return the role of a column; one that no role names is left out of the release."""
    for role, name in LISTS.items():
        if column in settings.get(name, ()):
            return role
    return next((role for role in TABLES if column in settings.get(role, {})), "drop")


def with_role(settings: Settings, column: str, role: str, proposed: Mapping[str, Any]) -> Settings:
    """Give a column another role; what was proposed for this role is set, too."""
    if role not in ROLES:
        raise InputError(f"there is no role '{role}'")
    if role_of(settings, column) == role:
        return settings
    new = deepcopy(settings)
    for name in LISTS.values():
        if column in new.get(name, ()):
            new[name] = [other for other in new[name] if other != column]
    for table in TABLES:
        new.get(table, {}).pop(column, None)
    if role != "identifier" and new.get("person") == column:
        new.pop("person")
    if role in LISTS:
        new[LISTS[role]] = [*new.get(LISTS[role], ()), column]
    elif role in TABLES:
        new.setdefault(role, {})[column] = dict(proposed)
    new["others"] = "drop"
    return {name: value for name, value in new.items() if value != []}


def with_person(settings: Settings, column: str | None) -> Settings:
    """Say which identifier tells persons apart, or that every row is a person."""
    new = deepcopy(settings)
    if column is None:
        new.pop("person", None)
    elif column in settings.get("identifiers", ()):
        new["person"] = column
    else:
        raise InputError("only an identifier can tell persons apart")
    return new


def with_setting(settings: Settings, role: str, column: str, name: str, text: str) -> Settings:
    """Set what a form gave for a column, or take it away where the form is empty."""
    if column not in settings.get(role, {}):
        raise InputError("there is no such column with this role")
    new = deepcopy(settings)
    own = new[role][column]
    value = read(name, text)
    if value is None:
        own.pop(name, None)
    else:
        own[name] = value
    if name == "bins" and value is None:
        own.pop("publish", None)
    return new


def with_k(settings: Settings, text: str) -> Settings:
    """Set the smallest class."""
    value = read("k", text)
    return {**{name: part for name, part in settings.items() if name != "k"}, **({} if value is None else {"k": value})}


def read(name: str, text: str) -> Any:
    """Read a setting from the text of a form; None where it is empty."""
    given = text.strip()
    if not given:
        return None
    if name in WHOLE:
        return _whole(given)
    if name in NUMBERS:
        return _number(given)
    if name == "bins":
        kind, _, value = given.partition(" ")
        if kind not in BINS:
            raise InputError(f"bins are made by {' or '.join(BINS)}")
        numbers = [_number(part) for part in value.replace(";", " ").split()]
        if not numbers or (kind != "edges" and len(numbers) > 1):
            raise InputError("bins need one number, or the ends of all bins")
        return {kind: numbers if kind == "edges" else numbers[0]}
    if name == "hierarchy":
        kind, _, value = given.partition(" ")
        if kind == "file":
            return _name_of_file(value.strip())
        levels, kind = value.replace(",", " ").split(), "width" if kind == "widths" else kind
        return {kind: levels if kind == "date" else [_number(level) for level in levels]}
    return given


def _name_of_file(text: str) -> str:
    """Read the name of a file in the project's own folder."""
    if not text or text.startswith(".") or "/" in text or "\\" in text:
        raise InputError("a hierarchy file lies in the project: import it first")
    return text


def _whole(text: str) -> int:
    number = _number(text)
    if not isinstance(number, int):
        raise InputError(f"expected a whole number, not {text[:20]}")
    return number


def _number(text: str) -> int | float:
    """Read a number with a decimal point or a decimal comma."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"expected a number, not {text[:20]}") from None
    if number != number or abs(number) == float("inf"):
        raise InputError("expected a number")
    return int(number) if number == int(number) and abs(number) < 1e15 else number
