"""Quasi-identifiers: how each is coarsened, how much it matters, and how small a class may be."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen
from tclose.studio.screens.settings_form import set_column, set_k

ALLOWED = frozenset({"step", "top", "bottom", "weight", "hierarchy"})


def show(request: Request, project: Project) -> Response:
    """Show every quasi-identifier with its settings."""
    look = project.result("look")
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [(name, columns.get(name), own) for name, own in project.settings.get("quasi", {}).items()]
    return project_page(request, project, "quasi", shown=shown)


SCREEN = Screen("quasi", show, {"column": partial(set_column, "quasi", ALLOWED), "k": set_k})
