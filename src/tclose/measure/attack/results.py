"""All attacks, in the order in which they are shown, and their results on raw table, k-anonymous table and release.

Findings name columns, counts and class numbers; of values they name only what the policy itself spells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose.measure.attack import composition, homogeneity, linkage, minimality, skewness
from tclose.measure.attack.base import Attack, ExposedClass, Finding, Scene, not_applicable
from tclose.types import Progress, silent
from tclose.words import html_table, number, percent

ATTACKS: tuple[Attack, ...] = (
    homogeneity.HOMOGENEITY,
    homogeneity.BACKGROUND,
    skewness.SKEWNESS,
    skewness.JOINT_SKEWNESS,
    homogeneity.SIMILARITY,
    linkage.PROSECUTOR,
    linkage.JOURNALIST,
    linkage.MARKETER,
    linkage.UNIQUENESS,
    linkage.BACKGROUND_JOIN,
    minimality.MINIMALITY,
    minimality.EXCHANGE,
    composition.INTERSECTION,
    composition.DIFFERENCE,
    linkage.MEMBERSHIP,
    linkage.RARE_VALUE,
)


RAW, K_ANONYMOUS, RELEASE = "raw", "k_anonymous", "release"
MOST_NAMED = 100
OUT_OF_CORE = "This attack reads single rows, so it is not run out of core."
SEVERAL_ROWS = (
    "Some persons have several rows. This attack takes every row for a person and would show a risk that is too small, "
    "so it is left out."
)


@dataclass(frozen=True)
class TableSize:
    """How many rows and classes a table has."""

    rows: int
    classes: int
    smallest_class: int

    @classmethod
    def of(cls, scene: Scene) -> TableSize:
        """Count the rows and classes of a table."""
        return cls(scene.rows, len(scene.sizes), int(scene.sizes.min()))


@dataclass(frozen=True)
class AttackResult:
    """What one attack learns from every table."""

    attack: Attack
    findings: Mapping[str, Finding]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints; it names classes of the release alone, since nobody else sees the others."""
        attack = self.attack
        declaration = {"name": attack.name, "title": attack.title, "meaning": attack.meaning}
        declaration |= {"figure": attack.figure, "unit": attack.unit, "better": attack.better, "cure": attack.cure}
        findings = {table: _finding(finding) for table, finding in self.findings.items()}
        classes = [_exposed_class(exposed) for exposed in self.findings[RELEASE].classes[:MOST_NAMED]]
        return {**declaration, **findings, "classes": classes}

    def spelled(self, table: str) -> str:
        """Return the attack's figure for one table, as people read it; a dash where the attack does not apply."""
        figure = self.findings[table].figure
        if figure is None:
            return "–"
        return percent(figure) if self.attack.unit == "share" else number(figure)

    @property
    def worse_than_k_anonymous(self) -> bool:
        """Whether the attack does better on the release than on the k-anonymous table.

        It does if it affects a larger share of the rows, or an equal share with a figure that is worse for the people.
        """
        release, other = self.findings[RELEASE], self.findings.get(K_ANONYMOUS)
        if other is None or release.figure is None or other.figure is None:
            return False
        if release.share != other.share:
            return release.share > other.share
        lower = release.figure < other.figure
        return release.figure != other.figure and lower == (self.attack.better == "higher")

    def cells(self) -> list[str]:
        """Return what a notebook shows: the attack, its figure and affected share per table, the better direction."""
        figures = (
            self.spelled(table) + ("" if finding.figure is None else f" ({percent(finding.share)})")
            for table, finding in self.findings.items()
        )
        return [self.attack.title, *figures, self.attack.better]


def _finding(finding: Finding) -> dict[str, Any]:
    said = {"figure": finding.figure, "rows": finding.rows, "share": finding.share, "sentence": finding.sentence}
    return {**said, "details": dict(finding.details), **finding.claim.to_dict()}


def _exposed_class(exposed: ExposedClass) -> dict[str, Any]:
    return {
        "class": exposed.number,
        "rows": exposed.rows,
        "attribute": exposed.attribute,
        "what": exposed.what,
    }


@dataclass(frozen=True)
class Attacks:
    """What every attack learns from the raw table, from a k-anonymous table, and from the release."""

    tables: Mapping[str, TableSize]
    k: int  # of the k-anonymous table, and the crowd to hide among
    register_rows: int
    results: tuple[AttackResult, ...]
    notes: tuple[str, ...] = ()  # what was left out

    @property
    def headings(self) -> dict[str, str]:
        """What people call each table that was attacked."""
        titles = {RAW: "raw table", K_ANONYMOUS: f"{self.k}-anonymous table", RELEASE: "release"}
        return {table: titles[table] for table in self.tables}

    @property
    def worse_than_k_anonymous(self) -> tuple[AttackResult, ...]:
        """The attacks on which the release does worse than the k-anonymous table, most rows first."""
        worse = (result for result in self.results if result.worse_than_k_anonymous)
        return tuple(sorted(worse, key=lambda result: -result.findings[RELEASE].rows))

    @property
    def comparisons(self) -> tuple[AttackResult, ...]:
        """The results, under the name that version 0.1 gave them."""
        return self.results

    def __getitem__(self, name: str) -> AttackResult:
        """Return one attack by its name."""
        return next(result for result in self.results if result.attack.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {
            "tables": {name: vars(size) for name, size in self.tables.items()},
            "k": self.k,
            "register_rows": self.register_rows,
            "attacks": [result.to_dict() for result in self.results],
            **notes,
        }

    def _repr_html_(self) -> str:
        caption = "What an adversary learns; in brackets, the share of rows affected"
        headings = ["attack", *self.headings.values(), "better"]
        return html_table(caption, headings, [result.cells() for result in self.results])


def attack_results(
    scenes: Mapping[str, Scene], *, register_rows: int, several_rows: bool, progress: Progress = silent
) -> Attacks:
    """Make every attack on every table; `several_rows` says that some person has more than one row."""
    results = []
    for done, attack in enumerate(ATTACKS):
        progress(done / len(ATTACKS), attack.title)
        findings = {name: _found(attack, scene, several_rows) for name, scene in scenes.items()}
        results.append(AttackResult(attack, findings))
    progress(1.0)
    return Attacks(
        tables={name: TableSize.of(scene) for name, scene in scenes.items()},
        k=scenes[RELEASE].crowd,
        register_rows=register_rows,
        results=tuple(results),
    )


def _found(attack: Attack, scene: Scene, several_rows: bool) -> Finding:
    if attack.needs_rows and scene.out_of_core:
        return not_applicable(scene, OUT_OF_CORE)
    return not_applicable(scene, SEVERAL_ROWS) if several_rows and attack.counts_people else attack.run(scene)
