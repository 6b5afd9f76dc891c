"""Settings: roles and single settings change, everything is written as a policy file, and can be undone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError, Policy
from tclose.policy.toml import as_toml
from tclose.studio import work
from tclose.studio.project import Project, drafted
from tclose.studio.settings import ROLES, mark, place_of, read, role_of, with_person, with_role, with_setting
from tclose.types import silent

SETTINGS: dict[str, Any] = {
    "identifiers": ["name"],
    "k": 5,
    "quasi": {"age": {}},
    "sensitive": {"pay": {"t": 0.2}},
}
names = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.recursive(
    numbers | names | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        names.filter(lambda name: name not in ("quasi", "sensitive")), numbers | names | st.lists(names), max_size=3
    ),
    st.dictionaries(names, st.dictionaries(names, values, max_size=3), max_size=3),
)
def test_settings_are_read_back_as_they_were_written(plain: dict[str, Any], columns: dict[str, Any]) -> None:
    settings = {**plain, "quasi": columns}
    assert tomllib.loads(as_toml(settings)) == settings


def test_tables_that_are_lists_are_read_back() -> None:
    settings = {
        "k": 2,
        "joint": [{"attributes": ["a", "b"], "t": 0.2}],
        "presence": {"population": "p.csv", "max": 0.5},
    }
    assert tomllib.loads(as_toml(settings)) == settings


@pytest.mark.parametrize("role", ROLES)
def test_a_column_has_one_role(role: str) -> None:
    changed = with_role({**SETTINGS, "person": "name"}, "name", role, {"t": 0.1} if role == "sensitive" else {})
    assert role_of(changed, "name") == role
    assert ("person" in changed) == (role == "identifier")
    assert as_toml(changed).count("name") == (0 if role == "drop" else 1 + (role == "identifier"))


def test_a_role_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="there is no role 'king'"):
        with_role(SETTINGS, "age", "king", {})


def test_only_an_identifier_tells_persons_apart() -> None:
    assert with_person(SETTINGS, "name")["person"] == "name"
    assert "person" not in with_person({**SETTINGS, "person": "name"}, None)
    with pytest.raises(InputError, match="only an identifier"):
        with_person(SETTINGS, "age")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("t", "0,15", 0.15),
        ("t", " 0.2 ", 0.2),
        ("t", "", None),
        ("l", "3", 3),
        ("bins", "quantiles 20", {"quantiles": 20}),
        ("bins", "edges 1; 2,5", {"edges": [1, 2.5]}),
        ("hierarchy", "prefix 5 3 1", {"prefix": [5, 3, 1]}),
        ("hierarchy", "date month year", {"date": ["month", "year"]}),
        ("hierarchy", "file diagnosis.csv", "diagnosis.csv"),
        ("distance", "equal", "equal"),
    ],
)
def test_forms_are_read(name: str, text: str, value: Any) -> None:
    assert read(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"), [("t", "much"), ("l", "2.5"), ("t", "nan"), ("t", "1e999"), ("bins", "odd 3"), ("bins", "width")]
)
def test_forms_that_make_no_sense_are_refused_in_a_sentence(name: str, text: str) -> None:
    with pytest.raises(InputError):
        read(name, text)


def test_a_setting_is_taken_away_where_its_field_is_empty() -> None:
    assert with_setting(SETTINGS, "sensitive", "pay", "t", "")["sensitive"]["pay"] == {}
    assert SETTINGS["sensitive"]["pay"] == {"t": 0.2}  # the settings themselves stay
    with pytest.raises(InputError, match="no such column"):
        with_setting(SETTINGS, "quasi", "pay", "step", "5")


def test_changes_can_be_undone_and_redone(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", name="t.csv", table="t.csv")
    states = [{**SETTINGS, "k": k} for k in (2, 3, 4)]
    for state in states:
        project.change(state)
    project.change(states[-1])  # nothing new
    assert not project.can_redo
    assert project.undo()
    assert project.settings == states[1]
    assert project.undo()
    assert not project.undo()
    assert project.redo()
    assert Project(project.folder).settings == states[1]  # as another process finds it
    project.change({**SETTINGS, "k": 9})
    assert not project.redo()
    assert Policy.load(project.folder / "policy.toml").k == 9


def test_nobody_else_can_read_a_project(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", name="t.csv", table="t.csv")
    project.change(SETTINGS)
    project.keep("look", {"rows": 1})
    for path in (project.folder, *project.folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_what_is_left_to_choose_is_said(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", name="t.csv", table="t.csv")
    column = {"name": "pay", "role": "sensitive", "settings": {}}
    look = {
        "missing": [""],
        "columns": [column, {**column, "name": "age", "role": "quasi"}],
        "person": None,
        "source": {},
    }
    project.change(drafted(look))
    assert [line.partition(":")[0] for line in project.left_to_do] == ["sensitive.pay"]
    project.change(with_setting(project.settings, "sensitive", "pay", "t", "0,2"))
    assert project.left_to_do == []


@pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning")
def test_another_sheet_has_other_columns_and_so_another_draft(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="install it with: pip install 'tclose[excel]'")
    project = Project.create(tmp_path / "p", name="book.xlsx", table="book.xlsx")
    with xlsxwriter.Workbook(project.table) as book:
        for sheet, names in {"visits": ("age", "diagnosis"), "staff": ("town", "salary")}.items():
            page = book.add_worksheet(sheet)
            page.write_row(0, 0, names)
            for row in range(1, 30):
                page.write_row(row, 0, (row % 7, f"v{row % 3}"))
    with pytest.raises(InputError, match="2 sheets"):
        work.look(project.folder, silent)
    assert project.result("sheets") == ["visits", "staff"]
    for sheet, column in (("visits", "age"), ("staff", "town")):
        project.change({**project.settings, "source": {"sheet": sheet}})
        work.look(project.folder, silent)
        assert column in {*project.settings["quasi"], *project.settings["sensitive"]}
        assert project.settings["source"]["sheet"] == sheet
    k = project.settings["k"]
    project.change({**project.settings, "k": k + 1})
    work.look(project.folder, silent)  # the same columns: what was decided stays
    assert project.settings["k"] == k + 1


def test_a_form_changes_the_column_that_it_shows_or_nothing() -> None:
    """Another tab may have given a column before it another role."""
    assert place_of(["ldl", "diagnosis"], 1, mark("diagnosis")) == 1
    assert place_of(["diagnosis"], 1, mark("diagnosis")) == 0
    with pytest.raises(InputError, match="changed in another window"):
        place_of(["diagnosis"], 0, mark("ldl"))
    with pytest.raises(InputError, match="no such column"):
        place_of(["diagnosis"], 1, "")
