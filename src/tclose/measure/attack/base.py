"""What an attack sees and what it returns; each attack declares itself, so that nothing else needs code for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Distance, Equal
from tclose.measure.linkage import Links, RowsOfPersons
from tclose.measure.presence import Membership
from tclose.types import Beat, Bools, Claim, Ints, still
from tclose.words import columns

if TYPE_CHECKING:
    from tclose.measure.exchange import PublishedRows

MOST_NAMED = 1000  # classes of an attribute


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Groups of equal rows, out of core: the class of each group, and how many rows it has."""

    labels: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Secret:
    """One sensitive attribute: the published cells as they are, and as the policy judges and compares them."""

    name: str
    cells: Ints  # which value each row, or each group of rows, shows; equal numbers, equal cells
    codes: Ints  # the same in the domain that is judged: bins, leaves of a hierarchy, places in an order
    domain: int  # how many codes there are
    levels: tuple[Ints, ...] = ()  # of a hierarchy: the node above each code, height by height, the root last
    nodes: tuple[tuple[str, ...], ...] = ()  # how the nodes of each height are called
    positions: NDArray[np.float64] | None = None  # of values on a line
    costs: NDArray[np.float64] | None = None  # between values, where a matrix gives them
    linked: bool = True  # whether rows show the values; else the values of a class stand in its rows in any order
    groups: RowGroups | None = None  # that show the values; None where these are the rows of the scene
    distance: Distance = field(default_factory=Equal)  # between codes, as the policy has it

    @property
    def reference(self) -> Ints:
        """How often the whole table shows each code."""
        return self._added_up(self.codes, self.domain)

    @property
    def shared(self) -> Ints:
        """How many rows of the whole table show each cell."""
        return self._added_up(self.cells)

    def _added_up(self, numbers: Ints, different: int = 0) -> Ints:
        weights = None if self.groups is None else self.groups.rows
        return np.bincount(numbers, weights, minlength=different).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SomeClasses:
    """Some classes of a table with what each of their rows shows: attacks that link values look at them in turn."""

    numbers: Ints  # of these classes in the whole table, counted from 0
    labels: Ints  # which of these classes each row, or each group of equal rows, belongs to
    rows: Ints | None  # of each group; None where there are single rows
    secrets: Sequence[Secret]  # with the cells and codes of these rows or groups

    @property
    def linked(self) -> list[Secret]:
        """The attributes whose values rows show."""
        return [secret for secret in self.secrets if secret.linked]

    def number_of(self, chosen: Bools) -> int:
        """Return how many rows the chosen rows or groups are."""
        return int(np.count_nonzero(chosen) if self.rows is None else self.rows[chosen].sum())


@dataclass(frozen=True, eq=False)
class Scene:
    """A table as an adversary sees it: its classes, its sensitive attributes, and the register of people.

    Out of core, a class is one group of `group_rows` rows, and each attribute knows how many rows show which value.
    """

    labels: Ints  # class of every row or group, counted from 0 in the order in which the table shows them first
    secrets: Sequence[Secret]
    crowd: int  # how many people everyone should be able to hide among
    people: Ints  # how many of the register fit each class
    own: Links | None = None  # the original rows as a register; None for the raw table itself
    second: Scene | None = None  # another release of the same table
    twins: Ints | None = None  # of each class of the second release: the class here that shows the same cells, or -1
    published: Callable[[], PublishedRows] | None = None  # beside the original rows; None for the raw table itself
    presence: Membership | None = None  # where the population is known
    persons: Ints | None = None  # of every row, where pseudonyms show them
    beat: Beat = still  # called by long attacks
    group_rows: Ints | None = None  # of each group, out of core; None where `labels` are those of single rows
    linked_groups: Callable[[], Iterator[SomeClasses]] | None = None  # groups that show values together, out of core

    def with_second(self, second: Scene, twins: Ints | None = None) -> Scene:
        """Return the same table with another release of it, and the classes that both show."""
        return replace(self, second=second, twins=twins)

    @property
    def linked(self) -> RowsOfPersons | None:
        """The rows as pseudonyms link them, where there are any."""
        return None if self.persons is None else RowsOfPersons(self.labels, self.persons)

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each class."""
        return np.bincount(self.labels, self.group_rows).astype(np.int64)

    @cached_property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.sizes.sum())

    @property
    def out_of_core(self) -> bool:
        """Whether single rows are not at hand."""
        return self.group_rows is not None

    @cached_property
    def order(self) -> Ints:
        """The rows, one class after the other."""
        return np.argsort(self.labels, kind="stable")

    def cell_counts(self, secret: Secret) -> Counts:
        """Count the cells of each class."""
        return self._counts(secret, secret.cells, int(secret.cells.max()) + 1)

    def code_counts(self, secret: Secret) -> Counts:
        """Count the codes of each class."""
        return self._counts(secret, secret.codes, secret.domain)

    def labels_of(self, secret: Secret) -> Ints:
        """Return the class of each row or group that shows an attribute's values."""
        return self.labels if secret.groups is None else secret.groups.labels

    def some_classes(self) -> Iterator[SomeClasses]:
        """Yield all classes with their rows, out of core some classes at a time."""
        if self.linked_groups is not None:
            return self.linked_groups()
        return iter([SomeClasses(np.arange(len(self.sizes)), self.labels, None, self.secrets)])

    def _counts(self, secret: Secret, codes: Ints, domain: int) -> Counts:
        if secret.groups is not None:
            return Counts.from_entries(secret.groups.labels, codes, secret.groups.rows, domain)
        return Counts.from_codes(self.labels[self.order], codes[self.order], domain)


