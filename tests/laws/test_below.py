"""Cells below a limit, against an oracle that reads the raw cells itself: what is published covers all they can be."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose import Infeasible, Policy

WORDS = ("k.A.", "n.b.")
LIMITS = ("<0.2", "<0,2", "< 0,20", "<.3", "≤0.5", "<=0.3", "<1", "<0.050")
METHODS = ("weave", "mondrian", "fragmentation", "incognito", "clustering")


def oracle(cell: str) -> tuple[Fraction, Fraction] | None:
    """Return the least and the largest number that a raw cell can be; None for a word."""
    if cell in WORDS:
        return None
    if (limit := re.fullmatch(r"\s*(?:<=?|≤)\s*(.*)", cell)) is not None:
        return Fraction(0), Fraction("0" + limit[1].replace(",", "."))
    return Fraction(cell), Fraction(cell)


def ends(text: str) -> tuple[float | Fraction, float | Fraction]:
    """Return the ends of a published cell; the low end of ≤0.2 is open."""
    text = text.removesuffix(" or missing")
    parts = text[1:-1].split(", ") if text[0] in "[(" else [text, text]
    low = float("-inf") if parts[0].startswith("≤") else Fraction(parts[0])
    return low, Fraction(parts[1].removeprefix("≤"))


def cells(chance: random.Random, rows: int) -> list[str]:
    limits, share = chance.sample(LIMITS, chance.randint(1, 4)), chance.choice([0.1, 0.4])
    drawn = []
    for _ in range(rows):
        place = chance.random()
        number = f"{chance.uniform(0.01, 1):.2f}" if chance.random() < 0.4 else f"{chance.uniform(0, 9):.1f}"
        drawn.append(chance.choice(limits) if place < share else chance.choice(WORDS) if place > 0.94 else number)
    return ["0.7", "<1", *drawn[2:]]


def placed(chance: random.Random, raw: list[str]) -> object:
    found = {cell: oracle(cell) for cell in sorted(set(raw)) if cell.strip()[0] in "<≤"}
    if chance.random() < 0.5:
        return "half"
    share = chance.choice([Fraction(37, 100), Fraction(1)])
    return {cell: float(span[1] * share) for cell, span in found.items() if span is not None}


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize("seed", range(6 * TIMES))
def test_what_is_published_covers_every_number_that_a_cell_can_be(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = chance.choice([40, 90])
    raw = {"crp": cells(chance, rows), "lab": cells(chance, rows)}
    frame = pl.DataFrame(raw | {"age": [chance.randint(20, 40) for _ in range(rows)], "row": range(rows)})
    bins = chance.choice([{"quantiles": 5}, {"count": 5}, {"width": 0.3}, {"edges": [-1, 1, 3, 20]}])
    lab = {"t": 0.6, "bins": bins, "publish": "bin", "missing": "value", "below": placed(chance, raw["lab"])}
    policy = {
        "quasi": {"age": {}, "crp": {"below": placed(chance, raw["crp"])}},
        "sensitive": {"lab": lab, "row": {"t": 1, "distance": "equal"}},  # tells which row this is
        "k": 3,
        "missing": ["", *WORDS],
    }
    try:
        release = tclose.anonymize(frame, Policy.of(policy), method=chance.choice(METHODS), seed=seed)
    except Infeasible:
        return
    for name, known in raw.items():
        for text, row in zip(release.table[name].to_list(), release.table["row"].cast(pl.Int64).to_list(), strict=True):
            span = oracle(known[row])
            if span is None:
                assert not text or "missing" in text or text in WORDS
                continue
            low, high = ends(text)
            assert low <= span[0], (name, known[row], text)
            assert span[1] <= high, (name, known[row], text)
            assert not any(0 < end < 1 for end in (low, high)), (
                "what lies below the largest limit, 1, is one bin or end"
            )
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert tclose.verify(tmp_path / "r.csv", tmp_path / "c.json").holds
