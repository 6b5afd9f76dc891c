"""Try: releases are made in the background and kept as candidates, side by side."""

from __future__ import annotations

import shutil
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose import steps
from tclose.errors import InputError
from tclose.studio import drawing
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, text_of, whole_of

EFFORTS = ("fast", "balanced", "best")


def show(request: Request, project: Project) -> Response:
    """Show what can be tried, and what was."""
    if project.result("look") is None:
        return back(request, "open")
    shown: dict[str, Any] = {"methods": list(steps.methods()), "efforts": EFFORTS, "default": steps.DEFAULT_METHOD}
    found = project.result(f"curve-{project.fingerprint}")
    shown |= {"found": found, "chart": None if found is None else _chart(found), "others": _others()}
    candidates = project.candidates()
    return project_page(request, project, "try", candidates=candidates, fingerprint=project.fingerprint, **shown)


def _others() -> list[str]:
    """Return the methods whose loss can be drawn beside that of the default method."""
    return [name for name, about in steps.methods().items() if about.tables == "one" and name != steps.DEFAULT_METHOD]


def _chart(found: dict[str, Any]) -> drawing.Chart | None:
    """Draw a curve; none where no method gave a release."""
    return drawing.curve(found["levels"], found["losses"], found["least"]) if found["levels"] else None


def curve(request: Request, project: Project, form: FormData) -> Response:
    """Measure what protection costs."""
    chosen = [str(name) for name in form.getlist("methods")]
    if not set(chosen) <= set(_others()):
        raise InputError("there is no such method")
    project.policy  # noqa: B018 - what is left to choose is said before the work
    start(request, project, "curve", methods=chosen)
    return back(request, "try", anchor="curve")


def attempt(request: Request, project: Project, form: FormData) -> Response:
    """Make a release with the chosen method."""
    method, effort = text_of(form, "method"), text_of(form, "effort")
    if method not in steps.methods() or effort not in EFFORTS:
        raise InputError("choose a method and an effort")
    project.policy  # noqa: B018 - what is left to choose is said before the work
    start(request, project, "try", method=method, effort=effort if method == steps.DEFAULT_METHOD else None)
    return back(request, "try")


def remove(request: Request, project: Project, form: FormData) -> Response:
    """Delete a candidate."""
    number = whole_of(form, "number")
    if number is None:
        raise InputError("there is no such candidate")
    shutil.rmtree(project.candidate(number))
    return back(request, "try")


SCREEN = Screen("try", show, {"run": attempt, "remove": remove, "curve": curve})
