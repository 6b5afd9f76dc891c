"""Look: a candidate before and after, by column and by class; a class shows its rows and its distributions."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.errors import InputError
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, whole_of
from tclose.studio.screens.candidates import chosen, kept


def show(request: Request, project: Project) -> Response:
    """Show the classes of a candidate, and one of them closely."""
    if project.result("look") is None:
        return back(request, "open")
    candidate = chosen(request, project)
    found = None if candidate is None else kept(project.candidate(candidate["number"]), "inside")
    changes = None if candidate is None else kept(project.candidate(candidate["number"]), "columns")
    bars = {column["name"]: column["bars"] for column in project.result("look")["columns"]}
    shown: dict[str, Any] = {"changes": changes, "bars_of": bars}
    return project_page(request, project, "inside", candidate=candidate, found=found, **shown)


def look_into(request: Request, project: Project, form: FormData) -> Response:
    """Look into a candidate, at one of its classes."""
    number, class_number = whole_of(form, "candidate"), whole_of(form, "class") if "class" in form else 1
    if number is None or class_number is None:
        raise InputError("there is no such class")
    start(request, project, "inside", number=number, class_number=class_number)
    return back(request, "inside", anchor="class")


SCREEN = Screen("inside", show, {"class": look_into})
