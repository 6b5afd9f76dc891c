"""Hierarchies of values: what each value generalises to, level by level, up to one root.

Read from ARX rows `leaf;level1;…;*`, or built by rule (prefixes of text such as ZIP codes, intervals of numbers, units
of dates), and validated when made: no leaf twice, one root, no label under two parents, and no label that could be
published for different sets of leaves. A short path is padded by repeating its leaf, so that all leaves lie equally
deep.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tclose.errors import InputError
from tclose.messages import say
from tclose.policy import Builder
from tclose.policy.settings import check_readable
from tclose.types import Ints

if TYPE_CHECKING:
    from tclose.table.values import ValueList

DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


class Node(NamedTuple):
    """A node of a hierarchy: its height, and the leaves below it, from `start` to before `end`."""

    height: int
    start: int
    end: int

    def same_leaves(self, other: Node) -> bool:
        """Tell whether two nodes stand for the same leaves."""
        return self.start == other.start and self.end == other.end


@dataclass(frozen=True)
class Clash:
    """Two nodes with different leaves that have the same label, the lower one first."""

    label: str
    lower: Node
    upper: Node


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """`levels[h][i]` is the node above leaf i at height h, and `labels[h]` spells the nodes of that height.

    Leaves stand in the order of the tree: the leaves below any node are neighbours.
    """

    labels: tuple[tuple[str, ...], ...]
    levels: tuple[Ints, ...]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values that the hierarchy covers."""
        return self.labels[0]

    @property
    def height(self) -> int:
        """How many steps lead from a leaf to the root."""
        return len(self.levels) - 1

    @classmethod
    def load(cls, path: Path) -> Hierarchy:
        """Read a file of ARX rows."""
        return cls.from_rows(read_rows(path, "hierarchy"), name=say("the hierarchy {file}", file=path.name))

    @classmethod
    def from_rows(
        cls, rows: Iterable[Sequence[str]], *, name: str = "the hierarchy", by_rule: bool = False
    ) -> Hierarchy:
        """Make a hierarchy from rows that lead from a leaf to the root; `by_rule` says that nobody wrote these rows.

        >>> Hierarchy.from_rows([("flu", "lungs", "*"), ("gastritis", "stomach", "*")]).height
        2
        """
        paths = _padded([tuple(row) for row in rows], name)
        _check_leaves(paths, name)
        _check_parents(paths, name)
        columns = [_first_seen(column) for column in zip(*paths, strict=True)]
        order = np.lexsort(columns)  # the root, as the last key, counts most
        sorted_columns = [column[order] for column in columns]
        levels = tuple(np.cumsum(np.diff(column, prepend=column[0]) != 0) for column in sorted_columns)
        labels = tuple(
            tuple(paths[order[i]][height] for i in np.flatnonzero(np.diff(level, prepend=-1)))
            for height, level in enumerate(levels)
        )
        hierarchy = cls(labels, levels)
        if (clash := hierarchy.ambiguous_label()) is not None:
            raise _ambiguous(clash, order, name, by_rule=by_rule)
        return hierarchy

    def ambiguous_label(self) -> Clash | None:
        """Find a label that also stands for other leaves, be it that of a leaf or of a node; None if there is none.

        `a;x;x;*` is harmless: x means the same at both levels. So is a leaf that repeats as its own parent. A node with
        a single child is never published, because a class publishes the lowest node that covers it.
        """
        known = {label: Node(0, leaf, leaf + 1) for leaf, label in enumerate(self.leaves)}
        shortest = {_shortest(label): node for label, node in known.items()}
        for label, node, published in self._inner_nodes():
            namesake = known.get(label) or shortest.get(_shortest(label))
            if namesake is not None and not namesake.same_leaves(node) and (published or namesake.height == 0):
                return Clash(label, namesake, node)
            if published:
                known.setdefault(label, node)
        return None

    def _inner_nodes(self) -> Iterator[tuple[str, Node, bool]]:
        """Yield every node above the leaves with its label, and whether it can be published."""
        for height, (labels, level) in enumerate(zip(self.labels[1:], self.levels[1:], strict=True), start=1):
            below = self.levels[height - 1]
            starts = np.flatnonzero(np.diff(level, prepend=-1)).tolist()
            for label, start, end in zip(labels, starts, [*starts[1:], len(level)], strict=True):
                yield label, Node(height, start, end), bool(below[start] != below[end - 1])

    def with_leaf(self, leaf: str) -> Hierarchy:
        """Return the same tree with one more leaf directly under the root."""
        return Hierarchy.from_rows([*self.rows(), (leaf, self.labels[-1][0])])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the path of every leaf to the root."""
        columns = [[self.labels[h][node] for node in level] for h, level in enumerate(self.levels)]
        return list(zip(*columns, strict=True))


def read_rows(path: Path, what: str) -> list[list[str]]:
    """Read a small file of separated values, without its blank lines."""
    check_readable(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError("there is no {what} file {path}", what=what, path=path) from None
    except OSError as error:
        raise InputError(
            "the {what} file {path} cannot be read: {why}", what=what, path=path, why=error.strerror
        ) from None
    except UnicodeDecodeError:
        raise InputError("the {what} file {path} is not UTF-8 text", what=what, path=path) from None
    first = text.lstrip("\r\n").partition("\n")[0]
    separator = max(";,\t", key="".join(first.split('"')[::2]).count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error as error:
        raise InputError("the {what} file {path} is not valid CSV: {why}", what=what, path=path, why=error) from None
    if not rows:
        raise InputError("the {what} file {path} is empty", what=what, path=path)
    return rows


def _padded(paths: list[tuple[str, ...]], name: str) -> list[tuple[str, ...]]:
    if not paths:
        raise InputError("{name} has no rows", name=name)
    if not all(paths):
        raise InputError("{name} has a row without labels", name=name)
    depth = max(len(path) for path in paths)
    padded = [path[:1] * (depth - len(path)) + path for path in paths]
    roots = {path[-1] for path in padded}
    if len(roots) > 1:
        raise InputError(
            "{name} has {count} roots: every row must end with the same label, such as *", name=name, count=len(roots)
        )
    return padded


def _check_leaves(paths: list[tuple[str, ...]], name: str) -> None:
    seen: dict[str, int] = {}
    for row, (leaf, *_) in enumerate(paths, start=1):
        if leaf in seen:
            raise InputError(
                "{name} names a leaf twice, in rows {seen} and {row}: keep one",
                name=name,
                seen=seen[leaf],
                row=row,
                detail=f"the leaf is '{leaf}'",
            )
        seen[leaf] = row


def _check_parents(paths: list[tuple[str, ...]], name: str) -> None:
    parents: dict[tuple[int, str], tuple[str, int]] = {}
    for row, path in enumerate(paths, start=1):
        for level, (label, parent) in enumerate(pairwise(path)):
            known, first = parents.setdefault((level, label), (parent, row))
            if known != parent:
                raise InputError(
                    "{name} puts a label of level {level} under two parents, in rows {first} and {row}",
                    name=name,
                    level=level,
                    first=first,
                    row=row,
                    detail=f"the label is '{label}'",
                )


def _ambiguous(clash: Clash, order: Ints, name: str, *, by_rule: bool) -> InputError:
    """Say where one label stands for different values."""
    detail = f"the label is '{clash.label}'"
    if by_rule:
        what = "is also a value of the column" if clash.lower.height == 0 else "stands for different values"
        fix = "choose other levels or write the hierarchy as a file"
        return InputError("{name} has a label that {what}: {fix}", name=name, what=what, fix=fix, detail=detail)
    lower, upper = (min(order[node.start : node.end].tolist()) + 1 for node in (clash.lower, clash.upper))
    if clash.lower.height == 0:
        says = say(
            "a label of level {height}, in row {upper}, that is also the value of row {lower}",
            height=clash.upper.height,
            upper=upper,
            lower=lower,
        )
        return InputError(
            "{name} has {says}: nobody could tell them apart, so rename the label", name=name, says=says, detail=detail
        )
    levels = say(
        "of level {height} in row {lower} and of level {height_2} in row {upper}",
        height=clash.lower.height,
        lower=lower,
        height_2=clash.upper.height,
        upper=upper,
    )
    return InputError(
        "{name} has one label for different values, {levels}: rename one of the two",
        name=name,
        levels=levels,
        detail=detail,
    )


def _shortest(label: str) -> str:
    """Spell a number without needless decimals: a reader takes the label 40 for the value 40.0."""
    return label.rstrip("0").rstrip(".") if "." in label and DECIMAL.fullmatch(label) else label


def _first_seen(labels: Sequence[str]) -> Ints:
    """Give labels numbers in the order in which they first occur."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


