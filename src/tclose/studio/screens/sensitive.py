"""Sensitive attributes: how far a class may be from the table, and how values are compared."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen
from tclose.studio.screens.settings_form import set_column

MODELS = ("t", "n", "l", "entropy_l", "alpha", "beta", "delta", "kl")
ALLOWED = frozenset({*MODELS, "distance", "bins", "publish", "missing"})


def show(request: Request, project: Project) -> Response:
    """Show every sensitive attribute with its settings."""
    look = project.result("look")
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [(name, columns.get(name), own) for name, own in project.settings.get("sensitive", {}).items()]
    return project_page(request, project, "sensitive", shown=shown)


SCREEN = Screen("sensitive", show, {"column": partial(set_column, "sensitive", ALLOWED)})