@dataclass(frozen=True)
class ExposedClass:
    """A class that an attack succeeds on: its number, its rows, the attribute, and what the adversary learns."""

    number: int  # counted from 1
    rows: int
    attribute: str
    what: str = ""  # the adversary learns


@dataclass(frozen=True)
class Finding:
    """What one attack learns from one table."""

    figure: float | None  # None where the attack does not apply
    rows: int  # how many are affected
    of: int
    sentence: str
    classes: tuple[ExposedClass, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # further figures
    needs: str = ""  # what was not looked at, or why nothing could be

    def saying(self, sentence: str) -> Finding:
        """Return the same finding with its sentence."""
        return replace(self, sentence=sentence)

    @property
    def share(self) -> float:
        """The share of rows affected."""
        return self.rows / self.of if self.of else 0.0

    @property
    def claim(self) -> Claim:
        """Whether the table withstands the attack: undecided where no row is affected, but not all was looked at."""
        if self.rows or not self.needs:
            return Claim(answer="no" if self.rows else "yes", says=self.sentence)
        return Claim(answer="undecided", says=self.sentence, needs=self.needs)


@dataclass(frozen=True)
class Attack:
    """One attack: its name in JSON, its words for people, what its figure is, and which direction is better."""

    name: str
    title: str
    meaning: str  # what the adversary does, in a sentence or two
    figure: str  # what the figure is
    unit: Literal["classes", "values", "times", "share", "rows", "distance", "bits"]
    better: Literal["lower", "higher"]
    run: Callable[[Scene], Finding]
    cure: str = field(kw_only=True)  # the setting that helps against it
    counts_people: bool = False  # whether it takes every row for a person
    needs_rows: bool = False  # whether counts per class are not enough, so that it does not run out of core

    @property
    def label(self) -> str:
        """The title in a table that is headed "attack"."""
        return self.title.removesuffix(" attack")


def not_applicable(scene: Scene, why: str, *, needs: str = "") -> Finding:
    """Return the finding of an attack that could not be made, and what it needs; else the reason says it."""
    return Finding(None, 0, scene.rows, why, needs=needs or why)


LINKED = (
    "Pseudonyms show which rows of the two releases belong to one person. This attack does not look at that and would "
    "show a risk that is too small, so it is left out."
)
NO_SECRET = "The policy names no sensitive attribute, so there is nothing to learn."


@dataclass(frozen=True, eq=False)
class Exposure:
    """The classes that an attack succeeds on for one attribute, and what each class of the table tells."""

    attribute: str
    classes: Bools
    lesson: Callable[[int], str] = lambda _: ""  # by the place of a class

    def listed(self, scene: Scene) -> list[ExposedClass]:
        """List the exposed classes, the first of them where there are very many."""
        return [
            ExposedClass(number + 1, int(scene.sizes[number]), self.attribute, self.lesson(number))
            for number in np.flatnonzero(self.classes)[:MOST_NAMED].tolist()
        ]


def finding_of(scene: Scene, figure: float, exposures: Sequence[Exposure]) -> Finding:
    """Return the finding of an attack on classes, still without its sentence."""
    rows = int(scene.sizes[exposed_for_any(exposures)].sum())
    classes = tuple(listed for exposure in exposures for listed in exposure.listed(scene))
    return Finding(figure, rows, scene.rows, "", classes)


def exposed_for_any(exposures: Sequence[Exposure]) -> Bools:
    """Mark the classes that are exposed for some attribute."""
    return np.asarray(np.any([exposure.classes for exposure in exposures], axis=0))


def names_of(exposures: Sequence[Exposure]) -> str:
    """Spell the attributes for which some class is exposed."""
    return columns([exposure.attribute for exposure in exposures if exposure.classes.any()])
