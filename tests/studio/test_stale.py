"""What is shown belongs to the settings and the table as they are: read again, undone, changed on disk."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import warnings
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

from tclose import InputError, Policy, steps
from tclose.studio import work
from tclose.studio.project import Project
from tclose.studio.publication import publish
from tclose.studio.register import releases
from tclose.studio.worker import Worker

from .client import Browser
from .conftest import Running, wait_for
from .finished import KEY, ready, silent

ROWS = 60
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning", "ignore::tclose.LeakWarning")


def german(path: Path) -> None:
    """Write a workbook of two sheets as hospitals do: dates and decimal commas as text."""
    first = pl.DataFrame({"Stand": ["x"], "Haus": ["y"]})
    second = pl.DataFrame(
        {
            "Geburtsdatum": [f"{1 + n % 28:02}.03.{1950 + n % 40}" for n in range(ROWS)],
            "Wert": [f"{n % 9},{n % 10}" for n in range(ROWS)],
        }
    )
    from xlsxwriter import Workbook

    with Workbook(path) as book:
        for name, frame in (("Übersicht", first), ("Fälle", second)):
            frame.write_excel(book, worksheet=name, autofit=False)


@pytest.fixture
def workbook(tmp_path: Path) -> Project:
    pytest.importorskip("xlsxwriter", reason="it writes the workbook")
    project = Project.create(tmp_path / "p", name="t.xlsx", table="t.xlsx")
    german(project.table)
    return project


def kinds(project: Project) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in project.look["columns"]}


def test_a_chosen_sheet_leaves_the_rest_to_detection(workbook: Project) -> None:
    with pytest.raises(InputError, match="2 sheets: choose one of them below"):
        work.look(workbook.folder, silent)
    work.look(workbook.folder, silent, written={"sheet": "Fälle"})
    assert kinds(workbook) == {"Geburtsdatum": "date", "Wert": "number"}
    assert workbook.settings["source"] == {"format": "excel", "sheet": "Fälle", "decimal": ",", "dates": "dd.mm.yyyy"}
    assert "Geburtsdatum" in workbook.settings["quasi"]


def test_roles_that_nobody_chose_follow_the_reading(workbook: Project) -> None:
    work.look(workbook.folder, silent, written={"sheet": "Fälle", "dates": "yyyymmdd", "decimal": "."})
    before = workbook.settings
    work.look(workbook.folder, silent, written={"sheet": "Fälle"})
    assert workbook.settings["quasi"] != before["quasi"]
    chosen = {**workbook.settings, "k": 7}
    workbook.change(chosen)
    work.look(workbook.folder, silent, written={"sheet": "Fälle", "decimal": ","})
    assert {**workbook.settings, "source": {}} == {**chosen, "source": {}}


def test_undoing_a_sheet_shows_no_columns_of_the_other(workbook: Project) -> None:
    work.look(workbook.folder, silent, written={"sheet": "Fälle"})
    work.look(workbook.folder, silent, written={"sheet": "Übersicht"})
    assert set(kinds(workbook)) == {"Stand", "Haus"}
    workbook.undo()
    assert workbook.look is None
    work.look(workbook.folder, silent)
    assert set(kinds(workbook)) == {"Geburtsdatum", "Wert"}
    assert workbook.can_redo


def test_what_cannot_be_read_changes_nothing(workbook: Project) -> None:
    work.look(workbook.folder, silent, written={"sheet": "Fälle"})
    before = workbook.settings, workbook.look
    with pytest.raises(InputError):
        work.look(workbook.folder, silent, written={"sheet": "Nirgends"})
    assert (workbook.settings, workbook.look) == before


def test_a_table_that_changed_makes_every_result_old(tmp_path: Path) -> None:
    project = ready(tmp_path / "p")
    work.check(project.folder, silent)
    work.values(project.folder, silent, column="sex")
    names = [f"check-{project.fingerprint}", work.preview_name(project), work.values_name(project, "sex")]
    assert None not in [project.result(name) for name in names]
    project.table.write_text(project.table.read_text() + "New,10115,33,other,130,flu\n")
    again = [f"check-{project.fingerprint}", work.preview_name(project), work.values_name(project, "sex")]
    assert [project.result(name) for name in again] == [None, None, None]
    assert project.look is None


def test_a_new_column_is_left_out_until_it_has_a_role(tmp_path: Path) -> None:
    project = ready(tmp_path / "p")
    pl.read_csv(project.table).with_columns(ward=pl.lit("A")).write_csv(project.table)
    work.look(project.folder, silent)
    assert project.left_to_do == []
    work.check(project.folder, silent)


def test_a_failure_is_not_told_of_settings_that_changed(running: Running) -> None:
    browser = Browser(running)
    browser.post(f"/p/{KEY}/inside/class", candidate="2", **{"class": "999999"})
    failure = wait_for(running, KEY)
    assert failure["state"] == "failed"
    assert 'role="alert"' in browser.page(f"/p/{KEY}/quasi")
    browser.post(f"/p/{KEY}/quasi/k", k="4")
    assert 'role="alert"' not in browser.page(f"/p/{KEY}/quasi")


def test_the_table_is_read_again_where_it_changed(running: Running) -> None:
    browser, table = Browser(running), Project(running.home / ".tclose" / "studio" / KEY).table
    table.write_text(table.read_text() + "New,10115,33,other,130,flu\n")
    assert browser.ask("GET", f"/p/{KEY}/columns").headers["location"] == f"/p/{KEY}/open"
    assert browser.ask("GET", f"/p/{KEY}/open").status == 200
    assert wait_for(running, KEY)["state"] == "done"
    assert "121 rows" in browser.page(f"/p/{KEY}/open")
    table.unlink()
    assert "121 rows" in browser.page(f"/p/{KEY}/open")
    browser.post(f"/p/{KEY}/risk/judge")
    assert "there is no file" in wait_for(running, KEY)["error"].lower()


def test_two_tabs_change_the_columns_that_they_show(running: Running) -> None:
    browser, project = Browser(running), Project(running.home / ".tclose" / "studio" / KEY)
    pages = {name: browser.page(f"/p/{KEY}/{name}") for name in ("sensitive", "columns")}
    marks = {
        name: re.findall(r'name="place" value="(\d)"><input type="hidden" name="column" value="(\w+)"', text)
        for name, text in pages.items()
    }
    assert [len(found) for found in marks.values()] == [2, 6]
    place, mark = marks["columns"][4]
    browser.post(f"/p/{KEY}/columns/role", place=place, column=mark, role="drop")  # in another tab
    assert list(project.settings["sensitive"]) == ["diagnosis"]
    for place, mark in marks["sensitive"]:
        browser.post(f"/p/{KEY}/sensitive/column", place=place, column=mark, t="0.31" if place == "1" else "0.01")
    assert project.settings["sensitive"]["diagnosis"]["t"] == 0.31


def test_warnings_of_a_job_are_shown(running: Running) -> None:
    """The table's names repeat, and no person is chosen: k counts rows, which a steward must know."""
    browser = Browser(running)
    browser.post(f"/p/{KEY}/risk/judge")
    assert wait_for(running, KEY)["state"] == "done"
    assert "Identifier &#39;name&#39; repeats" in browser.page(f"/p/{KEY}/risk")
    browser.post(f"/p/{KEY}/quasi/k", k="4")
    assert "repeats" not in browser.page(f"/p/{KEY}/quasi")


