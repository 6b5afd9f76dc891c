"""What an adversary would have learnt: the same attacks on the raw table, on a merely k-anonymous one, on the release.

Here frames become what attacks see (`measure/attack/`): classes, secrets, and a register that is matched with the
published values. The answer names columns, counts and class numbers, and of values only what the policy itself spells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError, did_you_mean
from tclose.judging import Progress
from tclose.measure.attack import ATTACKS, Attack, Finding, Named, Scene, Secret
from tclose.measure.attack.base import Ints
from tclose.measure.linkage import Links, packed
from tclose.partition import METHODS
from tclose.policy import MODELS, Policy, Quasi
from tclose.recode.covering import covering
from tclose.recode.reader import reader_policy
from tclose.release import Release, anonymize
from tclose.table import CodedTable, SensitiveColumn, encode, to_polars
from tclose.table.coded import without_suppressed
from tclose.table.values import values_of
from tclose.wording import counted

RAW, ANONYMOUS, RELEASE = "raw", "k_anonymous", "release"
MOST_NAMED = 100
ANONYMIZER = next(name for name in ("mondrian", "weave") if name in METHODS)  # makes the k-anonymous table


@dataclass(frozen=True)
class Shown:
    """How large a table is, and in how many classes its rows stand."""

    rows: int
    classes: int
    smallest_class: int


@dataclass(frozen=True)
class Comparison:
    """One attack on every table."""

    attack: Attack
    found: Mapping[str, Finding]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints; classes are named for the release alone, since the others stay at home."""
        attack = self.attack
        told = {"name": attack.name, "title": attack.title, "meaning": attack.meaning}
        told |= {"figure": attack.figure, "better": attack.better}
        named = [_named(one) for one in self.found[RELEASE].classes[:MOST_NAMED]]
        return {**told, **{table: _plain(found) for table, found in self.found.items()}, "classes": named}


def _plain(found: Finding) -> dict[str, Any]:
    return {"figure": found.figure, "rows": found.rows, "share": found.share, "sentence": found.sentence}


def _named(one: Named) -> dict[str, Any]:
    return {"class": one.number, "rows": one.rows, "attribute": one.attribute, "what": one.what}


@dataclass(frozen=True)
class Attacks:
    """What every attack gets out of the raw table, of a merely k-anonymous one, and of the release."""

    tables: Mapping[str, Shown]
    k: int  # of the k-anonymous table, and the crowd to hide among
    register_rows: int
    comparisons: tuple[Comparison, ...]

    def __getitem__(self, name: str) -> Comparison:
        """Return one attack by its name."""
        return next(one for one in self.comparisons if one.attack.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "tables": {name: vars(shown) for name, shown in self.tables.items()},
            "k": self.k,
            "register_rows": self.register_rows,
            "attacks": [one.to_dict() for one in self.comparisons],
        }


