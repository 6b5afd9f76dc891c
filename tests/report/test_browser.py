"""The page in a real headless Chromium with the network cut: any request and any message on the console fails."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tclose import Comparison, Policy
from tclose.comparison.comparison import Curve
from tclose.comparison.trial import Trial
from tclose.papers.reproduction import (
    ChartLine,
    Experiment,
    ExperimentOutcome,
    ExperimentPart,
    LineChart,
    PaperFigure,
    Reproduction,
)
from tclose.partition import METHODS
from tclose.report.comparison_pages import MOST_LINES, comparison_page, reproduction_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="install it with: sudo apt-get install -y chromium")
BROWSER = "not an origin"  # what Chromium asks for itself, such as updates, has no page behind it
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-default-apps", "--disable-extensions", "--enable-logging=stderr",
    "--disable-domain-reliability", "--virtual-time-budget=20000", "--allow-file-access-from-files",
]  # fmt: skip


@dataclass(frozen=True)
class Visit:
    """What a browser made of a page."""

    dom: str
    console: list[str]
    requests: list[str]

    @property
    def drawn(self) -> int:
        found = re.search(r'data-drawn="(\d+)"', self.dom)
        return int(found[1]) if found else 0


def visit(page: Path, folder: Path, *, width: int = 1280) -> Visit:
    """Open a page; the network is cut, and whoever still asks for it is written down."""
    log = folder / "net.json"
    done = subprocess.run(
        [
            str(CHROMIUM), *QUIET, "--host-resolver-rules=MAP * ~NOTFOUND", f"--log-net-log={log}",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=1800, check=True,
    )  # fmt: skip
    asked = (event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"])
    return Visit(
        dom=done.stdout,
        console=[line for line in done.stderr.splitlines() if ":CONSOLE:" in line],
        requests=sorted({one["url"] for one in asked if one.get("initiator", BROWSER) != BROWSER and _far(one["url"])}),
    )


def _far(url: str) -> bool:
    return not url.startswith(("file:", "data:", "about:"))


def test_this_test_can_fail(tmp_path: Path) -> None:
    """A page that asks for a picture, and one that throws, are found out."""
    page = tmp_path / "bad.html"
    page.write_text("<img src='http://evil.example/x.png'><script>throw new Error('found')</script>", encoding="utf-8")
    seen = visit(page, tmp_path)
    assert seen.requests == ["http://evil.example/x.png"]
    assert any("found" in line for line in seen.console)


@pytest.mark.parametrize("kind", ["ordinary", "hostile"])
def test_a_page_draws_everything_and_asks_for_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(kind).page(tmp_path / "r.html")
    seen = visit(tmp_path / "r.html", tmp_path)
    assert seen.requests == []
    assert seen.console == []
    assert seen.drawn == page.count('class="chart"') > 6
    assert seen.dom.count("<svg") > seen.drawn
    assert "NaN" not in "".join(re.findall(r'<path[^>]* d="([^"]*)"', seen.dom))


PROBE = """<script>addEventListener("load", function () { setTimeout(function () {
  const wide = Array.from(document.querySelectorAll("main *, header *")).filter(function (one) {
    return !one.closest(".scroll") && one.getBoundingClientRect().right > innerWidth + 1; });
  const texts = Array.from(document.querySelectorAll(".chart svg text"));
  const clipped = texts.filter(function (one) {
    const text = one.getBoundingClientRect(), chart = one.closest("svg").getBoundingClientRect();
    return text.width > 0 && (text.left < chart.left - 1 || text.right > chart.right + 1 ||
      text.top < chart.top - 1 || text.bottom > chart.bottom + 1); });
  const found = { width: innerWidth, fits: document.documentElement.scrollWidth <= innerWidth,
    wide: wide.length, drawn: +document.documentElement.dataset.drawn,
    clipped: clipped.map(function (one) { return one.textContent; }),
    small: texts.filter(function (one) { return parseFloat(getComputedStyle(one).fontSize) < 11; }).length,
    texts: Array.from(new Set(texts.map(function (one) {  // lines of one text follow each other
      return one.querySelector("tspan") ? Array.from(one.querySelectorAll("tspan"), function (line) {
        return line.textContent; }).join(":") : one.textContent; }))) };
  document.documentElement.dataset.probe = JSON.stringify(found); }, 3000); });</script>"""


def probed(page: str, folder: Path, widths: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return what a browser of each width makes of a page: what is too wide, clipped or too small, and all texts."""
    frames = folder / "frames.html"  # a window of Chromium is 500 pixels wide at least; a frame can be as a phone
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    (folder / "probed.html").write_text(without_policy + PROBE, encoding="utf-8")
    frames.write_text("".join(FRAME.replace("WIDTH", str(width)) for width in widths) + COLLECTED, encoding="utf-8")
    seen = visit(frames, folder, width=max(widths) + 100)
    return [json.loads(html.unescape(found)) for found in re.findall(r'data-probe="([^"]*)"', seen.dom)]


