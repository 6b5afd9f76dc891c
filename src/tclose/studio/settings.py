"""Changes of a policy's settings and of a hierarchy, one at a time: each takes a value and returns a new one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy import Policy, Quasi, Sensitive
from tclose.policy.settings import declared
from tclose.studio.project import Project, Settings, write_whole

ROLES = ("identifier", "quasi", "sensitive", "keep", "drop")
LISTS = {"identifier": "identifiers", "keep": "keep"}
TABLES = ("quasi", "sensitive")
KEYS = {"": declared(Policy), "quasi": declared(Quasi), "sensitive": declared(Sensitive)}
FIELDS = {role: [name for name, key in keys.items() if key.label] for role, keys in KEYS.items()}  # of the form
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
        raise InputError("there is no role '{role}'", role=role)
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
    taken = next((keys[name].reader.schema.get("type", ()) for keys in KEYS.values() if name in keys), ())
    if "integer" in taken:
        return _whole(given)
    if "number" in taken:
        return _number(given)
    if name == "bins":
        kind, _, value = given.partition(" ")
        if kind not in BINS:
            raise InputError("bins are made by {bins}", bins=" or ".join(BINS))
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
        raise InputError("expected a whole number, not {text}", text=text[:20])
    return number


def _number(text: str) -> int | float:
    """Read a number with a decimal point or a decimal comma."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise InputError("expected a number, not {text}", text=text[:20]) from None
    if number != number or abs(number) == float("inf"):
        raise InputError("expected a number")
    return int(number) if number == int(number) and abs(number) < 1e15 else number


# A hierarchy as its editor changes it: rows that lead from a value over named groups to the root


ROOT = "*"
LONGEST = 200  # letters of a label
MOST_LEVELS = 6


@dataclass(frozen=True)
class EditedHierarchy:
    """Rows of equal length: the value, a group per level, the root."""

    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def flat(cls, values: Iterable[str]) -> EditedHierarchy:
        """Begin with a group for every value."""
        return cls(tuple((value, value, ROOT) for value in values))

    @property
    def levels(self) -> int:
        """How many levels of groups there are between values and root."""
        return len(self.rows[0]) - 2 if self.rows else 0

    def groups(self, level: int) -> dict[str, list[str]]:
        """Return the groups of a level, each with what lies directly below."""
        found: dict[str, dict[str, None]] = {}
        for row in self.rows:
            found.setdefault(row[level], {})[row[level - 1]] = None
        return {name: list(below) for name, below in found.items()}

    def moved(self, level: int, below: Iterable[str], group: str) -> EditedHierarchy:
        """Put some values, or groups of the level below, into a group; it is made where there is none."""
        chosen, name = set(below), _label(group)
        moving = [row for row in self.rows if row[level - 1] in chosen]
        if not moving:
            raise InputError("choose at least one value")
        above = next((row[level + 1 :] for row in self.rows if row[level] == name), None)
        if above is None:  # a new group stays below the groups of the first that is moved, if they have a name
            own = moving[0][level - 1 : level + 1]
            above = tuple(name if label in own else label for label in moving[0][level + 1 :])
        moved = EditedHierarchy(
            tuple((*row[:level], name, *above) if row[level - 1] in chosen else row for row in self.rows)
        )
        return moved._named_apart()

    def _named_apart(self) -> EditedHierarchy:
        """Rename every group that has the name of one value and covers others, too: readers could not tell which."""
        rows, values = [list(row) for row in self.rows], {row[0] for row in self.rows}
        for height in range(1, self.levels + 1):
            covered: dict[str, list[str]] = {}
            for row in self.rows:
                covered.setdefault(row[height], []).append(row[0])
            for path in rows:
                leaves = covered.get(path[height], [])
                if path[height] in values and len(leaves) > 1:
                    path[height] = _joined(leaves, values)
        return EditedHierarchy(tuple(map(tuple, rows)))

    def renamed(self, level: int, group: str, name: str) -> EditedHierarchy:
        """Give a group another name, here and where it stands alone above; an existing name joins the two."""
        inside = [row for row in self.rows if row[level] == group]
        if _label(name) in {row[level] for row in self.rows}:
            return self.moved(level, {row[level - 1] for row in inside}, name)
        alone = [
            height
            for height in range(level, self.levels + 1)
            if all((row[height] == group) == (row[level] == group) for row in self.rows)
        ]

        def changed(row: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(_label(name) if height in alone else label for height, label in enumerate(row))

        return EditedHierarchy(tuple(changed(row) if row[level] == group else row for row in self.rows))

    def with_level(self) -> EditedHierarchy:
        """Add a level below the root, with the groups of the level before."""
        if self.levels >= MOST_LEVELS:
            raise InputError("a hierarchy has at most {most_levels} levels here", most_levels=MOST_LEVELS)
        return EditedHierarchy(tuple((*row[:-1], row[-2], row[-1]) for row in self.rows))

    def without_level(self) -> EditedHierarchy:
        """Take the highest level of groups away."""
        if self.levels < 2:
            raise InputError("one level of groups has to stay")
        return EditedHierarchy(tuple((*row[:-2], row[-1]) for row in self.rows))

    def covering(self, values: Iterable[str]) -> EditedHierarchy:
        """Return the tree with every value of the column; what is new gets a group of its own."""
        known = {row[0] for row in self.rows}
        new = [(value, *[value] * max(self.levels, 1), ROOT) for value in values if value not in known]
        return EditedHierarchy((*self.rows, *new))


def save_hierarchy(project: Project, rows: Sequence[Sequence[str]]) -> str:
    """Write a hierarchy into the project and return the name of its file; other content gets another name.

    So undoing a change brings back the former hierarchy, and candidates keep the one that they were made with.
    """
    text = steps.hierarchy_text(rows)
    name = f"hierarchy-{hashlib.sha256(text.encode()).hexdigest()[:12]}.csv"
    write_whole(project.folder / name, text)
    return name


def _joined(leaves: Sequence[str], values: set[str]) -> str:
    """Name a group after its values."""
    text = " + ".join(leaves)
    name = text if len(text) <= LONGEST else f"{text[: LONGEST - 12]}… ({len(leaves)})"
    return f"({name})" if name in values else name


def _label(text: str) -> str:
    label = text.strip()
    if not label or len(label) > LONGEST or label == ROOT:
        raise InputError("a group has a name of 1 to {longest} letters, other than {root}", longest=LONGEST, root=ROOT)
    return label
