"""Open a project with a path, a dropped file or a built-in example, and show its first rows; delete a project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tclose import steps
from tclose.errors import InputError
from tclose.policy.source import DATES, source_settings
from tclose.studio import register
from tclose.studio.home import VERIFICATION, keep_upload, named_file, safe_name
from tclose.studio.pages import LANGUAGE, LANGUAGES, QUIET, Screen, back, page, project_page, start, text_of, whole_of
from tclose.studio.project import Project

if TYPE_CHECKING:
    from tclose.studio.server import Studio

# Delete: what goes is named first, release by release, and releases go only if the form says so


KEEP, ALL = "releases", "nothing"  # what a form says that stays


def show_deletion(request: Request) -> Response:
    """Name what would be deleted."""
    project = _project(request, request.path_params["project"])
    table = project.table
    is_copied = project.has_table and not Path(project.about["table"]).is_absolute()
    return page(
        request,
        "delete.html",
        deleting=project,
        releases=register.releases(project),
        copied=table.name if is_copied else None,
        elsewhere=str(table) if project.has_table and not is_copied else None,
        tried=len(project.candidates()),
    )


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


# Open: a path, a dropped file, a built-in example or a recent project; then the first rows of the table


EXAMPLE_ROWS, EXAMPLE_SEED = 2000, 7
SOURCE_KEYS = ("encoding", "separator", "decimal", "thousands", "dates", "sheet")
MARKS = {"tab": "\t", "space": " "}  # which no form can show
CHOICES = {
    "encoding": ("utf-8", "windows-1252", "utf-16"),
    "separator": (",", ";", "tab", "|"),
    "decimal": (".", ","),
    "thousands": (".", ",", "space", "'"),
    "dates": DATES,
}


def show_start(request: Request) -> Response:
    """Show where to begin."""
    studio: Studio = request.app.state.studio
    recent = [(project, len(register.releases(project))) for project in studio.home.recent()]
    return page(request, "start.html", recent=recent)


def show_table(request: Request, project: Project) -> Response:
    """Show the table's first rows; where nobody has looked at it yet, look."""
    process = request.app.state.studio.jobs.of(project.folder)
    job = process.current
    waits = job is not None and job.running and job.kind not in QUIET  # a release that is being made goes on
    tried = job is not None and job.kind == "look" and job.failed_for(project.fingerprint)
    if project.look is None and not tried and not waits:
        start(request, project, "look")
    said = {**project.settings.get("source", {})}
    names = {mark: name for name, mark in MARKS.items()}
    said |= {name: names.get(said[name], said[name]) for name in ("separator", "thousands") if name in said}
    choices = {**CHOICES, "sheet": tuple(project.result("sheets") or ())}
    return project_page(request, project, "open", said=said, choices=choices)


def open_path(studio: Studio, path: str) -> Project:
    """Begin a project with a file of this machine."""
    found = named_file(path)
    if found is None:
        raise InputError("there is no such file on this machine")
    return studio.home.new(found.name, str(found.resolve()))


def by_path(request: Request, form: FormData) -> Response:
    """Open a file by its path."""
    project = open_path(request.app.state.studio, text_of(form, "path"))
    return RedirectResponse(f"/p/{project.key}/open", 303)


def upload(request: Request, form: FormData) -> Response:
    """Open a file that was dropped or chosen: the project keeps a copy."""
    given = form.get("table")
    if not isinstance(given, UploadFile) or not given.filename:
        raise InputError("choose a file first")
    studio: Studio = request.app.state.studio
    name = safe_name(given.filename, "table")
    project = studio.home.new(name, name)
    try:
        keep_upload(given, project.folder / "source" / name)
    except OSError:
        studio.home.forget(project)
        raise
    return RedirectResponse(f"/p/{project.key}/open", 303)


def example(request: Request, form: FormData) -> Response:
    """Open the invented hospital table."""
    project = request.app.state.studio.home.new("hospital.csv", "hospital.csv")
    steps.write_example(project.folder / "source", rows=EXAMPLE_ROWS, seed=EXAMPLE_SEED)
    return RedirectResponse(f"/p/{project.key}/open", 303)


def language(request: Request, form: FormData) -> Response:
    """Choose the language of the studio."""
    chosen, to = text_of(form, "language"), text_of(form, "path")
    answer = RedirectResponse(to if to.startswith("/") and not to.startswith("//") else "/", 303)
    if chosen in LANGUAGES:
        answer.set_cookie(LANGUAGE, chosen, httponly=True, samesite="strict")
    return answer


def look_again(request: Request, project: Project, form: FormData) -> Response:
    """Read the table again."""
    start(request, project, "look")
    return back(request, "open")


def set_source(request: Request, project: Project, form: FormData) -> Response:
    """Say how the file is written, and read it so; what is not said is detected."""
    said = {name: text_of(form, name) for name in SOURCE_KEYS if text_of(form, name)}
    marks = {"separator": MARKS, "thousands": MARKS}
    source = {name: marks.get(name, {}).get(value, value) for name, value in said.items()}
    source_settings(source, "source")  # a mistake is said at once
    start(request, project, "look", written=source)
    return back(request, "open")


START_ACTIONS: dict[str, Any] = {"/open": by_path, "/example": example, "/delete": delete, "/language": language}
OPEN = Screen("open", show_table, {"again": look_again, "source": set_source})
