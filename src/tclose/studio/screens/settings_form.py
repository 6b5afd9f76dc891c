"""One setting of one column, as the forms of two screens send it."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.pages import back
from tclose.studio.project import Project
from tclose.studio.screens.base import text_of, whole_of
from tclose.studio.settings import place_of, with_k, with_setting


def column_at(project: Project, role: str, form: FormData) -> str:
    """Return the column that a form means by its place among those of its role."""
    columns = [str(name) for name in project.settings.get(role, {})]
    return columns[place_of(columns, whole_of(form, "place"), text_of(form, "column"))]


def set_column(role: str, allowed: frozenset[str], request: Request, project: Project, form: FormData) -> Response:
    """Take over every setting that a form gives for one column."""
    with project.lock:
        column = column_at(project, role, form)
        settings = project.settings
        for name, text in _given(form).items():
            if name in allowed:
                settings = with_setting(settings, role, column, name, text)
        project.change(settings)
    return back(request, role, anchor=f"column-{text_of(form, 'place')}")


def _given(form: FormData) -> dict[str, str]:
    """Return the texts of a form; a hierarchy comes as its kind and its levels, and bins as their kind and numbers."""
    given = {name: text_of(form, name) for name in form}
    if "hierarchy_kind" in given:
        kind, levels = given["hierarchy_kind"], given.get("hierarchy_levels", "")
        given["hierarchy"] = f"{kind} {levels}" if kind else ""
    if "bins_kind" in given:
        given["bins"] = bins_text(given["bins_kind"], given.get("bins_of", ""))
    return given


def bins_text(kind: str, numbers: str) -> str:
    """Put the two fields of bins together; nothing where no kind is chosen."""
    return f"{kind} {numbers}" if kind else ""


def set_k(request: Request, project: Project, form: FormData) -> Response:
    """Set the smallest class."""
    with project.lock:
        project.change(with_k(project.settings, text_of(form, "k")))
    return back(request, "quasi")
