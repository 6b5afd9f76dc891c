"""The whole story in a real browser: from a file to a verified release, found by role and label, not by CSS.

Every request that does not go to the studio fails the test, and so does every message on the console.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tclose.examples import hospital

from .conftest import readable_by_others, start, stop
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


def table_of(folder: Path, rows: int = 300) -> Path:
    hospital(rows, seed=3).select("name", "zip", "age", "sex", "ldl", "diagnosis").write_csv(folder / "patients.csv")
    return folder / "patients.csv"


def drop(page: Any, *files: Path) -> None:
    """Drop files on the page, as from a folder of the desktop."""
    given = [[file.name, base64.b64encode(file.read_bytes()).decode()] for file in files]
    page.evaluate(
        """files => {
            const dropped = new DataTransfer();
            for (const [name, data] of files)
                dropped.items.add(new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], name));
            const event = new DragEvent("drop", {dataTransfer: dropped, bubbles: true, cancelable: true});
            document.body.dispatchEvent(event);
        }""",
        given,
    )


def downloaded(page: Any, folder: Path, *names: str) -> list[Path]:
    files = []
    for name in names:
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        files.append(folder / name)
        download.value.save_as(files[-1])
    return files


def test_from_an_excel_file_to_a_verified_signed_release(visitor: Visitor, tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter", reason="install it with: pip install 'tclose[excel]'")
    pytest.importorskip("cryptography", reason="install it with: pip install 'tclose[sign]'")
    page = visitor.page
    table = hospital(300, seed=3).select("name", "zip", "age", "sex", "ldl", "diagnosis")
    table.write_excel(tmp_path / "patients.xlsx", "Visits")
    drop(page, tmp_path / "patients.xlsx")
    visitor.heading("This is your table").wait_for()
    page.get_by_text("sheet").first.wait_for()
    page.get_by_role("link", name="Yes: choose what each column is").click()
    page.get_by_role("group", name="Role of sex").get_by_label("Keep").check()
    page.get_by_role("group", name="Role of sex").get_by_label("Quasi-identifier").check()
    visitor.go("Sensitive")
    for name in ("ldl", "diagnosis"):
        field = page.get_by_role("region", name=name).get_by_role("textbox", name="t", exact=True)
        field.fill("0,4")
        field.press("Enter")
        page.get_by_text(f"'{name}': choose t").wait_for(state="detached")
    visitor.go("Risk today")
    visitor.button("Judge the table").click()
    page.get_by_text("The table must not be published as it is.").wait_for()
    page.get_by_text("have a combination of quasi-identifiers that no other row").wait_for()
    page.get_by_role("button", name="Why does diagnosis fail?").click()
    visitor.heading("against the whole table: diagnosis").wait_for()
    visitor.go("Try")
    page.get_by_label("Effort").select_option("fast")
    visitor.button("Make a release").click()
    page.get_by_role("region", name="Candidates, the newest first").wait_for()
    visitor.go("Look")
    visitor.button("Show the classes").click()
    page.get_by_role("region", name="Rows of this class").wait_for()
    visitor.go("Publish")
    page.get_by_text("Make a key of your own").click()
    page.get_by_label("Name of the key").fill("steward")
    page.get_by_label("Passphrase (may stay empty)").fill("correct horse")
    page.get_by_label("The same passphrase again").fill("correct horse")
    visitor.button("Make the key").click()
    page.get_by_text("The key steward was made. Its fingerprint: SHA256:").wait_for()
    page.get_by_label("Signed with").select_option("steward")
    page.get_by_text("certificate.dsse.json").wait_for()
    page.get_by_label("Passphrase of the key").fill("correct horse")
    visitor.button("Publish").click()
    visitor.heading("Releases").wait_for()
    page.get_by_text("Signed by steward").wait_for()
    files = downloaded(page, tmp_path, "release.csv", "certificate.json", "certificate.dsse.json", "steward.pub")
    page.get_by_role("link", name="tclose studio").click()
    page.get_by_role("link", name="Verify a release").click()
    visitor.heading("Verify a release").wait_for()
    drop(page, *files)
    page.get_by_text("The release holds what its certificate says.").wait_for()
    page.get_by_text("Signed by steward").wait_for()
    assert visitor.wrong == []
    assert readable_by_others(visitor.studio.home) == []
    kept = [path for path in (visitor.studio.home / ".tclose").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"correct horse" in path.read_bytes()]


def test_a_link_that_is_followed_while_a_change_is_saved_leads_where_it_says(visitor: Visitor, tmp_path: Path) -> None:
    page, held = visitor.page, list[Any]()
    page.get_by_label("Path").fill(str(table_of(tmp_path, 100)))
    visitor.button("Open the path").click()
    page.get_by_role("link", name="Yes: choose what each column is").click()
    role = page.get_by_role("group", name="Role of sex")
    role.wait_for()
    page.route("**/columns/*", lambda route: held.append(route) if route.request.method == "POST" else route.fallback())
    with page.expect_request(lambda request: request.method == "POST"):
        role.get_by_label("Keep").check()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    visitor.go("Sensitive")
    page.evaluate("1")  # by now the link has been followed, or waits
    assert asked == []
    held.pop().continue_()
    page.get_by_role("region", name="ldl").wait_for()
    visitor.go("Columns")
    assert role.get_by_label("Keep").is_checked()
    assert visitor.wrong == []


def test_nothing_is_lost_when_the_studio_is_killed(chromium: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = start(home)
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context, first)
    visitor.page.get_by_label("Path").fill(str(table_of(tmp_path, 100)))
    visitor.button("Open the path").click()
    visitor.page.get_by_role("link", name="Yes: choose what each column is").click()
    visitor.page.get_by_role("group", name="Role of zip").get_by_label("Leave out").check()
    visitor.page.get_by_role("button", name="Undo").wait_for()
    visitor.button("Undo").click()
    playwright.expect(visitor.button("Redo")).to_be_enabled()
    first.process.kill()
    first.process.communicate(timeout=1800)
    second = start(home)
    try:
        again = Visitor(context, second)
        again.page.get_by_role("link", name="patients.csv").click()
        again.go("Columns")
        assert again.page.get_by_role("group", name="Role of zip").get_by_label("Quasi-identifier").is_checked()
        again.button("Redo").click()
        playwright.expect(again.button("Redo")).to_be_disabled()
        assert again.page.get_by_role("group", name="Role of zip").get_by_label("Leave out").is_checked()
        assert again.wrong == []
    finally:
        context.close()
        stop(second)


HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}'


def test_hostile_names_and_cells_are_shown_as_they_are(visitor: Visitor, tmp_path: Path) -> None:
    quoted = HOSTILE.replace('"', '""')
    rows = "\n".join(f'"{quoted}",{n},"{quoted}"' for n in range(20))
    table = tmp_path / "'onload=alert(3)<b>.csv"
    table.write_text(f'"{quoted}",pay,"x{quoted}"\n{rows}\n')
    visitor.page.on("dialog", lambda dialog: visitor.wrong.append("a dialog"))
    visitor.page.get_by_label("Table").set_input_files(table)
    visitor.button("Open the file").click()
    visitor.heading("This is your table").wait_for()
    for screen in ("Columns", "Quasi-identifiers", "Sensitive", "Risk today", "Try", "Publish", "Verify", "Open"):
        visitor.go(screen)
        visitor.page.wait_for_load_state()
        assert "49<" not in visitor.page.content()
    assert visitor.page.locator("img").count() == 0
    assert visitor.wrong == []
