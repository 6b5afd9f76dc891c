"""Attack: what remains exposed in a candidate, line by line, each with the setting that lowers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.errors import InputError
from tclose.studio import cures
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, whole_of
from tclose.studio.screens.candidates import chosen, kept


def show(request: Request, project: Project) -> Response:
    """Show what attacks found."""
    if project.result("look") is None:
        return back(request, "open")
    candidate = chosen(request, project)
    found = None if candidate is None else kept(project.candidate(candidate["number"]), "attack")
    attacks = [] if found is None else sorted(found["attacks"], key=_least_learnt)
    settings, exposed = project.settings, [] if candidate is None else candidate["exposed"]
    shown: dict[str, Any] = {
        "exposed": [(each, cures.of_exposure(each, settings)) for each in exposed],
        "attacks": [(each, cures.of_attack(each, settings)) for each in attacks],
    }
    return project_page(request, project, "attack", candidate=candidate, found=found, **shown)


def _least_learnt(attack: Mapping[str, Any]) -> tuple[bool, int]:
    """Return what attacks are sorted by: those that were not made come last."""
    return attack["release"]["figure"] is None, -attack["release"]["rows"]


def attack(request: Request, project: Project, form: FormData) -> Response:
    """Attack a candidate."""
    number = whole_of(form, "candidate")
    if number is None:
        raise InputError("there is no such candidate")
    start(request, project, "attack", number=number)
    return back(request, "attack")


SCREEN = Screen("attack", show, {"run": attack})
