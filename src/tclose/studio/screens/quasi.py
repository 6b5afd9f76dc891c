"""Quasi-identifiers: how each is coarsened, how much it matters, and how small a class may be."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.pages import back, page, project_page
from tclose.studio.previews import preview_name
from tclose.studio.project import Project
from tclose.studio.screens import tree
from tclose.studio.screens.base import Action, Screen, start
from tclose.studio.screens.settings_form import set_column, set_k

ALLOWED = frozenset({"step", "top", "bottom", "weight", "hierarchy"})
RULES = ("prefix", "width", "date")


def show(request: Request, project: Project) -> Response:
    """Show every quasi-identifier with its settings."""
    look = project.look
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [(name, columns.get(name), own) for name, own in project.settings.get("quasi", {}).items()]
    return project_page(request, project, "quasi", shown=shown, rules=RULES)


def preview(request: Request, project: Project) -> Response:
    """Show how many combinations there would be at each level; where nobody has counted, count."""
    found = project.result(preview_name(project))
    if found is None and not request.app.state.studio.jobs.of(project.folder).busy:
        start(request, project, "preview")
    return page(request, "preview.html", project=project, found=found, k=max(project.settings.get("k", 2), 2))


ACTIONS: dict[str, Action] = {"column": partial(set_column, "quasi", ALLOWED), "k": set_k}
SCREEN = Screen(
    "quasi", show, {**ACTIONS, **tree.ACTIONS}, {"preview": preview, "tree": tree.show, "export": tree.export}
)
