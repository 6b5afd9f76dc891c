"""What an adversary would have learnt: the same attacks on the raw table, on a merely k-anonymous one, on the release.

Here frames become what attacks see (`measure/attack/`): classes, secrets, and a register that is matched with the
published values. The answer names columns, counts and class numbers, and of values only what the policy itself spells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.engine.memory import anonymize
from tclose.errors import LeakWarning
from tclose.measure.attack import ATTACKS, Attack, Finding, Named, Scene, Secret
from tclose.measure.attack.base import nothing
from tclose.policy import MODELS, Policy, PolicyLike
from tclose.privacy.judge import Progress
from tclose.release.beside import Stage, frame_of, linked, register_of
from tclose.table import CodedTable, SensitiveColumn
from tclose.types import Ints
from tclose.words import html_table, number, percent

RAW, ANONYMOUS, RELEASE = "raw", "k_anonymous", "release"
MOST_NAMED = 100
ANONYMIZER = "mondrian"  # makes the k-anonymous table
COUNT_PEOPLE = {"prosecutor", "journalist", "marketer", "uniqueness", "minimality", "rarity"}  # and take rows for them
SEVERAL_ROWS = (
    "The policy tells persons apart who have several rows; this attack takes every row for a person and would make the "
    "risk look smaller than it is, so it is left out."
)


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
        told |= {"figure": attack.figure, "unit": attack.unit, "better": attack.better}
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

    def _repr_html_(self) -> str:
        caption = "What an adversary learns; in brackets, the share of rows affected"
        rows = [
            [one.attack.title, *(_cell(one.attack, finding) for finding in one.found.values()), one.attack.better]
            for one in self.comparisons
        ]
        return html_table(caption, ["attack", *self.tables, "better"], rows)


def _cell(attack: Attack, finding: Finding) -> str:
    """Spell what one attack gets out of one table."""
    if finding.figure is None:
        return "–"
    figure = percent(finding.figure) if attack.unit == "share" else number(finding.figure)
    return f"{figure} ({percent(finding.share)})"


def attack(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    second: Any = None,
    register: Any = None,
    method: str = ANONYMIZER,
    progress: Progress | None = None,
) -> Attacks:
    """Tell what an adversary gets out of a release, beside what the raw and a merely k-anonymous table would give.

    `release` is a published frame, or a `Release`; `second` another release of the same table, to intersect with.
    `register` holds people with their quasi-identifiers as they are; without one, the table itself is the register,
    which is the worst case. `method` makes the k-anonymous table.

    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}}, k=2)
    >>> release = anonymize(table, policy, method="mondrian")
    >>> attack(release, original=table, policy=policy)["homogeneity"].found["release"].rows
    0
    """
    policy = Policy.of(policy)
    tell = progress or (lambda share, what: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # told when the table was published
        tell(0.0, "reading")
        known = None if register is None else register_of(register, policy)
        eye = _Eye(Stage.of(original, policy), known)
        seen = eye.published(release, "the release")
        if second is not None:
            seen = replace(seen, second=eye.published(second, "the second release"))
        tell(0.1, "making a k-anonymous table")
        mild = _merely_anonymous(policy, eye.crowd)
        plain = anonymize(original, mild, method=method, seed=0, progress=lambda share, _: tell(0.1 + share / 2, "…"))
        scenes = {RAW: eye.raw(), ANONYMOUS: eye.published(plain, "the k-anonymous table"), RELEASE: seen}
    comparisons, several = [], _several_rows(eye.stage.frame, policy)
    for done, one in enumerate(ATTACKS):
        tell(0.7 + 0.3 * done / len(ATTACKS), one.title)
        misled = several and one.name in COUNT_PEOPLE
        found = {name: nothing(scene, SEVERAL_ROWS) if misled else one.run(scene) for name, scene in scenes.items()}
        comparisons.append(Comparison(one, found))
    tell(1.0, "done")
    return Attacks(
        tables={name: _size(scene) for name, scene in scenes.items()},
        k=eye.crowd,
        register_rows=eye.stage.frame.height if known is None else known.height,
        comparisons=tuple(comparisons),
    )


def _several_rows(frame: pl.DataFrame, policy: Policy) -> bool:
    """Tell whether some person has more than one row."""
    if policy.person is None:
        return False
    return policy.person not in frame.columns or frame[policy.person].n_unique() < frame.height


def _merely_anonymous(policy: Policy, k: int) -> Policy:
    """Return the policy with nothing asked for but k: one value may have all of a class (α = 1)."""
    nothing: dict[str, Any] = {**dict.fromkeys(MODELS), "n": None, "alpha": Fraction(1)}
    mild = {name: replace(spec, **nothing) for name, spec in policy.sensitive.items()}
    return replace(policy, k=k, sensitive=mild)


def _size(scene: Scene) -> Shown:
    return Shown(len(scene.labels), len(scene.sizes), int(scene.sizes.min()))


@dataclass(frozen=True, eq=False)
class _Eye:
    """An adversary who knows the people of the table, or those of a register, and looks at tables."""

    stage: Stage
    register: pl.DataFrame | None

    @property
    def crowd(self) -> int:
        """How many one should be able to hide among: k, and two at least."""
        return max(self.stage.policy.k, 2)

    def raw(self) -> Scene:
        """See the table as it is, less the identifiers."""
        stage, classes = self.stage, self.stage.table.classes
        cells = {name: stage.cells(name) for name in stage.policy.sensitive}
        people = classes.sizes if self.register is None else stage.equal_people(self.register)
        return Scene(classes.labels_by_row(), _secrets(stage.table, cells), self.crowd, people)

    def published(self, given: Any, what: str) -> Scene:
        """See a published table."""
        stage = self.stage
        seen = stage.published(frame_of(given), what)
        links = seen.own
        if self.register is not None:
            links = linked(stage.coverings(seen.table, self.register), seen.own.sizes)
        cells = {name: column.after for name, column in seen.cells.items()}
        return Scene(seen.labels, _secrets(seen.table, cells), self.crowd, links.people, seen.own)


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
