"""The screens about candidates: try methods, look at a candidate before and after, and attack it.

A screen is about the candidate that is asked for, or the newest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose import steps
from tclose.errors import InputError
from tclose.studio.pages import Screen, back, project_page, start, text_of, whole_of
from tclose.studio.project import Project, read_json

# Which candidate a screen is about


def chosen_candidate(request: Request, project: Project) -> dict[str, Any] | None:
    """Return a candidate; None where there is none yet."""
    candidates = project.candidates()
    asked = request.query_params.get("candidate", "")
    return next((each for each in candidates if str(each["number"]) == asked), candidates[0] if candidates else None)


def kept_result(place: Path, name: str) -> Any:
    """Return what was found about a candidate; None where nobody has looked."""
    try:
        return read_json(place / f"{name}.json")
    except (OSError, ValueError):
        return None


# Coordinates of the studio's own drawings; templates write them into SVG, and style sheets colour it


WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 40  # margins
TICKS = 4


@dataclass(frozen=True)
class Point:
    """A place on the drawing, and the figure that it stands for."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class DrawnLine:
    """One line of a chart, with a mark at each figure."""

    name: str
    style: str  # its class in the style sheet
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The line, as SVG wants it."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True)
class Chart:
    """Lines over a common scale."""

    lines: tuple[DrawnLine, ...]
    across: tuple[Point, ...]
    up: tuple[Point, ...]
    width: int = WIDTH
    height: int = HEIGHT


