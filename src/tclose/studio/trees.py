"""A hierarchy as its editor changes it: rows that lead from a value over named groups to the root."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tclose import steps
from tclose.errors import InputError
from tclose.studio.project import Project, write_whole

ROOT = "*"
LONGEST = 200  # letters of a label
MOST_LEVELS = 6


@dataclass(frozen=True)
class Tree:
    """Rows of equal length: the value, a group per level, the root."""

    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def flat(cls, values: Iterable[str]) -> Tree:
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

    def moved(self, level: int, below: Iterable[str], group: str) -> Tree:
        """Put some values, or groups of the level below, into a group; it is made where there is none."""
        chosen, name = set(below), _label(group)
        moving = [row for row in self.rows if row[level - 1] in chosen]
        if not moving:
            raise InputError("choose at least one value")
        above = next((row[level + 1 :] for row in self.rows if row[level] == name), None)
        if above is None:  # a new group stays below the groups of the first that is moved, if they have a name
            own = moving[0][level - 1 : level + 1]
            above = tuple(name if label in own else label for label in moving[0][level + 1 :])
        moved = Tree(tuple((*row[:level], name, *above) if row[level - 1] in chosen else row for row in self.rows))
        return moved._named_apart()

    def _named_apart(self) -> Tree:
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
        return Tree(tuple(map(tuple, rows)))

    def renamed(self, level: int, group: str, name: str) -> Tree:
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

        return Tree(tuple(changed(row) if row[level] == group else row for row in self.rows))

    def with_level(self) -> Tree:
        """Add a level below the root, with the groups of the level before."""
        if self.levels >= MOST_LEVELS:
            raise InputError(f"a hierarchy has at most {MOST_LEVELS} levels here")
        return Tree(tuple((*row[:-1], row[-2], row[-1]) for row in self.rows))

    def without_level(self) -> Tree:
        """Take the highest level of groups away."""
        if self.levels < 2:
            raise InputError("one level of groups has to stay")
        return Tree(tuple((*row[:-2], row[-1]) for row in self.rows))

    def covering(self, values: Iterable[str]) -> Tree:
        """Return the tree with every value of the column; what is new gets a group of its own."""
        known = {row[0] for row in self.rows}
        new = [(value, *[value] * max(self.levels, 1), ROOT) for value in values if value not in known]
        return Tree((*self.rows, *new))


def saved(project: Project, rows: Sequence[Sequence[str]]) -> str:
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
        raise InputError(f"a group has a name of 1 to {LONGEST} letters, other than {ROOT}")
    return label
