"""What a kill between two writes leaves behind is put in order when the project is opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tclose import InputError
from tclose.policy.toml import as_toml
from tclose.studio.home import Home
from tclose.studio.project import Project, held
from tclose.studio.register import recover

STATES: list[dict[str, Any]] = [{"k": k, "quasi": {"age": {}}} for k in (2, 3, 4)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.create(tmp_path / "p", name="t.csv", table="t.csv")
    for state in STATES:
        made.change(state)
    return made


@pytest.mark.parametrize("by", [-1, 1])
def test_a_move_that_was_cut_off_is_finished(project: Project, by: int) -> None:
    project.undo()
    (project.folder / "policy.toml").write_text(as_toml(STATES[1 + by]))  # killed before the position was written
    recover(project)
    assert project.settings == STATES[1 + by]
    assert project.position == 2 + by
    assert (project.can_undo, project.can_redo) == ((False, True) if by < 0 else (True, False))


def test_a_policy_that_was_changed_by_hand_is_a_change(project: Project) -> None:
    (project.folder / "policy.toml").write_text("k = 9\n")
    recover(project)
    assert project.settings == {"k": 9}
    assert project.undo()
    assert project.settings == STATES[2]


def test_a_policy_that_is_missing_comes_from_the_history(project: Project) -> None:
    (project.folder / "policy.toml").unlink()
    recover(project)
    assert project.settings == STATES[2]


def test_a_policy_that_cannot_be_read_is_one_sentence(project: Project) -> None:
    (project.folder / "policy.toml").write_text("k = = 9\n")
    with pytest.raises(InputError, match="is no policy file"):
        recover(project)


def test_what_was_complete_stays(project: Project) -> None:
    before = {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}
    recover(project)
    assert {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()} == before


def test_candidates_that_nobody_makes_are_removed(project: Project) -> None:
    left, made = project.new_candidate(), project.new_candidate()
    with held(made) as mine:
        assert mine
        recover(project)
        assert not left.exists()
        assert made.exists()
    recover(project)
    assert not made.exists()


def test_a_folder_with_other_files_becomes_no_project(tmp_path: Path) -> None:
    """Deleting the project would delete them."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "t.csv").write_text("a\n1\n")
    home = Home(tmp_path / "home")
    with pytest.raises(InputError, match="exists and is no project"):
        home.at(tmp_path / "mine", table=tmp_path / "t.csv")
    with pytest.raises(InputError, match="small letters"):
        home.at(tmp_path / "Not This", table=tmp_path / "t.csv")
    assert not (tmp_path / "Not This").exists()
