"""A page with a profile in a real headless Chromium: on a screen, on a phone, in the dark and on paper."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tclose.policy import Context, SignOff
from tclose.policy.tables import SENTENCES
from tclose.release.release import WrittenRelease
from tclose.report.profiles import BY_NAME, Evidence
from tclose.report.profiles.columns import PublishedColumn
from tclose.report.release_page import release_page

from .test_browser import CHROMIUM, QUIET, sound, visit

pypdf = pytest.importorskip("pypdf", reason="pip install pypdf")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="install it with: sudo apt-get install -y chromium")
LONG = "A_very_long_word_without_any_break_" * 12
TITLE = re.compile(r'<h2 id="\w+-title">([^<]*)</h2>')


@pytest.fixture(scope="module")
def page(ordinary: Any) -> str:
    """A page with a profile that is half filled, with a long word in every sentence."""
    release, frame = ordinary.release, ordinary.frame
    context = Context(
        **{name: f"{LONG}\n{name}" for name in SENTENCES[:-1]}, sign_off=SignOff(LONG, date(2026, 11, 16))
    )
    evidence = Evidence(
        release.certificate,
        replace(release.policy, context=context),
        [table.table.classes.sizes for table in release.judged],
        lambda: [PublishedColumn(name, ["x"]) for name in frame.drop("name").columns],
        tuple(release.frame.columns),
        attacks=ordinary.attacks,
    )
    filled = BY_NAME["hipaa"].filled(evidence)
    assert not filled.complete
    written = WrittenRelease(release, release.certificate, release.judged, release.exposed)
    return release_page(written, beside=None, attacks=ordinary.attacks, public=False, profile=filled)


def printed(page: str, folder: Path) -> list[str]:
    """Return the text of each page of paper."""
    (folder / "r.html").write_text(page, encoding="utf-8")
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer"]
    command += [f"--print-to-pdf={folder / 'r.pdf'}", (folder / "r.html").as_uri()]
    subprocess.run(command, capture_output=True, timeout=1800, check=True)
    return [sheet.extract_text() for sheet in pypdf.PdfReader(folder / "r.pdf").pages]


def letters(text: str) -> str:
    """Return text without spaces and ligatures, which a printed page sets as it likes."""
    return re.sub(r"\s", "", text.replace("ﬁ", "fi").replace("ﬀ", "ff").replace("ﬂ", "fl").replace("ﬃ", "ffi"))


def captions(page: str) -> Iterator[str]:
    """Yield the captions of tables that are closed on a screen."""
    for details in re.findall(r"<details>(.*?)</details>", page, re.DOTALL):
        yield from re.findall(r"<caption>([^<]*)</caption>", details)


def test_paper_has_every_section_and_the_figures_of_every_chart(page: str, tmp_path: Path) -> None:
    sheets = printed(page, tmp_path)
    text, titles = letters("".join(sheets)), TITLE.findall(page)
    assert len(titles) > 5
    assert [title for title in titles if letters(title) not in text] == []
    hidden = list(captions(page))
    assert len(hidden) > 5
    assert [caption for caption in hidden if letters(caption) not in text] == []
    assert "Incomplete." in text[:400]
    assert all(sheet.strip() for sheet in sheets), "no page of paper is empty"


def test_a_page_with_a_profile_says_nothing_on_the_console(page: str, tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text(page, encoding="utf-8")
    seen = visit(tmp_path / "r.html", tmp_path)
    assert seen.requests == []
    assert seen.console == []
    assert seen.drawn == page.count('class="chart"')


def test_nothing_is_cut_off_on_a_phone(page: str, tmp_path: Path) -> None:
    sound(page, tmp_path, 400)