# Hierarchies by rule


ROOT = "*"


def build(builder: Builder, values: ValueList, longest: int = 0) -> Hierarchy:
    """Make the hierarchy over the values that a column shows; prefixes are padded to at least `longest`."""
    name = say("the hierarchy of '{name}'", name=values.name)
    if builder.kind == "rows":
        return Hierarchy.from_rows(builder.levels, name=name)
    by_rule: dict[str, Callable[[Builder, ValueList], list[tuple[str, ...]]]] = {
        "prefix": partial(_by_prefix, longest),
        "width": _by_width,
        "date": _by_date,
    }
    paths = by_rule[builder.kind](builder, values)
    return Hierarchy.from_rows([(*path, ROOT) for path in paths or [()]], name=name, by_rule=True)


def _by_prefix(least: int, builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    longest = max([least, *map(len, values.texts)])
    lengths = [length for length in builder.levels if length < longest]
    return [(text, *(text[:length].ljust(longest, "*") for length in lengths)) for text in values.texts]


def _by_width(builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    if values.kind != "number" or values.units is None:
        raise InputError("column '{name}' is not all numbers, so it has no intervals of a width", name=values.name)
    exact = [Fraction(int(unit), 10**values.scale) for unit in values.units]
    return [
        (text, *(_interval(number, width) for width in builder.levels))
        for text, number in zip(values.texts, exact, strict=True)
    ]


def _interval(number: Fraction, width: Fraction) -> str:
    low = number // width * width
    return say("[{spell}, {spell_2})", spell=spell(low), spell_2=spell(low + width))


def spell(number: Fraction) -> str:
    """Spell a number as a decimal, or as a fraction where no decimal is exact.

    >>> spell(Fraction(5, 2)), spell(Fraction(20)), spell(Fraction(1, 3))
    ('2.5', '20', '1/3')
    """
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{number.numerator}/{number.denominator}"
    places = next(p for p in range(number.denominator.bit_length() + 1) if 10**p % number.denominator == 0)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if number < 0 else "") + whole + (f".{part}" if part else "")


def _by_date(builder: Builder, values: ValueList) -> list[tuple[str, ...]]:
    if values.kind != "date":
        raise InputError("column '{name}' is not all dates such as 2024-03-31", name=values.name)
    days = [datetime.date.fromisoformat(text[:10]) for text in values.texts]
    units = (
        builder.levels if any(len(text) > 10 for text in values.texts) else [u for u in builder.levels if u != "day"]
    )
    return [(text, *(_unit(day, unit) for unit in units)) for text, day in zip(values.texts, days, strict=True)]


def _unit(day: datetime.date, unit: str) -> str:
    return {
        "day": day.isoformat(),
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10:03}0s",
    }[unit]
