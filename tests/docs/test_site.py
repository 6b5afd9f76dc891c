"""The site that `make docs` has built: it asks no other host for anything, and has every page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tclose

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
SOURCES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//", re.IGNORECASE)


class Loaded(HTMLParser):
    """Collects what a page loads when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        address = dict(attributes).get(LOADS.get(tag, ""))
        if address is not None:
            self.addresses.append(address)


def loaded(text: str) -> list[str]:
    page = Loaded()
    page.feed(text)
    return page.addresses


@pytest.fixture(scope="module")
def site() -> Path:
    first = SITE / "index.html"
    if not first.exists() or any(path.stat().st_mtime > first.stat().st_mtime for path in SOURCES):
        pytest.skip("the site is not built from the pages as they are: make docs")
    return SITE


def test_what_a_page_loads_is_found() -> None:
    assert loaded('<img src="//x.org/a"><a href="https://x.org"><link href=b>') == ["//x.org/a", "b"]
    assert ELSEWHERE.match("//x.org/a")
    assert ELSEWHERE.match("https://x.org/a")
    assert not ELSEWHERE.match("../_static/a.css")
    assert IN_STYLES.search("@import 'https://x.org'")


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not [address for address in loaded(text) if ELSEWHERE.match(address)], page
        assert not IN_STYLES.search(text), page
    for style in site.rglob("*.css"):
        assert not IN_STYLES.search(style.read_text(encoding="utf-8")), style


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    assert not [path for path in SOURCES if not (site / path.relative_to(ROOT)).with_suffix(".html").exists()]


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "docs" / "reference.html").read_text(encoding="utf-8")
    for name in (*tclose.__all__, "sklearn.Anonymizer", "spark.check"):
        assert f'id="tclose.{name}"' in text or name == "__version__", name


def test_the_navigation_leads_to_every_page(site: Path) -> None:
    text = (site / "docs" / "index.html").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert f'href="{path.stem}.html"' in text or path.stem == "index", path.stem