def test_the_published_command_outlives_its_candidate(finished_home: Path) -> None:
    project = Project(finished_home / ".tclose" / "studio" / KEY)
    words = shlex.split(releases(project)[0]["command"])
    policy, record = (
        finished_home.joinpath(*Path(words[words.index(name) + 1]).parts[-7:]) for name in ("--policy", "--replay")
    )  # the project was copied after it was published
    shutil.rmtree(project.candidate(2))
    assert project.new_candidate().name == "0003"
    steps.anonymize(
        project.table,
        Policy.load(policy),
        out=project.folder / "again.csv",
        replay=record,
    )
    again, release = project.folder / "again.csv", project.folder / "releases" / "1" / "release.csv"
    assert again.read_bytes() == release.read_bytes()


def test_a_candidate_of_another_table_is_neither_attacked_nor_published(finished_home: Path) -> None:
    project = Project(finished_home / ".tclose" / "studio" / KEY)
    project.table.write_text(project.table.read_text() + "New,10115,33,other,130,flu\n")
    asked = {"format": "xlsx"}
    before = sorted((project.folder / "releases").rglob("*"))
    with pytest.raises(InputError, match="has changed since this candidate"):
        work.attack(project.folder, silent, number=2)
    with pytest.raises(InputError, match="has changed since this candidate"):
        publish(project.folder, silent, number=2, asked=asked)
    assert sorted((project.folder / "releases").rglob("*")) == before


def test_nobody_guesses_a_seed_that_the_studio_chose(finished_home: Path) -> None:
    """A release in another format is made from the candidate's seed, which was drawn and never shown."""
    project = Project(finished_home / ".tclose" / "studio" / KEY)
    asked = {"format": "parquet", "columns": "yes"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        publish(project.folder, silent, number=2, asked=asked)
    published, _ = releases(project)
    assert (published["files"], published["verification"]["holds"]) == (["certificate.json", "release.parquet"], True)
    assert not [str(warning.message) for warning in caught if "seed" in str(warning.message)]


def test_a_full_disk_is_one_sentence_and_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ready(tmp_path / "p")
    before = sorted(project.folder.rglob("*"))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    answers = StringIO()
    Worker(answers)._do({"job": 1, "kind": "look", "folder": str(project.folder), "given": {}})
    assert json.loads(answers.getvalue().splitlines()[-1])["error"]["text"] == (
        "a file of the studio cannot be read or written: No space left on device"
    )
    assert sorted(project.folder.rglob("*")) == before


def test_rows_of_one_person_do_not_hide_that_the_person_is_alone(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", name="t.csv", table="t.csv")
    project.table.write_text("pid,age,ill\n" + "".join(f"{n // 3},{40 + n // 3},{'ab'[n % 2]}\n" for n in range(12)))
    project.change({"identifiers": ["pid"], "k": 2, "quasi": {"age": {}}, "sensitive": {"ill": {"t": 0.5}}})
    work.preview(project.folder, silent)
    assert project.result(work.preview_name(project))["levels"][0]["alone"] == 0
    project.change({**project.settings, "person": "pid"})
    work.preview(project.folder, silent)
    found = project.result(work.preview_name(project))["levels"][0]
    assert (found["alone"], found["few"], found["rows"]) == (12, 12, 12)
