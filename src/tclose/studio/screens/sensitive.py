"""Sensitive attributes: how far a class may be from the table, and how values are compared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tclose import steps
from tclose.errors import InputError, TcloseError
from tclose.studio.pages import back, page, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, count_of
from tclose.studio.screens.settings_form import bins_text, set_column
from tclose.studio.settings import BINS, read

MODELS = ("n", "entropy_l", "alpha", "beta", "enhanced_beta", "delta", "kl", "average_t")  # besides t and l
ALLOWED = frozenset({*MODELS, "t", "l", "distance", "bins", "publish", "missing"})
LIVE = ("t", "distance", "bins")  # what the drawing follows before it is saved


def show(request: Request, project: Project) -> Response:
    """Show every sensitive attribute with its settings."""
    look = project.look
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [
        (name, columns.get(name), own, _worst(project, columns.get(name), own), _said(project, columns.get(name), own))
        for name, own in project.settings.get("sensitive", {}).items()
    ]
    return project_page(request, project, "sensitive", shown=shown, models=MODELS, bins=BINS)


def worst(request: Request, project: Project) -> Response:
    """Show the worst class that the settings of a form, not saved yet, would allow."""
    given, columns = request.query_params, project.settings.get("sensitive", {})
    place, look = count_of(given.get("place", "")), project.look
    if look is None or place is None or place >= len(columns):
        raise InputError("there is no such column")
    name, own = list(columns.items())[place]
    column = next((each for each in look["columns"] if each["name"] == name), None)
    try:
        texts = {**given, "bins": bins_text(given.get("bins_kind", ""), given.get("bins_of", ""))}
        asked = {key: read(key, texts[key]) for key in LIVE if key in texts}
    except TcloseError:  # a number that is not finished yet
        asked = {"t": None}
    drawn, said = _worst(project, column, {**own, **asked}), _said(project, column, {**own, **asked})
    return page(request, "worst.html", worst=drawn, said=said, level=asked.get("t", own.get("t")))


def _worst(project: Project, column: Mapping[str, Any] | None, own: Mapping[str, Any]) -> steps.WorstClass | None:
    """Return the worst class that a column's settings allow; none where there is no t or nothing to draw."""
    t = own.get("t")
    if column is None or not isinstance(t, int | float) or not 0 <= t <= 1:
        return None
    file, bins = own.get("hierarchy"), own.get("bins")
    usual = "hierarchical" if file else "ordered" if bins or column["kind"] in ("number", "date") else "equal"
    distance = own.get("distance") or usual
    try:
        if distance == "ordered" and bins:
            distance = "quantiles" if "quantiles" in bins else "value"
        hierarchy = project.folder / file if isinstance(file, str) else None
        return steps.worst_allowed(column["bars"], distance, t, hierarchy=hierarchy)
    except TcloseError:
        return None


def _said(project: Project, column: Mapping[str, Any] | None, own: Mapping[str, Any]) -> steps.Allowance | None:
    """Return what a column's t allows, from the counts of its values; none where these are not known."""
    settings = project.settings
    read_alike = set(settings.get("missing", [])) == set((project.look or {}).get("missing", []))
    if column is None or not column.get("counted") or own.get("t") is None or not read_alike:
        return None
    return steps.allowed_by(column, own, settings.get("k", 1), project.folder)


SCREEN = Screen("sensitive", show, {"column": partial(set_column, "sensitive", ALLOWED)}, {"worst": worst})
