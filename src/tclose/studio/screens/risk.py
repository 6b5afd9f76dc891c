"""Risk today: the raw table judged, and why its worst classes reveal so much."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.errors import InputError
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, text_of, whole_of


def show(request: Request, project: Project) -> Response:
    """Show the verdict on the table under the current policy, and what explains it."""
    if project.look is None:
        return back(request, "open")
    result = project.result(f"check-{project.fingerprint}")
    explained = project.result(f"explain-{project.fingerprint}")
    return project_page(request, project, "risk", result=result, explained=explained)


def judge(request: Request, project: Project, form: FormData) -> Response:
    """Judge the raw table."""
    start(request, project, "check")
    return back(request, "risk")


def explain(request: Request, project: Project, form: FormData) -> Response:
    """Explain the distance of one class."""
    number = whole_of(form, "number")
    if number is None:
        raise InputError("there is no such class")
    start(request, project, "explain", attribute=text_of(form, "attribute"), class_number=number)
    return back(request, "risk", anchor="why")


SCREEN = Screen("risk", show, {"judge": judge, "explain": explain})
