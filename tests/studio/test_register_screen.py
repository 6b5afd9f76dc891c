"""The register in a real browser: what was published is seen, handed over and deleted only by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tclose.studio.project import Project
from tclose.studio.publication import publish
from tclose.studio.register import releases

from .conftest import Running, start, stop
from .finished import KEY, silent
from .test_accessible import findings
from .test_register import ASKED, project_of
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning"),
]


def entered(chromium: Any, studio: Running, screen: str) -> Visitor:
    context = chromium.new_context(locale="en-US", viewport={"width": 400, "height": 900})
    visitor = Visitor(context, studio)
    visitor.page.goto(f"{studio.base}/p/{KEY}/{screen}")
    return visitor


def test_a_release_is_published_seen_and_deleted(chromium: Any, running: Running, tmp_path: Path) -> None:
    project = project_of(running.home)
    visitor = entered(chromium, running, "publish")
    page = visitor.page
    page.get_by_label("Who receives it").fill("The registry")
    page.get_by_label("What for").fill("A study of cholesterol")
    page.get_by_label("Name of the release").fill("visits")
    visitor.button("Publish").dblclick()
    newest = page.get_by_role("region", name="Release 2")
    newest.get_by_text("The finished files hold what their certificate says.").first.wait_for()
    assert [each["number"] for each in releases(project)] == [2, 1]
    assert "to The registry" in newest.inner_text()
    assert releases(project)[0]["folder"] in newest.inner_text()
    assert "published-" not in newest.inner_text()
    with page.expect_download() as download:
        newest.get_by_role("link", name="visits.csv", exact=True).click()
    download.value.save_as(tmp_path / "visits.csv")
    assert (tmp_path / "visits.csv").read_bytes() == (Path(releases(project)[0]["folder"]) / "visits.csv").read_bytes()
    older = page.get_by_role("group").filter(has=page.get_by_text("Release 1", exact=True)).first
    assert not page.get_by_role("link", name="release.csv", exact=True).is_visible()
    older.locator("summary").first.click()
    page.get_by_role("link", name="release.csv", exact=True).wait_for()
    newest.get_by_text("Delete release 2 …").click()
    assert findings(page) == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0
    newest.get_by_role("button", name="Delete release 2").click()
    assert newest.get_by_role("checkbox").evaluate("box => box.validity.valueMissing"), "the browser asks for the box"
    assert len(releases(project)) == 2
    day = releases(project)[0]["date"][:10]
    newest.get_by_label(f"Delete release 2 of {day}, which went to The registry").check()
    newest.get_by_role("button", name="Delete release 2").click()
    page.get_by_text("files deleted on").wait_for()
    assert [each["number"] for each in releases(project)] == [1]
    assert visitor.wrong == []
    page.context.close()


def test_the_copies_of_the_table_go_and_the_releases_stay(chromium: Any, running: Running) -> None:
    project = project_of(running.home)
    visitor = entered(chromium, running, "publish")
    page = visitor.page
    page.get_by_role("link", name="tclose studio").click()
    visitor.button("Delete the project patients.csv").click()
    visitor.heading("Delete the project patients.csv").wait_for()
    assert "Published releases: 1" in page.inner_text("main")
    assert findings(page) == []
    visitor.button("Delete everything").click()
    assert page.get_by_label("Delete also the published releases").evaluate("box => box.validity.valueMissing")
    assert project.folder.exists()
    visitor.button("Delete the copies of the table, keep the releases").click()
    page.get_by_text("Its releases were kept.").wait_for()
    page.get_by_role("link", name="release.csv", exact=True).wait_for()
    assert list((project.folder / "source").iterdir()) == []
    assert findings(page) == []
    page.get_by_role("link", name="tclose studio").click()
    page.get_by_role("link", name="patients.csv", exact=True).click()
    page.get_by_text("Its releases were kept.").wait_for()
    page.get_by_role("link", name="tclose studio").click()
    visitor.button("Delete the project patients.csv").click()
    page.get_by_label("Delete also the published releases").check()
    visitor.button("Delete everything").click()
    page.get_by_text("Delete the project").wait_for(state="detached")
    page.get_by_role("link", name="patients.csv").wait_for(state="detached")
    assert not project.folder.exists()
    assert visitor.wrong == []
    page.context.close()


def test_the_register_and_deleting_are_told_in_german(chromium: Any, finished_home: Path) -> None:
    project: Project = project_of(finished_home)
    publish(project.folder, silent, number=2, asked={**ASKED, "context": {"recipient": "Das Register"}})
    running = start(finished_home)
    visitor = entered(chromium, running, "publish")
    page = visitor.page
    visitor.button("Deutsch").click()
    page.get_by_text("Veröffentlichung 2 löschen …").click()
    day = releases(project)[0]["date"][:10]
    box = page.get_by_label(f"Veröffentlichung 2 vom {day} löschen. Sie ging an: Das Register")
    box.evaluate("box => box.form.noValidate = true")
    page.get_by_role("button", name="Veröffentlichung 2 löschen").click()
    page.get_by_text("Es wurde nichts gelöscht: Kreuzen Sie das Feld an, das Veröffentlichung 2 nennt.").wait_for()
    text = page.inner_text("main")
    assert "Die fertigen Dateien halten, was ihr Zertifikat sagt." in text
    page.goto(f"{running.base}/p/{KEY}/delete")
    text += page.inner_text("main")
    english = ("Release", "Folder", "not signed", "finished files", "Delete", "keep", "Candidates", "without")
    assert [word for word in english if word in text] == []
    assert "an Das Register" in text
    assert visitor.wrong == []
    page.context.close()
    stop(running)
