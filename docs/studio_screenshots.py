"""Make the screenshots of docs/images/studio again: every screen of the studio, in headless Chromium.

    python docs/studio_screenshots.py [--out docs/images/studio]

The table is the invented hospital of the start page. Everything is found by role and label, as people find it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

SIZE = {"width": 1000, "height": 760}
PATIENCE = 300_000  # milliseconds
CLOSENESS = "0.2"
HOSPITAL = "Open the hospital table"


class Tour:
    """Goes through the screens and takes a picture of each."""

    def __init__(self, page: Any, out: Path) -> None:
        self.page, self.out = page, out

    def go(self, name: str) -> None:
        self.page.get_by_role("navigation", name="Steps").get_by_role("link", name=name, exact=True).click()
        self.page.wait_for_load_state()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def take(self, name: str, *, at: str = "content") -> None:
        """Take a picture that begins at a part of the page; by default at its top."""
        top = "document.activeElement.blur(); window.scrollTo(0, 0)"
        self.page.evaluate(top if at == "content" else f"document.getElementById('{at}').scrollIntoView()")
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=self.out / f"{name}.png")

    def worked(self, shows: Any) -> None:
        shows.first.wait_for(timeout=PATIENCE)


def decide(tour: Tour) -> None:
    """Open the table, and choose what the policy needs."""
    tour.take("1-start")
    tour.press(HOSPITAL)
    tour.worked(tour.page.get_by_role("link", name="Yes: choose what each column is"))
    tour.take("2-open")
    tour.go("Columns")
    tour.page.get_by_role("heading", name="What is each column?").wait_for()
    tour.take("3-columns")
    tour.go("Quasi-identifiers")
    tour.page.get_by_role("heading", name="What others may know").wait_for()
    tour.take("4-quasi-identifiers")
    tour.go("Sensitive")
    fields = tour.page.get_by_role("textbox", name="t", exact=True)
    fields.first.wait_for()
    for place in range(fields.count()):
        fields.nth(place).fill(CLOSENESS)
        with tour.page.expect_response(lambda answer: answer.request.method == "POST"):
            fields.nth(place).press("Enter")
        tour.page.wait_for_timeout(300)
    tour.take("5-sensitive")


def work(tour: Tour) -> None:
    """Judge, try, look, attack, publish and verify."""
    page = tour.page
    tour.go("Risk today")
    tour.press("Judge the table")
    tour.worked(page.get_by_text("The table must not be published as it is."))
    tour.take("6-risk")
    tour.go("Try")
    page.get_by_label("Effort").select_option("fast")
    tour.press("Make a release")
    tour.worked(page.get_by_role("region", name="Candidates, the newest first"))
    tour.take("7-try")
    page.get_by_role("group", name="Methods beside weave").get_by_label("mondrian").check()
    tour.press("Measure what protection costs")
    tour.worked(page.get_by_role("img", name="Detail lost"))
    tour.take("7-curve", at="curve")
    tour.go("Look")
    tour.press("Show the classes")
    tour.worked(page.get_by_role("region", name="Rows of this class"))
    tour.take("8-look")
    tour.go("Attack")
    page.get_by_role("heading", level=1).wait_for()
    page.locator("main form button.main").click()
    tour.worked(page.locator("main table"))
    tour.take("9-attack")
    publish(tour)


def publish(tour: Tour) -> None:
    """Publish the candidate, and verify the files."""
    page = tour.page
    tour.go("Publish")
    page.get_by_text("Make a key of your own").click()
    page.get_by_label("Name of the key").fill("steward")
    tour.press("Make the key")
    tour.worked(page.get_by_text("The key steward was made."))
    tour.go("Publish")
    page.get_by_label("Who receives it").fill("University of Example, department of epidemiology")
    page.get_by_label("What for").fill("A study of cholesterol and diagnoses")
    page.get_by_label("Signed with").select_option("steward")
    tour.worked(page.get_by_text("certificate.dsse.json"))
    tour.take("10-publish")
    tour.press("Publish")
    tour.worked(page.get_by_role("heading", name="Releases"))
    tour.take("10-published", at="published")
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name in ("release.csv", "certificate.dsse.json", "steward.pub"):
            with page.expect_download() as download:
                page.get_by_role("link", name=name, exact=True).click()
            files[name] = Path(folder) / name
            download.value.save_as(files[name])
        tour.go("Verify")
        page.get_by_label("Release", exact=True).set_input_files(files["release.csv"])
        page.get_by_label("Certificate").set_input_files(files["certificate.dsse.json"])
        page.get_by_label("Public key of the signer").set_input_files(files["steward.pub"])
        tour.press("Verify")
        tour.worked(page.get_by_text("The release holds what its certificate says."))
    tour.take("11-verify")


def main() -> None:
    """Start a studio of its own, and go through it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images" / "studio")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from tclose.cli import main; main()", "studio", "--no-browser"]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        environment = {**os.environ, "HOME": home}
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            page = chromium.new_context(locale="en-US", viewport=SIZE, color_scheme="light").new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(server.stdout.readline().strip() if server.stdout else "")
            page.get_by_role("button", name=HOSPITAL).wait_for()
            tour = Tour(page, out)
            decide(tour)
            work(tour)
        finally:
            chromium.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
