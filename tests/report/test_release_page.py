"""The page's text, and that every figure on it is the certificate's or the measure's."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import InputError, Policy, detail, explain
from tclose.measure.detail_kept import DETAIL_MEASURES
from tclose.measure.exposure_claims import Figure
from tclose.measure.information_loss import MEASURES, LevelEstimate
from tclose.privacy import requirement
from tclose.release.release import WrittenRelease
from tclose.report import release_sections as detail_section
from tclose.report.figures import figures_of
from tclose.report.release_page import release_page
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


def said(figure: Figure) -> str:
    """Return the line of a figure on a page."""
    needs = [f"To decide it: {figure.claim.needs}."] if figure.claim.needs else []
    parts = [
        f"{figure.title}, {figure.verdict}. {figure.claim.says}",
        *needs,
        *(f"Cure: {c}." for c in figure.remedies),
    ]
    return " ".join(parts)


def test_what_remains_exposed_comes_first_and_then_the_verdict(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    lines = text_of(ordinary.page(tmp_path / "r.html")).splitlines()
    place = lines.index("tclose · release report")
    figures = ordinary.release.exposed.figures
    assert lines[place + 1] == "What remains exposed"
    assert lines[place + 2 : place + 6] == [said(each) for each in figures]
    verdict = lines.index("This release meets every requirement of its policy.")
    worse = [f"{result.attack.title.capitalize()}: " for result in ordinary.attacks.worse_than_k_anonymous]
    assert worse
    for title, line in zip(worse, lines[place + 7 : verdict], strict=True):
        assert line.startswith(title)


def test_a_public_page_says_what_remains_exposed_but_compares_with_no_other_table(
    ordinary: Any, tmp_path: Path, text_of: Text
) -> None:
    lines = text_of(ordinary.page(tmp_path / "r.html", public=True)).splitlines()
    place = lines.index("What remains exposed")
    alone, stands = ordinary.release.exposed.figures[:2]
    assert lines[place + 1] == said(alone)
    assert lines[place + 2].startswith("Stands out, not decided. ")
    assert "To decide it: the original table" in lines[place + 2]
    assert stands.answer != "undecided"
    assert lines[place + 5] == "This release meets every requirement of its policy."


def test_a_public_page_counts_rows_where_the_steward_counts_persons(
    make_example: Any, tmp_path: Path, text_of: Text
) -> None:
    rows = {"id": [0, 0, 0, 1, 1, 1, 2, 3, 4, 5], "age": [*range(30, 40)], "pay": [7] * 3 + [8] * 3 + [9] * 4}
    policy = Policy(identifiers=["id"], person="id", quasi=["age"], sensitive={"pay": {"t": 1}}, k=2)
    example = make_example(pl.DataFrame(rows), policy)
    inside, outside = (text_of(example.page(tmp_path / "r.html", public=public)) for public in (False, True))
    assert "6 rows (60.0 %) show a value of 'pay' that at most two persons show" in inside
    assert "Stands out, not decided" in outside
    assert "at most two persons" not in outside


def test_a_page_of_a_release_that_lost_everything(make_example: Any, tmp_path: Path, text_of: Text) -> None:
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 0}}, k=2)
    frame = pl.DataFrame({"age": [*range(30, 50)], "pay": [*range(20)]})
    example = make_example(frame, policy)
    lost = replace(example.release.lost[0], estimate=LevelEstimate({"pay": Fraction(1, 5)}, 0.3, 20, 20))
    for public in (False, True):
        release = example.release
        written = WrittenRelease(release, release.certificate, release.judged, release.exposed, (lost,))
        page = release_page(written, beside=None, attacks=None, public=public)
        text = text_of(page)
        assert "This release lost everything: all 20 rows are in one class." in text
        assert text.index("lost everything") < text.index("This release meets every requirement")
        assert ("t = 0.2 for 'pay' would keep about 30.0 %" in text) != public  # the estimate saw the raw table
        assert ("Parts of this page show the raw table" in text) != public
        assert 'class="alarm" role="alert"' in page


def test_every_figure_is_the_certificates(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    text, certificate = text_of(ordinary.page(tmp_path / "r.html")), ordinary.release.certificate
    claims = certificate.claims
    for name, claim in claims.sensitive.items():
        distance = f"{number(claim.closeness)} (exactly {claim.closeness_exact}); the policy allows {claim.t}."
        assert f"The worst class is class {claim.worst_class:,} with" in text
        assert f"Its distance from the whole table is {distance}" in text, name
    for model in claims.models:
        words = requirement(model.model).words(model.required)
        assert f"| {words} | {number(model.reached)} | holds" in text
    for measure in (each for each in MEASURES if not each.optional):
        figure = number(certificate.measures[measure.name])
        assert f"{measure.title} | {figure} | {measure.scale} | {measure.meaning}" in text
    assert f"published in {claims.classes:,} classes. Every class has at least {claims.smallest_class} rows." in text
    assert certificate.digest in text
    assert certificate.files[0].sha256 in text


def test_figures_agree_with_the_judge_and_with_explain(ordinary: Any) -> None:
    (table,) = ordinary.release.layout.tables
    claims = ordinary.release.certificate.claims
    for figures in figures_of(ordinary.release.judged[0].table, table.judge.policy).attributes:
        claim = claims.sensitive[figures.name]
        assert figures.worst.closeness == Fraction(claim.closeness_exact)
        assert figures.worst.number == claim.worst_class
        assert sum(span.count for span in figures.closeness) == claims.classes
        for shares in (figures.table, figures.worst.shares, figures.typical.shares):
            assert shares.sum() == pytest.approx(1)
        moved = explain(table.frame, table.judge.policy, attribute=figures.name, class_number=figures.worst.number)
        assert sum(move.cost for move in figures.moves) + figures.other_cost == pytest.approx(float(moved.closeness))


def test_losses_average_to_the_loss_of_the_certificate(ordinary: Any) -> None:
    (table,) = ordinary.release.layout.tables
    assert sum(table.losses.values()) / len(table.losses) == pytest.approx(table.measures["gcp"], abs=1e-4)


def test_detail_kept_is_what_the_library_measures(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    text = text_of(ordinary.page(tmp_path / "r.html"))
    figures = detail(ordinary.release, original=ordinary.frame, policy=ordinary.policy).figures
    for measure in DETAIL_MEASURES:
        figure = figures[measure.name]
        assert figure is not None
        assert f"{measure.title} | {number(figure)} | {measure.scale} | {measure.meaning}" in text


def test_what_would_take_too_long_is_not_measured(
    ordinary: Any, tmp_path: Path, text_of: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detail_section, "MOST_SECONDS", 0.0)
    text = text_of(ordinary.page_made_anew(tmp_path / "r.html"))
    for measure in DETAIL_MEASURES:
        slow = measure.name in ("information", "divergence")
        assert (f"{measure.title} | not measured: it would take about 0 seconds" in text) == slow
    monkeypatch.setattr(detail_section, "MOST_PAIRS", 0)
    text = text_of(ordinary.page_made_anew(tmp_path / "r.html"))
    assert text.count("not measured: too many different values") == len(DETAIL_MEASURES)


def test_every_attack_is_told_before_and_after(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    text = text_of(ordinary.page(tmp_path / "r.html"))
    for result in ordinary.attacks.results:
        assert f"The release: {result.findings['release'].sentence}" in text
        assert f"The raw table: {result.findings['raw'].sentence} internal" in text


def test_a_public_page_says_nothing_of_the_raw_table(ordinary: Any, tmp_path: Path, text_of: Text) -> None:
    inside, outside = (text_of(ordinary.page(tmp_path / "r.html", public=public)) for public in (False, True))
    assert "internal" in inside
    for word in (
        "internal",
        "Internal",
        "raw table",
        "before and after",
        "4-anonymous",
        "identifier: never",
        "Detail kept for analysts",
    ):
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


def supersets(make_example: Any) -> Any:
    """Return a release with classes that (n,t)-closeness allows, farther than t from the whole table."""
    wards = ["x"] * 30 + ["y"] * 50
    ill = ["a" if i < 20 or i % 2 else "b" for i in range(80)]
    frame = pl.DataFrame({"age": [20 + i % 5 for i in range(80)], "ward": wards, "ill": ill, "pay": ill})
    sensitive: Any = {"ill": {"t": 0.05, "n": 20}, "pay": {"t": 0.9, "distance": "equal"}}
    return make_example(frame, Policy(quasi=["age"], keep=["ward"], sensitive=sensitive, k=2))


def test_with_n_a_page_states_no_limit_for_every_class(make_example: Any, tmp_path: Path, text_of: Text) -> None:
    example = supersets(make_example)
    text, claims = text_of(example.page(tmp_path / "r.html")), example.release.certificate.claims
    assert claims.sensitive["ill"].closeness > 0.05
    assert claims.satisfied
    for false in ("limit 0.05", "allows 0.05", "t = 0.05: no class", "ill 0."):
        assert false not in text
    meaning = "t applies to classes of fewer than n rows, each measured against a superset of at least n rows."
    assert f"The release satisfies (n,t)-closeness of ill (n = 20, t = 0.05): {meaning}" in text
    assert f"The policy requires (n,t)-closeness of ill (n = 20, t = 0.05): {meaning}" in text
    assert "ill | (n,t)-closeness | n = 20, ≤ 0.05 | 0 | holds" in text
    assert "(limit 0.9)" in text
    assert "The dashed line is t = 0.9: no class is beyond it." in text
    assert "A class of n rows or more may be at any distance." in text


def test_with_n_a_notebook_states_no_limit_for_every_class(make_example: Any) -> None:
    release = supersets(make_example).release
    page, distance = release._repr_html_(), number(release.results[0].sensitive["ill"].closeness)
    assert f"<tr><td>ill</td><td></td><td>{distance}</td></tr>" in page
    assert "<tr><td>ill, (n,t)-closeness</td><td>n = 20, ≤ 0.05</td><td>0</td></tr>" in page
