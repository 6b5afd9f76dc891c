"""What the studio keeps of projects and jobs: no number is given twice, nothing old is shown as new, and no secret."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

from tclose.studio.jobs import MOST_JOBS, Job, Process
from tclose.studio.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.create(tmp_path / "p", name="p", table="t.csv")
    (made.folder / "source" / "t.csv").write_text("age,ill\n30,flu\n")
    return made


def test_the_number_of_a_deleted_candidate_is_not_given_again(project: Project) -> None:
    first, second = project.new_candidate(), project.new_candidate()
    shutil.rmtree(second)
    assert [folder.name for folder in (first, second, project.new_candidate())] == ["0001", "0002", "0003"]


def test_a_look_is_forgotten_when_the_table_or_how_it_is_read_changes(project: Project) -> None:
    project.keep("look", {"source": {}, "table_state": project.table_state})
    assert project.look is not None
    project.change({"k": 2, "source": {"decimal": ","}})
    assert project.look is None
    project.undo()
    project.change({"k": 2})
    assert project.look is not None
    project.table.write_text("age,ill\n30,cold\n")
    assert project.look is None


def test_warnings_and_failures_are_about_the_settings_of_their_job() -> None:
    done, failed = (Job(1, "check", state=state, fingerprint="now") for state in ("done", "failed"))
    assert (done.warns_of("now"), done.warns_of("later"), failed.warns_of("now")) == (True, False, False)
    assert (failed.failed_for("now"), failed.failed_for("later"), done.failed_for("now")) == (True, False, False)


class Worker:
    """Stands for the process that works."""

    def __init__(self) -> None:
        self.stdin, self.killed = io.StringIO(), False

    def poll(self) -> int | None:
        return None

    def kill(self) -> None:
        self.killed = True


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    """A process whose worker does nothing."""
    made = Process(tmp_path)
    monkeypatch.setattr("tclose.studio.jobs.subprocess.Popen", lambda *_, **__: Worker())
    monkeypatch.setattr(made, "_listen", lambda _: None)
    return made


def test_a_job_keeps_no_passphrase(process: Process) -> None:
    given: dict[str, Any] = {"signer": "steward", "passphrase": "S3CR3T"}
    job = process.start(1, "publish", given)
    assert job.given == {"signer": "steward"}
    assert "S3CR3T" in process._process.stdin.getvalue()  # type: ignore[union-attr]
    assert "S3CR3T" not in f"{job!r}{job.to_dict()}"


def test_a_worn_process_is_replaced_once_nothing_runs(process: Process) -> None:
    job = process.start(1, "publish", {})
    first, process._begun = process._process, MOST_JOBS
    assert process._ready() is first
    job.state = "done"
    assert process._ready() is not first
    assert first.killed  # type: ignore[union-attr]