def attack(
    release: Any,
    *,
    original: Any,
    policy: Policy,
    second: Any = None,
    register: Any = None,
    method: str = ANONYMIZER,
    progress: Progress | None = None,
) -> Attacks:
    """Tell what an adversary gets out of a release, beside what the raw and a merely k-anonymous table would give.

    `release` is a published frame, or a `Release`; `second` another release of the same table, to intersect with.
    `register` holds people with their quasi-identifiers as they are; without one, the table itself is the register,
    which is the worst case. `method` makes the k-anonymous table.
    """
    tell = progress or (lambda share, what: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # told when the table was published
        tell(0.0, "reading")
        stage = _Stage.of(to_polars(original), policy, register)
        shown = {RELEASE: stage.published(release, "the release")}
        other = None if second is None else stage.published(second, "the second release")
        tell(0.1, "making a k-anonymous table")
        mild = _merely_anonymous(policy, stage.crowd)
        plain = anonymize(original, mild, method=method, seed=0, progress=lambda share, _: tell(0.1 + share / 2, "…"))
        shown = {RAW: stage.raw(), ANONYMOUS: stage.published(plain, "the k-anonymous table"), **shown}
    scenes = {name: one.scene for name, one in shown.items()}
    if other is not None:
        scenes[RELEASE] = replace(scenes[RELEASE], second=other.scene)
    comparisons = []
    for done, one in enumerate(ATTACKS):
        tell(0.7 + 0.3 * done / len(ATTACKS), one.title)
        comparisons.append(Comparison(one, {name: one.run(scene) for name, scene in scenes.items()}))
    tell(1.0, "done")
    return Attacks(
        {name: one.size for name, one in shown.items()}, stage.crowd, stage.register_rows, tuple(comparisons)
    )


def _merely_anonymous(policy: Policy, k: int) -> Policy:
    """Return the policy with nothing asked for but k: one value may have all of a class (α = 1)."""
    nothing: dict[str, Any] = {**dict.fromkeys(MODELS), "n": None, "alpha": Fraction(1)}
    mild = {name: replace(spec, **nothing) for name, spec in policy.sensitive.items()}
    return replace(policy, k=k, sensitive=mild)


@dataclass(frozen=True, eq=False)
class _Table:
    scene: Scene

    @property
    def size(self) -> Shown:
        sizes = self.scene.sizes
        return Shown(len(self.scene.labels), len(sizes), int(sizes.min()))


@dataclass(frozen=True, eq=False)
class _Stage:
    """The original, coded, with what the adversary holds beside it."""

    frame: pl.DataFrame
    table: CodedTable
    policy: Policy
    outside: pl.DataFrame | None  # a register other than the table itself

    @classmethod
    def of(cls, frame: pl.DataFrame, policy: Policy, register: Any) -> _Stage:
        rows = without_suppressed(frame, policy)
        return cls(rows, encode(rows, policy), policy, None if register is None else _register(register, policy))

    @property
    def crowd(self) -> int:
        """How many one should be able to hide among: k, and two at least."""
        return max(self.policy.k, 2)

    @property
    def register_rows(self) -> int:
        return self.frame.height if self.outside is None else self.outside.height

    def raw(self) -> _Table:
        """Return the table as it is, less the identifiers."""
        classes = self.table.classes
        cells = {name: _cells([self.frame[name]], self.policy)[0] for name in self.policy.sensitive}
        people = classes.sizes if self.outside is None else self._exact_people(self.outside)
        return _Table(Scene(classes.labels_by_row(), _secrets(self.table, cells), self.crowd, people))

    def _exact_people(self, register: pl.DataFrame) -> Ints:
        """Count the register's rows that equal each class of the raw table."""
        codes = [_cells([self.frame[name], register[name]], self.policy) for name in self.policy.visible]
        both = np.stack([np.concatenate(pair) for pair in codes], axis=1)
        _, group = np.unique(both, axis=0, return_inverse=True)
        classes, known = self.table.classes, np.bincount(group[self.frame.height :], minlength=int(group.max()) + 1)
        return np.asarray(known[group[classes.rows[classes.starts]]], dtype=np.int64)

    def published(self, given: Any, what: str) -> _Table:
        """Return a published table, once it is clear that it belongs to the original."""
        frame = given.frame if isinstance(given, Release) else to_polars(given)
        try:
            table = encode(frame, reader_policy(self.policy, self.table.sensitive))
        except (InputError, PolicyError) as error:
            raise InputError(f"{what} cannot be read by this policy: {error}", detail=error.detail) from None
        cells = {name: self._published_cells(frame, name, what) for name in self.policy.sensitive}
        own = self._links(table, self.frame)
        strangers = int(np.count_nonzero(own.people < own.sizes))
        if strangers:
            raise InputError(
                f"{what} does not belong to the table: {strangers:,} of its {counted(len(own.sizes), 'class')} have "
                "more rows than the table has people who fit"
            )
        people = own.people if self.outside is None else self._links(table, self.outside).people
        return _Table(Scene(table.classes.labels_by_row(), _secrets(table, cells), self.crowd, people, own))

    def _published_cells(self, frame: pl.DataFrame, name: str, what: str) -> Ints:
        """Give numbers to the published cells; a release can show no value more often than its table."""
        ours, theirs = _cells([self._publishable(name), frame[name]], self.policy)
        domain = int(max(ours.max(), theirs.max())) + 1
        excess = np.bincount(theirs, minlength=domain) - np.bincount(ours, minlength=domain)
        if (excess > 0).any():
            raise InputError(
                f"{what} does not belong to the table: {counted(int(excess[excess > 0].sum()), 'row')} show a value of "
                f"'{name}' that the table does not have, or not as often"
            )
        return theirs

    def _publishable(self, name: str) -> pl.Series:
        """Return a sensitive column as a release would show it."""
        if self.policy.sensitive[name].publish != "bin":
            return self.frame[name]
        column = self.table.sensitive[name]
        return pl.Series(name, [column.labels[code] for code in column.codes.tolist()], dtype=pl.String)

    def _links(self, table: CodedTable, register: pl.DataFrame) -> Links:
        """Match a register with the classes of a published table."""
        classes, policy = table.classes, self.policy
        shown = table.visible[classes.rows[classes.starts]]
        read = [
            covering(
                name,
                policy.quasi.get(name, Quasi()),
                policy.missing,
                original=self.frame[name],
                register=register[name],
                shown=shown[name],
            )
            for name in policy.visible
        ]
        fits = [packed(column.covers, column.text_of_class) for column in read]
        return Links.of([column.cell_of_row for column in read], fits, classes.sizes)


def _register(given: Any, policy: Policy) -> pl.DataFrame:
    frame = to_polars(given)
    for name in policy.visible:
        if name not in frame.columns:
            raise InputError(f"the register has no column '{name}'{did_you_mean(name, frame.columns)}")
    return frame


def _cells(columns: Sequence[pl.Series], policy: Policy) -> list[Ints]:
    """Give numbers to the cells of columns that belong together; a missing one is a value like others."""
    whole = pl.concat([column.alias("").cast(pl.String) for column in columns])
    values = values_of(whole, policy.missing)
    codes = np.where(values.codes < 0, len(values.texts), values.codes)
    return np.split(codes, np.cumsum([column.len() for column in columns])[:-1])


def _secrets(table: CodedTable, cells: Mapping[str, Ints]) -> tuple[Secret, ...]:
    return tuple(_secret(column, cells[name]) for name, column in table.sensitive.items())


def _secret(column: SensitiveColumn, cells: Ints) -> Secret:
    tree, costs, domain = column.hierarchy, column.costs, len(column.labels)
    positions = None
    if column.distance == "value" and column.positions is not None:
        positions = column.positions.astype(np.float64)
    elif column.distance == "ordered":
        positions = np.arange(domain, dtype=np.float64)
    return Secret(
        name=column.name,
        cells=cells,
        codes=column.codes,
        domain=domain,
        levels=() if tree is None else tree.levels,
        nodes=() if tree is None else tree.labels,
        positions=positions,
        costs=None if costs is None else np.asarray(costs.matrix, dtype=np.float64),
    )
