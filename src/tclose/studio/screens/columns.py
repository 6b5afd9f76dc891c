"""Columns: what each one holds, the role that is proposed and why; a role changes with one click or key."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, text_of, whole_of
from tclose.studio.settings import ROLES, place_of, role_of, with_person, with_role


def show(request: Request, project: Project) -> Response:
    """Show every column with its role."""
    look, settings = project.look, project.settings
    if look is None:
        return back(request, "open")
    roles = {column["name"]: role_of(settings, column["name"]) for column in look["columns"]}
    return project_page(request, project, "columns", roles=roles, all_roles=ROLES)


def set_role(request: Request, project: Project, form: FormData) -> Response:
    """Give a column another role."""
    columns = (project.look or {"columns": []})["columns"]
    names = [column["name"] for column in columns]
    place = place_of(names, whole_of(form, "place"), text_of(form, "column"))
    column, role = columns[place], text_of(form, "role")
    proposed = column["settings"] if column["role"] == role else {}
    with project.lock:
        project.change(with_role(project.settings, column["name"], role, proposed))
    return back(request, "columns", anchor=f"column-{place}")


def set_person(request: Request, project: Project, form: FormData) -> Response:
    """Say which identifier tells persons apart."""
    with project.lock:
        project.change(with_person(project.settings, text_of(form, "person") or None))
    return back(request, "columns")


SCREEN = Screen("columns", show, {"role": set_role, "person": set_person})
