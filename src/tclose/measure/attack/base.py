"""What an attack sees and what it answers; each attack declares itself, so that nothing else needs code for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.measure.linkage import Links
from tclose.types import Bools, Ints
from tclose.words import columns

MOST_NAMED = 1000  # classes of an attribute


@dataclass(frozen=True, eq=False)
class Secret:
    """One sensitive attribute: the published cells as they are, and as the policy judges and compares them."""

    name: str
    cells: Ints  # which value each row shows; equal numbers, equal cells
    codes: Ints  # the same in the domain that is judged: bins, leaves of a hierarchy, places in an order
    domain: int  # how many codes there are
    levels: tuple[Ints, ...] = ()  # of a hierarchy: the node above each code, height by height, the root last
    nodes: tuple[tuple[str, ...], ...] = ()  # how the nodes of each height are called
    positions: NDArray[np.float64] | None = None  # of values on a line
    costs: NDArray[np.float64] | None = None  # between values, where a matrix gives them

    @property
    def reference(self) -> Ints:
        """How often the whole table shows each code."""
        return np.bincount(self.codes, minlength=self.domain).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scene:
    """A table as an adversary meets it: its classes, its secrets, and the register beside it."""

    labels: Ints  # class of every row, counted from 0 in the order in which the table shows them first
    secrets: Sequence[Secret]
    crowd: int  # how many people one should be able to hide among
    people: Ints  # of the register, that fit each class
    own: Links | None = None  # the table that was published, as a register; none where it is published as it is
    second: Scene | None = None  # another release of the same table

    def with_second(self, second: Scene) -> Scene:
        """Return the same table with another release of it."""
        return replace(self, second=second)

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each class."""
        return np.bincount(self.labels).astype(np.int64)

    @cached_property
    def order(self) -> Ints:
        """The rows, one class after the other."""
        return np.argsort(self.labels, kind="stable")

    def counts(self, codes: Ints, domain: int) -> Counts:
        """Count codes in each class."""
        return Counts.from_codes(self.labels[self.order], codes[self.order], domain)


@dataclass(frozen=True)
class Named:
    """A class that an attack opens: which, how many rows, for which attribute, and what is learnt."""

    number: int  # counted from 1
    rows: int
    attribute: str
    what: str = ""


@dataclass(frozen=True)
class Finding:
    """What one attack gets out of one table."""

    figure: float | None  # none where the attack has nothing to work on
    rows: int  # how many are affected
    of: int
    sentence: str
    classes: tuple[Named, ...] = ()

    def saying(self, sentence: str) -> Finding:
        """Return the same in words."""
        return replace(self, sentence=sentence)

    @property
    def share(self) -> float:
        """The share of rows affected."""
        return self.rows / self.of if self.of else 0.0


@dataclass(frozen=True)
class Attack:
    """One attack: what it is called, what it means to people, and which way its figure is better."""

    name: str
    title: str
    meaning: str
    figure: str  # what the figure is
    unit: Literal["classes", "values", "times", "share", "rows"]
    better: Literal["lower", "higher"]
    run: Callable[[Scene], Finding]
    counts_people: bool = False  # whether it takes every row for a person


def nothing(scene: Scene, why: str) -> Finding:
    """Return the answer of an attack that has nothing to work on."""
    return Finding(None, 0, len(scene.labels), why)


NO_SECRET = "The policy names no sensitive attribute, so there is nothing to learn."


@dataclass(frozen=True, eq=False)
class Opened:
    """The classes that an attack opens for one attribute, and what each of all classes then tells."""

    secret: Secret
    classes: Bools
    what: Sequence[str] = ()

    def named(self, scene: Scene) -> list[Named]:
        """Name the open classes, the first of them where there are very many."""
        return [
            Named(number + 1, int(scene.sizes[number]), self.secret.name, self.what[number] if self.what else "")
            for number in np.flatnonzero(self.classes)[:MOST_NAMED].tolist()
        ]


def classes_opened(scene: Scene, figure: float, opened: Sequence[Opened]) -> Finding:
    """Return the answer of an attack on classes, still without its sentence."""
    rows = int(scene.sizes[open_for_any(opened)].sum())
    return Finding(figure, rows, len(scene.labels), "", tuple(name for one in opened for name in one.named(scene)))


def open_for_any(opened: Sequence[Opened]) -> Bools:
    """Mark the classes that are open for some attribute."""
    return np.asarray(np.any([one.classes for one in opened], axis=0))


def names_of(opened: Sequence[Opened]) -> str:
    """Spell the attributes for which some class is open."""
    return columns([one.secret.name for one in opened if one.classes.any()])
