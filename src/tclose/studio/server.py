"""The studio as a web application, and the server that runs it on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tclose.errors import InputError, TcloseError
from tclose.studio.catalogue import Texts
from tclose.studio.home import Home
from tclose.studio.jobs import Job, Jobs, Process
from tclose.studio.pages import back, environment, page, texts_of
from tclose.studio.project import Project
from tclose.studio.safety import Guard, Keys
from tclose.studio.screens import SCREENS, deleting, opening, publishing, verifying
from tclose.studio.screens.base import Screen, Show
from tclose.studio.wording import sentence_of

UPLOAD = "/upload"
LOCAL = "127.0.0.1"
HEARTBEAT = 10.0  # seconds after which a page hears of a job in any case


@dataclass(frozen=True)
class Studio:
    """Everything that the screens share."""

    home: Home
    jobs: Jobs
    keys: Keys
    templates: Environment
    screens: tuple[Screen, ...] = SCREENS


def application(studio: Studio) -> Guard:
    """Return the whole application, behind its guard."""
    routes = [
        Mount("/static", StaticFiles(packages=[("tclose.studio", "static")])),
        Route("/p/{project}/undo", changing(_undo), methods=["POST"]),
        Route("/p/{project}/redo", changing(_redo), methods=["POST"]),
        Route("/p/{project}/cancel", changing(_cancel), methods=["POST"]),
        Route("/p/{project}/events", _events),
        Route("/p/{project}/job", _job),
        Route("/p/{project}/delete", guarded(deleting.show)),
        *(route for screen in SCREENS for route in _routes(screen)),
    ]
    routes += [Route("/", guarded(opening.show_start)), Route("/verify", guarded(verifying.enter))]
    routes += [Route(UPLOAD, changing(opening.upload), methods=["POST"])]
    routes += [Route(path, changing(do), methods=["POST"]) for path, do in opening.ACTIONS.items()]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        studio.jobs.close()

    made = Starlette(routes=routes, lifespan=lifespan, exception_handlers=MISTAKES)
    made.state.studio = studio
    return Guard(made, studio.keys, lambda path: path == UPLOAD or path.endswith("/verify/run"))


Handler = Callable[[Request], Awaitable[Response]]


def guarded(show: Callable[[Request], Any]) -> Handler:
    """Turn mistakes into pages that say them, and keep slow work out of the server's own thread."""

    @wraps(show)
    async def shown(request: Request) -> Response:
        try:
            found = await run_in_threadpool(show, request)
        except (TcloseError, OSError) as error:
            return page(request, "mistake.html", status=404, sentence=sentence_of(error))
        answer: Response = found
        return answer

    return shown


def changing(change: Callable[[Request, Any], Any]) -> Handler:
    """Accept a change: its form must carry the studio's own token."""

    @wraps(change)
    async def changed(request: Request) -> Response:
        form = await request.form(max_files=3, max_fields=5000)
        studio: Studio = request.app.state.studio
        given = request.headers.get("x-form-token") or form.get("form_token")
        if given != studio.keys.form:
            return page(request, "mistake.html", status=403, sentence="This form is not the studio's own.")
        try:
            answer: Response = await run_in_threadpool(change, request, form)
        except (TcloseError, OSError) as error:
            screen = request.path_params.get("screen")
            if screen is None or "project" not in request.path_params:
                return RedirectResponse(f"/?{urlencode({'said': sentence_of(error)})}", 303)
            return back(request, screen, said=sentence_of(error))
        finally:
            await form.close()
        return answer

    return changed


def project_of(request: Request) -> Project:
    """Return the project that an address names."""
    studio: Studio = request.app.state.studio
    return studio.home.project(request.path_params["project"])


def _routes(screen: Screen) -> list[Route]:
    def opened(request: Request) -> Project:
        project = project_of(request)
        if not (project.has_table or screen.name == _only_screen(project)):
            raise InputError("there is no table here")
        return project

    def showing(show: Show) -> Handler:
        return guarded(lambda request: show(request, opened(request)))

    def acting(do: Callable[..., Response]) -> Callable[[Request, Any], Response]:
        def act(request: Request, form: Any) -> Response:
            request.path_params["screen"] = screen.name
            return do(request, opened(request), form)

        return act

    own = f"/p/{{project}}/{screen.name}"
    actions = [Route(f"{own}/{name}", changing(acting(do)), methods=["POST"]) for name, do in screen.actions.items()]
    parts = [Route(f"{own}/{name}", showing(show)) for name, show in screen.parts.items()]
    return [Route(own, showing(screen.show)), *parts, *actions]