def sound(page: str, folder: Path, *widths: int) -> list[list[str]]:
    """Assert that nothing on a page is cut off at any of these widths; return the texts in its charts at each."""
    found = probed(page, folder, widths)
    texts: list[list[str]] = [one.pop("texts") for one in found]
    charts = page.count('class="chart"')
    clean = {"fits": True, "wide": 0, "small": 0, "drawn": charts, "clipped": []}
    assert found == [{"width": width, **clean} for width in widths]
    return texts


def labels_of(page: str) -> set[str]:
    """Return every text that the page's own data gives to charts."""
    block = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    rows = (row for spec in json.loads(block[1]) for data in spec["data"] for row in data.get("values", ()))
    return {value for row in rows for value in row.values() if isinstance(value, str)}


def unshortened(texts: list[str], page: str) -> None:
    """Assert that the drawing library has cut no label: what ends in an ellipsis was given so."""
    assert [text for text in texts if "…" in text and text not in labels_of(page)] == []


@pytest.mark.parametrize("kind", ["ordinary", "long"])
def test_nothing_on_a_page_is_cut_off(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(kind).page(tmp_path / "r.html")
    for texts in sound(page, tmp_path, *WIDTHS):
        unshortened(texts, page)
        if kind == "long":
            assert {text.partition(",")[0] for text in texts} >= {"…colon", "…lung", "…pancreas", "…WWWMMMWWW"}
            assert any(re.fullmatch(r"[\d.]+ bn – [\d.]+ bn", text) for text in texts)


def test_nothing_on_a_comparison_is_cut_off(tmp_path: Path) -> None:
    """Every method that there is, with the longest choice of its option."""
    longest = {name: sorted((*method.choices, *method.variants), key=len)[-1:] for name, method in METHODS.items()}
    names = [":".join([name, *choice]) for name, choice in longest.items()]
    spread = {name: 0.1 + 0.8 * place / len(names) for place, name in enumerate(names)}
    long = "annual income before taxes and transfers, in thousands of euros"
    figures: dict[str, Any] = {
        "outcome": "released",
        "classes": 12,
        "smallest_class": 4,
        "average_class": 5.5,
        "withheld": 0,
        "query_error": 0.25,
        "seconds": 0.5,
        "closeness": {long: 0.19},
    }
    trials = tuple(
        Trial(name=name, method=name.partition(":")[0], choice="", measures={"gcp": loss}, loss=loss, **figures)
        for name, loss in spread.items()
    )
    policy = Policy(quasi=["age"], sensitive={long: {"t": "1/3"}})
    drawn = [trial.name for trial in trials if not trial.caveat]
    curve = Curve("t", [(name, t / 30, spread[name] - t / 100) for name in drawn for t in (5, 10, 15, 20)])
    page = comparison_page(Comparison(trials, policy, "polars"), curve, "x" * 80)
    for texts in sound(page, tmp_path, *WIDTHS):
        unshortened(texts, page)
        assert set(drawn) <= set(texts), "no name of a method is shortened"


def test_nothing_on_a_reproduction_is_cut_off(tmp_path: Path) -> None:
    """As many lines as a chart can have, on both scales, and long words in every column."""
    lines = tuple(
        ChartLine(f"recursive (c,l)-diversity {name}", ((2.0, 470.5 + name), (8.0, 3e8 / (name + 1))))
        for name in range(MOST_LINES)
    )
    charts = (
        LineChart("Figure 4(a)", "k, and l", "discernibility (squared rows)", lines, scale="log"),
        LineChart("Figure 3(a)", "quasi-identifiers", "CPU seconds", lines),
    )
    figure = PaperFigure("recursive (4,4)-diversity: of these, open", "a curve only", "11,816 of 30,162", "the " * 30)
    part = ExperimentPart("Data quality", "What it costs. " * 9, (figure,), charts)
    experiment = Experiment("li-2007", "t-closeness on Adult", "Li & others", ("adult_arx.csv",), lambda *_: ())
    page = reproduction_page(Reproduction((ExperimentOutcome(experiment, (part,), 28.1),)))
    for texts in sound(page, tmp_path, *WIDTHS):
        unshortened(texts, page)


WIDTHS = (400, 1280)  # a phone and a desk, in one browser
FRAME = '<iframe src="probed.html" width="WIDTH" height="800" style="border:0"></iframe>'
COLLECTED = """<script>setInterval(function () {
  document.querySelectorAll("iframe").forEach(function (frame) { const inner = frame.contentDocument;
    if (inner && inner.documentElement.dataset.probe)
      frame.dataset.probe = inner.documentElement.dataset.probe; }); }, 200);</script>"""
