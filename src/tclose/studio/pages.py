"""How pages are made: templates, the texts of a language, and what every page of a project shows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tclose.policy.writing import as_toml
from tclose.studio.catalogue import LANGUAGES, Texts
from tclose.studio.settings import mark
from tclose.studio.wording import sentence

if TYPE_CHECKING:
    from tclose.studio.project import Project
    from tclose.studio.server import Studio

LANGUAGE = "tclose-language"  # the cookie
QUIET = {"preview"}  # jobs that a part of a page follows by itself


def environment() -> Environment:
    """Return the templates; every value is escaped."""
    loader = PackageLoader("tclose.studio", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["sentence"] = sentence
    made.filters["mark"] = mark
    return made


def texts_of(request: Request, project: Project | None = None) -> Texts:
    """Return the texts in the language that the user chose, or else the browser asks for; a project has columns."""
    asked = request.cookies.get(LANGUAGE) or request.headers.get("accept-language", "")[:2].lower()
    look = None if project is None else project.result("look")
    return Texts(asked, None if look is None else [column["name"] for column in look["columns"]])


def page(request: Request, template: str, *, status: int = 200, **given: Any) -> HTMLResponse:
    """Make a page."""
    studio: Studio = request.app.state.studio
    texts = texts_of(request, given.get("project"))
    common = {
        "t": texts,
        "languages": LANGUAGES,
        "form_token": studio.keys.form,
        "root": studio.keys.root,
        "alive": studio.keys.alive,
        "screens": studio.screens,
        "project": None,
        "screen": None,
        "message": request.query_params.get("said", "")[:400],
        "path": request.url.path,
    }
    made = studio.templates.get_template(template).render({**common, **given})
    return HTMLResponse(made, status)


def project_page(
    request: Request, project: Project, screen: str, *, template: str | None = None, **given: Any
) -> HTMLResponse:
    """Make a page of a project: what it shows, and what all of them show; its template has the screen's name."""
    studio: Studio = request.app.state.studio
    current = studio.jobs.of(project.folder).current
    job = None if current is None or current.kind in QUIET else current
    shown = {
        "project": project,
        "screen": screen,
        "look": project.look,
        "settings": project.settings,
        "policy_text": as_toml(project.settings),
        "left": project.left_to_do if project.position else [],
        "job": job if job is not None and job.running else None,
        "failed": job if job is not None and job.failed_for(project.fingerprint) else None,
        "notes": job.notes if job is not None and job.warns_of(project.fingerprint) else [],
        "command": command(project),
        **given,
    }
    return page(request, f"{template or screen}.html", **shown)


def back(request: Request, screen: str, *, said: str = "", anchor: str = "", **asked: str) -> Response:
    """Send the browser back to a screen after a change, so that reloading repeats nothing."""
    given = {**asked, **({"said": said} if said else {})}
    query = f"?{urlencode(given)}" if given else ""
    to = f"/p/{request.path_params['project']}/{screen}{query}{f'#{anchor}' if anchor else ''}"
    return RedirectResponse(to, 303)


def command(project: Project) -> str:
    """Return the command that does the same as the studio."""
    policy = shlex.quote(str(project.folder / "policy.toml"))
    return (
        f"tclose anonymize {shlex.quote(str(project.table))} --policy {policy} --out release.csv --certificate c.json"
    )
