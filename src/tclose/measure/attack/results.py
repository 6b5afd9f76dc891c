"""The same attacks on the raw table, on a merely k-anonymous one and on the release, side by side.

The answer names columns, counts and class numbers, and of values only what the policy itself spells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose.measure.attack.base import Attack, Finding, Named, Scene, nothing
from tclose.measure.attack.registry import ATTACKS
from tclose.types import Progress, silent
from tclose.words import html_table, number, percent

RAW, K_ANONYMOUS, RELEASE = "raw", "k_anonymous", "release"
MOST_NAMED = 100
SEVERAL_ROWS = (
    "The policy tells persons apart who have several rows; this attack takes every row for a person and would make the "
    "risk look smaller than it is, so it is left out."
)


@dataclass(frozen=True)
class TableSize:
    """How many rows a table has, and in how many classes."""

    rows: int
    classes: int
    smallest_class: int

    @classmethod
    def of(cls, scene: Scene) -> TableSize:
        """Count."""
        return cls(len(scene.labels), len(scene.sizes), int(scene.sizes.min()))


@dataclass(frozen=True)
class AttackResult:
    """One attack on every table."""

    attack: Attack
    findings: Mapping[str, Finding]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints; classes are named for the release alone, since the others stay at home."""
        attack = self.attack
        answer = {"name": attack.name, "title": attack.title, "meaning": attack.meaning}
        answer |= {"figure": attack.figure, "unit": attack.unit, "better": attack.better}
        named = [_named(each) for each in self.findings[RELEASE].classes[:MOST_NAMED]]
        return {**answer, **{table: _plain(finding) for table, finding in self.findings.items()}, "classes": named}

    def cells(self) -> list[str]:
        """Return what a notebook shows: the attack, what it gets out of each table, and which direction is better."""
        figures = (_cell(self.attack, finding) for finding in self.findings.values())
        return [self.attack.title, *figures, self.attack.better]


def _plain(finding: Finding) -> dict[str, Any]:
    return {"figure": finding.figure, "rows": finding.rows, "share": finding.share, "sentence": finding.sentence}


def _named(named: Named) -> dict[str, Any]:
    return {"class": named.number, "rows": named.rows, "attribute": named.attribute, "what": named.what}


@dataclass(frozen=True)
class Attacks:
    """What every attack gets out of the raw table, of a merely k-anonymous one, and of the release."""

    tables: Mapping[str, TableSize]
    k: int  # of the k-anonymous table, and the crowd to hide among
    register_rows: int
    results: tuple[AttackResult, ...]

    def __getitem__(self, name: str) -> AttackResult:
        """Return one attack by its name."""
        return next(result for result in self.results if result.attack.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "tables": {name: vars(size) for name, size in self.tables.items()},
            "k": self.k,
            "register_rows": self.register_rows,
            "attacks": [result.to_dict() for result in self.results],
        }

    def _repr_html_(self) -> str:
        caption = "What an adversary learns; in brackets, the share of rows affected"
        rows = [
            [
                each.attack.title,
                *(_cell(each.attack, finding) for finding in each.findings.values()),
                each.attack.better,
            ]
            for each in self.results
        ]
        return html_table(caption, ["attack", *self.tables, "better"], rows)


def _cell(attack: Attack, finding: Finding) -> str:
    """Spell what one attack gets out of one table."""
    if finding.figure is None:
        return "–"
    figure = percent(finding.figure) if attack.unit == "share" else number(finding.figure)
    return f"{figure} ({percent(finding.share)})"


def attacked(
    scenes: Mapping[str, Scene], *, register_rows: int, several_rows: bool, progress: Progress = silent
) -> Attacks:
    """Play every attack on every table; `several_rows` says that some person has more than one row."""
    results = []
    for done, attack in enumerate(ATTACKS):
        progress(done / len(ATTACKS), attack.title)
        misled = several_rows and attack.counts_people
        findings = {
            name: nothing(scene, SEVERAL_ROWS) if misled else attack.run(scene) for name, scene in scenes.items()
        }
        results.append(AttackResult(attack, findings))
    progress(1.0)
    return Attacks(
        tables={name: TableSize.of(scene) for name, scene in scenes.items()},
        k=scenes[RELEASE].crowd,
        register_rows=register_rows,
        results=tuple(results),
    )
