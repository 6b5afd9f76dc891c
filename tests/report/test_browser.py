"""The page in a real headless Chromium with the network cut: any request and any message on the console fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
        capture_output=True, text=True, timeout=120, check=True,
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
  const found = { width: innerWidth, fits: document.documentElement.scrollWidth <= innerWidth,
    wide: wide.length, drawn: +document.documentElement.dataset.drawn,
    small: Array.from(document.querySelectorAll("svg text")).filter(function (one) {
      return parseFloat(getComputedStyle(one).fontSize) < 11; }).length };
  document.documentElement.dataset.probe = JSON.stringify(found); }, 3000); });</script>"""


def test_a_page_fits_a_phone(ordinary: Any, tmp_path: Path) -> None:
    page = ordinary.page(tmp_path / "r.html")
    probed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page) + PROBE
    frame = tmp_path / "frame.html"  # a window of Chromium is 500 pixels wide at least; a frame can be as a phone
    (tmp_path / "probed.html").write_text(probed, encoding="utf-8")
    frame.write_text(FRAME, encoding="utf-8")
    seen = visit(frame, tmp_path)
    found = json.loads(re.search(r'data-probe="([^"]*)"', seen.dom)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert found == {"width": 400, "fits": True, "wide": 0, "small": 0, "drawn": page.count('class="chart"')}


FRAME = """<iframe src="probed.html" width="400" height="800" style="border:0"></iframe><script>
setInterval(function () { const inner = document.querySelector("iframe").contentDocument;
  if (inner && inner.documentElement.dataset.probe)
    document.documentElement.dataset.probe = inner.documentElement.dataset.probe; }, 200);</script>"""
