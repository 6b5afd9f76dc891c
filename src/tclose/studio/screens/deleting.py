"""Delete a project: what goes is named first, release by release, and releases go only if somebody says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tclose.errors import InputError
from tclose.studio import register
from tclose.studio.home import VERIFICATION
from tclose.studio.pages import page
from tclose.studio.project import Project
from tclose.studio.screens.base import text_of, whole_of

if TYPE_CHECKING:
    from tclose.studio.server import Studio

KEEP, ALL = "releases", "nothing"  # what a form says that stays


def show(request: Request) -> Response:
    """Name what would be deleted."""
    project = _project(request, request.path_params["project"])
    table = project.table
    shown: dict[str, Any] = {
        "deleting": project,
        "releases": register.releases(project),
        "copied": table.name if project.has_table and not Path(project.about["table"]).is_absolute() else None,
        "elsewhere": str(table) if project.has_table and Path(project.about["table"]).is_absolute() else None,
        "tried": len(project.candidates()),
    }
    return page(request, "delete.html", **shown)


def delete(request: Request, form: FormData) -> Response:
    """Delete a project, or all of it but its releases."""
    studio: Studio = request.app.state.studio
    project, stays = _project(request, text_of(form, "project")), text_of(form, "stays")
    if stays == KEEP:
        _end_work(studio, project, lambda: None)
        studio.home.close(project)
        return RedirectResponse(f"/p/{project.key}/publish", 303)
    named = whole_of(form, "sure") or 0

    def check() -> None:
        """Refuse where there are releases that nobody has said should go, as one that was just published."""
        if len(register.releases(project)) != named:
            raise InputError("nothing was deleted: tick the box that names how many releases go with the project")

    check()
    _end_work(studio, project, check)
    studio.home.forget(project)
    return RedirectResponse("/", 303)


def _end_work(studio: Studio, project: Project, check: Callable[[], None]) -> None:
    """End what this studio does for a project; what another studio publishes is waited for by nobody, so refuse."""
    studio.jobs.forget(project.folder)
    if register.is_publishing(project):
        raise InputError("nothing was deleted: another studio is publishing in this project")
    check()  # the work may have ended by itself just before


def _project(request: Request, key: str) -> Project:
    studio: Studio = request.app.state.studio
    if key == VERIFICATION:
        raise InputError("there is no such project")
    return studio.home.project(key)
