"""What a screen declares: its name in addresses and templates, how it is shown, and what can be done on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from tclose.studio.jobs import Job
from tclose.studio.project import Project

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
