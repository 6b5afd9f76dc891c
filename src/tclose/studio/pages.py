"""Pages from templates, in the visitor's language: the catalogue of texts, and the engine's sentences in its words."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tclose import steps
from tclose.errors import TcloseError
from tclose.messages import FIRST, from_json, in_language, number_in, say, to_json
from tclose.policy.toml import as_toml
from tclose.studio.jobs import Job
from tclose.studio.project import Project
from tclose.studio.settings import KEYS, mark

if TYPE_CHECKING:
    from tclose.studio.server import Studio

# Sentences for people


SETTING = re.compile(r"\w+ = ")


def sentence(text: str) -> str:
    """Begin with a capital letter, unless a setting comes first (l = 2), and end with a full stop."""
    first = text[:1] if SETTING.match(text) else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def sentence_of(error: TcloseError | OSError) -> str:
    """Say what went wrong; of the system's own mistakes, such as a full disk, only their kind."""
    if isinstance(error, TcloseError):
        return error.sentence
    return say("a file of the studio cannot be read or written: {why}", why=error.strerror or type(error).__name__)


QUOTED = re.compile(r"'([^']*)'")  # names in a sentence
MOST_SAID = 4000  # letters of a message in an address


# The catalogue


LANGUAGES = {"en": "English", "de": "Deutsch"}


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the texts of a language by their names, such as `columns.title`; those of policy keys are declared."""
    text = files("tclose.studio").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    labels = {name: key.label for keys in KEYS.values() for name, key in keys.items() if key.label}
    parts = {**tomllib.loads(text), **({"keys": labels} if language == FIRST else {})}
    return {f"{part}.{name}": value for part, texts in parts.items() for name, value in texts.items()}


class Texts:
    """The texts of one language; templates call it with a text's name and what is put into it."""

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else FIRST

    def __call__(self, key: str, /, **given: object) -> str:
        """Return a text."""
        text = catalogue(self.language)[key]
        return text.format(**given) if given else text

    def rows(self, count: int) -> str:
        """Say how many rows."""
        return self("common.row") if count == 1 else self("common.rows", count=self.number(count))

    def number(self, value: int) -> str:
        """Write a count as people do."""
        return number_in(f"{value:,}", self.language)

    def figure(self, value: float, spelling: str = ".4f") -> str:
        """Write a figure with the decimal sign of the language."""
        return number_in(format(value, spelling), self.language)

    def percent(self, share: float) -> str:
        """Write a share as a percentage."""
        return f"{self.figure(100 * share, '.1f')} %"

    def say(self, sentence: str) -> str:
        """Put a message of the engine into the studio's words; one without a translation stays as it is."""
        return in_language(sentence, self.language)


LANGUAGE = "tclose-language"  # the cookie
QUIET = {"preview"}  # jobs that a part of a page follows by itself


def environment() -> Environment:
    """Return the templates; every value is escaped."""
    loader = PackageLoader("tclose.studio", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["sentence"] = sentence
    made.filters["mark"] = mark
    return made


def texts_of(request: Request) -> Texts:
    """Return the texts in the language that the user chose, or else the browser asks for."""
    return Texts(request.cookies.get(LANGUAGE) or request.headers.get("accept-language", "")[:2].lower())


def page(request: Request, template: str, *, status: int = 200, **given: Any) -> HTMLResponse:
    """Make a page."""
    return _rendered(request, template, given, status)


def _rendered(request: Request, template: str, given: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    studio: Studio = request.app.state.studio
    texts = texts_of(request)
    common = {
        "t": texts,
        "languages": LANGUAGES,
        "form_token": studio.keys.form,
        "root": studio.keys.root,
        "alive": studio.keys.alive,
        "screens": studio.screens,
        "project": None,
        "screen": None,
        "message": _message(request.query_params.get("said", "")[:MOST_SAID]),
        "path": request.url.path,
    }
    made = studio.templates.get_template(template).render({**common, **given})
    return HTMLResponse(made, status)


def in_address(message: str) -> str:
    """Write a message for an address; with places, it is JSON."""
    packed = to_json(message)
    return message if isinstance(packed, str) else json.dumps(packed)


def _message(text: str) -> str:
    """Read a message from an address; whatever is none is a plain text."""
    try:
        said = from_json(json.loads(text)) if text.startswith("{") else text
    except ValueError:
        said = ""
    return said if isinstance(said, str) else ""


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
    return _rendered(request, f"{template or screen}.html", shown)


def back(request: Request, screen: str, *, said: str = "", anchor: str = "", **asked: str) -> Response:
    """Send the browser back to a screen after a change, so that reloading repeats nothing; empty texts are left out."""
    given = {name: value for name, value in (asked | {"said": in_address(said)}).items() if value}
    query = f"?{urlencode(given)}" if given else ""
    to = f"/p/{request.path_params['project']}/{screen}{query}{f'#{anchor}' if anchor else ''}"
    return RedirectResponse(to, 303)


def command(project: Project) -> str:
    """Return the command that does the same as the studio."""
    policy = project.folder / "policy.toml"
    asked = steps.Request(table=project.table, policy=policy, out="release.csv", certificate="c.json", engine="auto")
    return steps.command_line(asked)


# What a screen declares: its name in addresses and templates, how it is shown, and what can be done on it


Show = Callable[[Request, Project], Response]
Action = Callable[[Request, Project, FormData], Response]


@dataclass(frozen=True)
class Screen:
    """One screen."""

    name: str
    show: Show
    actions: Mapping[str, Action] = field(default_factory=dict)
    parts: Mapping[str, Show] = field(default_factory=dict)  # of a page, which follow what the user does


def text_of(form: FormData, name: str) -> str:
    """Return what a form says, as text."""
    given = form.get(name, "")
    return given if isinstance(given, str) else ""


def whole_of(form: FormData, name: str) -> int | None:
    """Return what a form says, as a count; None where it is none."""
    return count_of(text_of(form, name))


def count_of(text: str) -> int | None:
    """Read a count; None where the text is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def start(
    request: Request, project: Project, kind: str, *, after: Callable[[], None] | None = None, **given: Any
) -> Job:
    """Start a job of a project; `after` is called when it is over, however it ends."""
    fingerprint = project.fingerprint
    job: Job = request.app.state.studio.jobs.start(project.folder, kind, after=after, **given)
    job.fingerprint = fingerprint
    return job