def _only_screen(project: Project) -> str:
    """Return the screen of a project without a table: its releases if they were kept, otherwise verification."""
    return publishing.SCREEN.name if project.is_closed else verifying.SCREEN.name


def _undo(request: Request, form: Any) -> Response:
    project_of(request).undo()
    return back(request, _screen(form))


def _redo(request: Request, form: Any) -> Response:
    project_of(request).redo()
    return back(request, _screen(form))


def _cancel(request: Request, form: Any) -> Response:
    studio: Studio = request.app.state.studio
    process = studio.jobs.of(project_of(request).folder)
    if process.current is not None:
        process.cancel(process.current)
    return back(request, _screen(form))


def _screen(form: Any) -> str:
    """Return the screen to go back to; a name that no screen has leads to the first."""
    asked = form.get("screen", "")
    return asked if asked in {screen.name for screen in SCREENS} else SCREENS[0].name


async def _job(request: Request) -> Response:
    """Say how far the current job is."""
    try:
        project = project_of(request)
    except TcloseError:
        return JSONResponse({"job": None}, 404)
    job = request.app.state.studio.jobs.of(project.folder).current
    return JSONResponse({"job": None} if job is None else _told(job, texts_of(request, project)))


def _told(job: Job, texts: Texts) -> dict[str, Any]:
    """Return what a page is told about a job, in the user's language."""
    told = job.to_dict()
    return {**told, "phase": texts.say(told["phase"]), "error": texts.say(told["error"])}


async def _events(request: Request) -> Response:
    """Tell a page how far a job is, until it ends."""
    try:
        project = project_of(request)
    except TcloseError:
        return Response(status_code=404)
    process, texts = request.app.state.studio.jobs.of(project.folder), texts_of(request, project)

    told = news(process, lambda job: json.dumps(_told(job, texts)), request.is_disconnected)
    return StreamingResponse(told, media_type="text/event-stream")


async def news(
    process: Process, spelled: Callable[[Job], str], gone: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """Tell how far the current job is, whenever that changes; its end is always told."""
    job = process.current
    while job is not None:
        seen = job.seen
        yield f"data: {spelled(job)}\n\n"
        if seen.state != "running" or await gone():
            return
        await asyncio.to_thread(process.wait_for_news, job, seen, HEARTBEAT)


async def _not_found(request: Request, _: Exception) -> Response:
    return page(request, "mistake.html", status=404, sentence="There is no such page.")


async def _refused(request: Request, _: Exception) -> Response:
    return page(request, "mistake.html", status=400, sentence="The studio does not understand this request.")


async def _broken(request: Request, error: Exception) -> Response:
    """Name the kind of an error only: its message could quote a cell."""
    return page(request, "mistake.html", status=500, sentence=f"This is a mistake of tclose ({type(error).__name__}).")


MISTAKES: dict[Any, Any] = {404: _not_found, 405: _not_found, 400: _refused, 500: _broken}


def serve(
    table: Path | None, *, project: Path | None, port: int, browser: bool, announce: Callable[[str], None]
) -> None:
    """Serve the studio until it is stopped; `announce` is told its address once it answers."""
    os.umask(0o077)  # everything that is written is the user's own
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOCAL, port))
        except OSError:
            raise InputError(f"port {port} cannot be used: name another one, or leave out --port") from None
        studio = Studio(Home(), Jobs(), Keys(listening.getsockname()[1]), environment())
        entrance = studio.keys.address
        if (opened := _opened(studio, table, project)) is not None:
            studio.keys.first = f"/p/{opened.key}/open"
        settings = uvicorn.Config(application(studio), log_level="critical", access_log=False, lifespan="on")
        server = uvicorn.Server(settings)
        threading.Thread(target=_announced, args=(server, entrance, browser, announce), daemon=True).start()
        server.run(sockets=[listening])


def _opened(studio: Studio, table: Path | None, folder: Path | None) -> Project | None:
    """Open the project that the command names; a table that has one goes on with it."""
    if folder is not None:
        return studio.home.at(folder, table=table)
    if table is None:
        return None
    known = (project for project in studio.home.recent() if project.about["table"] == str(table.resolve()))
    return next(known, None) or opening.open_path(studio, str(table))


def _announced(server: uvicorn.Server, address: str, browser: bool, announce: Callable[[str], None]) -> None:
    import time

    while not server.started:
        time.sleep(0.02)
    announce(address)
    if browser:
        webbrowser.open(address)
