"""Look: a candidate before and after, by column and by class; a class shows its rows and its distributions."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.errors import InputError
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, text_of, whole_of
from tclose.studio.screens.candidates import chosen, kept

ORDERS = ("loss", "rows", "t")  # of the list of classes, the worst first


def show(request: Request, project: Project) -> Response:
    """Show the classes of a candidate, and one of them closely."""
    if project.result("look") is None:
        return back(request, "open")
    candidate = chosen(request, project)
    if candidate is None:
        return project_page(request, project, "inside", candidate=None)
    place = project.candidate(candidate["number"])
    found, listed = kept(place, "inside"), kept(place, "classes")
    if found is None or listed is None:
        return project_page(request, project, "inside", candidate=candidate, found=None)
    shown = {"found": found, "changes": kept(place, "before-after"), **_in_order(request, listed)}
    return project_page(request, project, "inside", candidate=candidate, **shown)


def _in_order(request: Request, listed: dict[str, Any]) -> dict[str, Any]:
    """Return the classes in the order that the page was asked for, or by the first order that there is."""
    orders = {name: listed["orders"][name] for name in ORDERS if name in listed["orders"]}
    order = request.query_params.get("order", "")
    order = order if order in orders else next(iter(orders))
    classes = {each["number"]: each for each in listed["classes"]}
    numbers = orders[order]
    more = listed["total"] - len(numbers)
    return {"classes": [classes[number] for number in numbers], "orders": list(orders), "order": order, "more": more}


def look_into(request: Request, project: Project, form: FormData) -> Response:
    """Look into a candidate, at one of its classes."""
    number, class_number = whole_of(form, "candidate"), whole_of(form, "class") if "class" in form else 1
    if number is None or class_number is None:
        raise InputError("there is no such class")
    start(request, project, "inside", number=number, class_number=class_number)
    order = text_of(form, "order")
    kept_order = {"order": order} if order in ORDERS else {}
    return back(request, "inside", anchor="class", candidate=str(number), **kept_order)


SCREEN = Screen("inside", show, {"class": look_into})
