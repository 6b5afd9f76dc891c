"""The similarity experiment of Li et al. (2007, section 6) on Adult, and the picture of it in docs/similarity.svg.

Run it again when a method changes: `.venv/bin/python bench/similarity.py`.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tclose.measure.attack import Finding
from tclose.papers.li_2007 import FILES, GROUPS, QUASI, TABLE, Adult, ClassRequirement
from tclose.papers.reproduction import DataFolder
from tclose.partition import METHODS
from tclose.privacy.ldiversity import EntropyL
from tclose.table import encode
from tclose.types import silent

HERE = Path(__file__).parent
DATA = DataFolder(HERE.parent.parent / "shared" / "data")
PICTURE = HERE.parent / "docs" / "similarity.svg"
OCCUPATION = {"rows": [[value, group, "*"] for group, values in GROUPS.items() for value in values]}
ASKED: dict[str, dict[str, Any]] = {
    "5-anonymous": {"alpha": 1},
    "entropy 2-diverse": {"entropy_l": 2},
    "t = .2": {"t": "0.2"},
}
SHOWN = ("incognito", "mondrian", "weave", "fragmentation")


@dataclass(frozen=True)
class Bar:
    """One table: what it is, how many of its rows are open to the attack, and how many classes."""

    group: str
    name: str
    rows: int
    classes: int
    of: int

    @property
    def words(self) -> str:
        return f"{self.rows:,} rows in {self.classes:,} classes" if self.rows else "none"


def policy(asked: dict[str, Any], k: int) -> tclose.Policy:
    return tclose.Policy.from_dict(
        {
            "k": k,
            "others": "drop",
            "quasi": {name: {"hierarchy": str(DATA / f"adult_hierarchies/{name}.csv")} for name in QUASI},
            "sensitive": {"occupation": {"hierarchy": OCCUPATION, **asked}},
        }
    )


def bar(group: str, name: str, found: Finding) -> Bar:
    made = Bar(group, name, found.rows, int(found.figure or 0), found.of)
    print(f"{group}, {name}: {made.words}", flush=True)
    return made


def released(adult: pl.DataFrame, method: str, what: str) -> Bar:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        asked = policy(ASKED[what], k=5 if what == "5-anonymous" else 1)
        release = tclose.anonymize(adult, asked, method=method, seed=1)
    table = Adult(encode(release.table, release.certificate.policy))
    found = table.open_rows(table.table.classes.labels_by_row())
    return bar(what, f"{method} ({len(table.table.classes):,} classes)", found)


def minimal_tables(adult: Adult) -> Bar:
    """Return the worst of Incognito's minimal entropy-2-diverse tables."""
    asked = ClassRequirement(models=(EntropyL(Fraction(2)),))
    found = [adult.open_rows(labels) for labels in adult.minimal(asked, silent)]
    still_open = sum(one.rows > 0 for one in found)
    name = f"incognito, worst of {len(found)} minimal tables ({still_open} open)"
    return bar("entropy 2-diverse", name, max(found, key=lambda one: one.rows))


def bars(frame: pl.DataFrame) -> list[Bar]:
    adult = Adult.of(DATA)
    found = [bar("raw table", "as it is", adult.open_rows(adult.table.classes.labels_by_row()))]
    methods = [name for name in SHOWN if name in METHODS]
    for what in ASKED:
        if what == "entropy 2-diverse" and "incognito" in methods:
            found.append(minimal_tables(adult))
        found += [
            released(frame, method, what) for method in methods if (what, method) != ("entropy 2-diverse", "incognito")
        ]
    return found


def picture(found: list[Bar]) -> str:
    """Draw the bars on white paper, so that they read on light and on dark pages."""
    line, left, width = 26, 430, 330
    longest = max(one.rows for one in found)
    height = line * (len(found) + len({one.group for one in found})) + 40
    parts, y, group = [], 30, ""
    for one in found:
        if one.group != group:
            group, y = one.group, y + line
            parts.append(f'<text x="10" y="{y - 8}" font-weight="bold">{group}</text>')
        length = max(width * one.rows / longest, 1.5)
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{one.name}</text>')
        colour = "#d1495b" if one.rows else "#2e8b57"
        parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="16" fill="{colour}"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 12}">{one.words}</text>')
        y += line
    title = "Adult: rows whose occupation group is given away by their class"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 {height}" font-family="sans-serif" font-size="13" '
        f'fill="#222" role="img" aria-label="{title}"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="10" y="20" font-size="16">{title}</text>' + "".join(parts) + "</svg>\n"
    )


def main() -> None:
    if missing := DATA.missing(FILES):
        sys.exit(f"left out: {', '.join(missing)} are not in {DATA.path}")
    PICTURE.write_text(picture(bars(DATA.read(TABLE))))
    print(f"drawn in {PICTURE}")


if __name__ == "__main__":
    main()
