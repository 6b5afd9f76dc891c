"""The page's text, and that every figure on it is the certificate's or the measure's."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose import InputError, explain
from tclose.report.figures import figures_of
from tclose.words import number

SNAPSHOT = Path(__file__).with_name("page.txt")
Text = Callable[[str], str]


def stable(text: str) -> str:
    """Leave out what a new version of tclose changes by itself."""
    return re.sub(r"tclose \d[\w.]*|tclose \| \d[\w.]*", "tclose VERSION", re.sub(r"[0-9a-f]{64}", "DIGEST", text))


def test_the_text_of_the_page(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    """TCLOSE_SNAPSHOT=write renews the snapshot; read it before you commit it."""
    text = stable(text_of(ordinary.page(tmp_path / "r.html")))
    if os.environ.get("TCLOSE_SNAPSHOT") == "write":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


def test_the_verdict_comes_first(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    lines = text_of(ordinary.page(tmp_path / "r.html")).splitlines()
    place = lines.index("tclose · release report")
    assert lines[place + 1] == "This release holds everything that its policy asks for."


def test_every_figure_is_the_certificates(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    text, content = text_of(ordinary.page(tmp_path / "r.html")), ordinary.release.certificate.content
    for name, found in content["sensitive"].items():
        told = f"The worst class, number {found['worst_class']:,} with"
        assert told in text
        assert f"is {number(found['closeness'])} away from the whole table (exactly {found['closeness_exact']})" in text
        assert f"where the policy allows {found['t']}" in text, name
    for model in content["models"]:
        assert f"| {model['required']} | {number(model['reached'])} | holds" in text
    for figure in ("gcp", "discernibility", "c_avg"):
        assert f"| {number(content['measures'][figure])} | lower" in text
    assert (
        f"{content['classes']:,} classes of look-alikes, each with {content['smallest_class']} rows at least." in text
    )
    assert ordinary.release.certificate.digest in text
    assert content["sha256"] in text


def test_figures_agree_with_the_judge_and_with_explain(ordinary: Any) -> None:
    (sheet,) = ordinary.release.layout.tables
    content = ordinary.release.certificate.content
    for one in figures_of(ordinary.release.judged[0].table, sheet.judge.policy).attributes:
        found = content["sensitive"][one.name]
        numerator, denominator = map(int, found["closeness_exact"].split("/"))
        assert one.worst.closeness == Fraction(numerator, denominator)
        assert one.worst.number == found["worst_class"]
        assert sum(span.count for span in one.closeness) == content["classes"]
        for shares in (one.table, one.worst.shares, one.typical.shares):
            assert shares.sum() == pytest.approx(1)
        moved = explain(sheet.frame, sheet.judge.policy, attribute=one.name, class_number=one.worst.number)
        assert sum(move.cost for move in one.moves) + one.other_cost == pytest.approx(float(moved.closeness))


def test_losses_average_to_the_loss_of_the_certificate(ordinary: Any) -> None:
    (sheet,) = ordinary.release.layout.tables
    assert sum(sheet.losses.values()) / len(sheet.losses) == pytest.approx(sheet.measures["gcp"], abs=1e-4)


def test_every_attack_is_told_before_and_after(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    text = text_of(ordinary.page(tmp_path / "r.html"))
    for one in ordinary.attacks.to_dict()["attacks"]:
        assert f"The release: {one['release']['sentence']}" in text
        assert f"The raw table: {one['raw']['sentence']} internal" in text


def test_a_public_page_says_nothing_of_the_raw_table(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    inside, outside = (text_of(ordinary.page(tmp_path / "r.html", public=public)) for public in (False, True))
    assert "internal" in inside
    for word in ("internal", "Internal", "raw table", "before and after", "4-anonymous", "identifier: never"):
        assert word in inside, word
        assert word not in outside, word


def test_without_the_original_a_page_shows_the_release_alone(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    ordinary.release.report(tmp_path / "r.html")
    text = text_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "before and after" not in text
    assert "What an adversary" not in text


def test_headings_go_down_in_order_and_tables_have_headers(ordinary: Any, tmp_path: Path) -> None:
    page = ordinary.page(tmp_path / "r.html").partition("<script>(function () {")[0]
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.count("<table>") == page.count("<caption>")
    assert not re.search(r"<th(?! scope)", page.replace("<thead", ""))
    charts = page.count('class="chart"')
    assert charts == page.count('role="img" aria-label="') == page.count("<figcaption>") > 6
    assert '<html lang="en">' in page


def test_a_page_weighs_less_than_3_megabytes_and_names_no_address(ordinary: Any, tmp_path: Path) -> None:
    page = ordinary.page(tmp_path / "r.html")
    assert len(page.encode()) < 3_000_000
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page.partition("<script>")[0])
    assert "default-src 'none'" in page


def test_a_page_that_cannot_be_written_is_refused(ordinary: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        ordinary.release.report(tmp_path / "absent" / "r.html")