def curve_chart(
    levels: Sequence[float], losses: Mapping[str, Sequence[float | None]], least: Sequence[float | None]
) -> Chart:
    """Draw the loss of each method at every level, and the lower bound beneath."""
    figures = [figure for line in (*losses.values(), least) for figure in line if figure is not None]
    most, first, last = max(figures, default=1.0) or 1.0, min(levels), max(levels)

    def x(level: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((level - first) / (last - first) if last > first else 0.5)

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / most

    def line(name: str, style: str, figures: Sequence[float | None]) -> DrawnLine:
        known = [(level, figure) for level, figure in zip(levels, figures, strict=False) if figure is not None]
        return DrawnLine(name, style, tuple(Point(x(at), y(loss), f"{loss:.4f}") for at, loss in known))

    lines = [line(name, f"line-{place % 6}", figures) for place, (name, figures) in enumerate(losses.items())]
    bound = [line("", "line-bound", least)] if least else []
    across = tuple(Point(x(level), HEIGHT - BOTTOM, f"{level:g}") for level in levels)
    up = tuple(Point(LEFT, y(most * tick / TICKS), f"{most * tick / TICKS:.2f}") for tick in range(TICKS + 1))
    return Chart((*bound, *lines), across, up)


# Try: releases are made in the background and kept as candidates, side by side


EFFORTS = ("fast", "balanced", "best")


def show_try(request: Request, project: Project) -> Response:
    """Show what can be tried, and what was."""
    if project.result("look") is None:
        return back(request, "open")
    found = project.result(f"curve-{project.fingerprint}")
    return project_page(
        request,
        project,
        "try",
        candidates=project.candidates(),
        fingerprint=project.fingerprint,
        methods=list(steps.methods()),
        efforts=EFFORTS,
        default=steps.DEFAULT_METHOD,
        found=found,
        chart=None if found is None else _chart(found),
        others=_others(),
    )


def _others() -> list[str]:
    """Return the methods whose loss can be drawn beside that of the default method."""
    return [name for name, about in steps.methods().items() if about.tables == "one" and name != steps.DEFAULT_METHOD]


def _chart(found: dict[str, Any]) -> Chart | None:
    """Draw a curve; none where no method gave a release."""
    return curve_chart(found["levels"], found["losses"], found["least"]) if found["levels"] else None


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


TRY = Screen("try", show_try, {"run": attempt, "remove": remove, "curve": curve})


# Look: a candidate before and after, by column and by class; a class shows its rows and its distributions


ORDERS = ("loss", "rows", "t")  # of the list of classes, the worst first


def show_inside(request: Request, project: Project) -> Response:
    """Show the classes of a candidate, and one of them closely."""
    if project.result("look") is None:
        return back(request, "open")
    candidate = chosen_candidate(request, project)
    if candidate is None:
        return project_page(request, project, "inside", candidate=None)
    place = project.candidate(candidate["number"])
    found, listed = kept_result(place, "inside"), kept_result(place, "classes")
    if found is None or listed is None:
        return project_page(request, project, "inside", candidate=candidate, found=None)
    orders, asked = [name for name in ORDERS if name in listed["orders"]], request.query_params.get("order", "")
    order = asked if asked in orders else orders[0]
    classes, numbers = {each["number"]: each for each in listed["classes"]}, listed["orders"][order]
    return project_page(
        request,
        project,
        "inside",
        candidate=candidate,
        found=found,
        changes=kept_result(place, "before-after"),
        classes=[classes[number] for number in numbers],
        orders=orders,
        order=order,
        more=listed["total"] - len(numbers),
    )


def look_into(request: Request, project: Project, form: FormData) -> Response:
    """Look into a candidate, at one of its classes."""
    number, class_number = whole_of(form, "candidate"), whole_of(form, "class") if "class" in form else 1
    if number is None or class_number is None:
        raise InputError("there is no such class")
    start(request, project, "inside", number=number, class_number=class_number)
    order = text_of(form, "order")
    return back(request, "inside", anchor="class", candidate=str(number), order=order if order in ORDERS else "")


INSIDE = Screen("inside", show_inside, {"class": look_into})


# Where the setting is that cures a finding: the field of a column, or the size of classes


FIELD_OF_KIND = {"same_value": "t", "rare_value": "bins"}  # of "known_value" and others: the column's role
FIELD_OF_CURE = (("l = ", "l"), ("bins", "bins"), ("smaller t", "t"))  # the first that a cure begins with or names
MOST_LINKS = 6
QUOTED = re.compile(r"'([^']+)'")


class CureLink(NamedTuple):
    """A link to a setting: the screen, the field on it, and the column that it belongs to, if any."""

    screen: str
    anchor: str
    column: str


def links_of_exposure(found: Mapping[str, Any], settings: Mapping[str, Any]) -> list[CureLink]:
    """Return where to cure rows that remain exposed; nothing where no setting is known to help."""
    if not found.get("cures", True):
        return []
    return _links_to_fields(list(found["attributes"]), FIELD_OF_KIND.get(found["kind"], "column"), settings)


def links_of_attack(found: Mapping[str, Any], settings: Mapping[str, Any]) -> list[CureLink]:
    """Return where to cure what an attack found; nothing where no setting of these screens does."""
    if not found["release"]["rows"]:
        return []
    if "larger k" in found["cure"].partition(",")[0]:
        return [CureLink("quasi", "k", "")]
    field = next((field for words, field in FIELD_OF_CURE if words in found["cure"]), None)
    if field is None:
        return []
    named = [each["attribute"] for each in found["classes"]] or QUOTED.findall(found["release"]["sentence"])
    return _links_to_fields(list(dict.fromkeys(named)), field, settings)


def _links_to_fields(columns: list[str], field: str, settings: Mapping[str, Any]) -> list[CureLink]:
    places = {name: place for place, name in enumerate(settings.get("sensitive", {}))}
    return [CureLink("sensitive", f"{field}-{places[name]}", name) for name in columns if name in places][:MOST_LINKS]


# Attack: what remains exposed in a candidate, line by line, each with the setting that lowers it


def show_attack(request: Request, project: Project) -> Response:
    """Show what attacks found."""
    if project.result("look") is None:
        return back(request, "open")
    candidate = chosen_candidate(request, project)
    found = None if candidate is None else kept_result(project.candidate(candidate["number"]), "attack")
    attacks = [] if found is None else sorted(found["attacks"], key=_least_learnt)
    settings, exposed = project.settings, [] if candidate is None else candidate["exposed"]
    return project_page(
        request,
        project,
        "attack",
        candidate=candidate,
        found=found,
        exposed=[(each, links_of_exposure(each, settings)) for each in exposed],
        attacks=[(each, links_of_attack(each, settings)) for each in attacks],
    )


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


ATTACK = Screen("attack", show_attack, {"run": attack})
