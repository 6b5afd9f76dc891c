"""The studio as a web application, and the server that runs it on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
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
from tclose.messages import say
from tclose.studio import instance
from tclose.studio.home import Home
from tclose.studio.instance import Invitation, Invitations
from tclose.studio.jobs import Job, Jobs, Process, Stream, Streams
from tclose.studio.pages import (
    Screen,
    Show,
    Texts,
    back,
    environment,
    in_address,
    page,
    sentence,
    sentence_of,
    texts_of,
)
from tclose.studio.project import Project
from tclose.studio.safety import ACCEPTED, Keys, RequestGuard, Strangers, Users, most_strangers, protocol
from tclose.studio.screens import SCREENS, projects, publication

UPLOAD = "/upload"
QUEUED = 1024  # connections that wait until they are taken
HEARTBEAT = 10.0  # seconds after which a page hears of a job in any case


@dataclass(frozen=True)
class Studio:
    """Everything that the screens share."""

    home: Home
    jobs: Jobs
    keys: Keys
    invitations: Invitations
    templates: Environment
    streams: Streams = field(default_factory=Streams)
    screens: tuple[Screen, ...] = SCREENS


def application(studio: Studio) -> RequestGuard:
    """Return the whole application, behind its guard."""
    routes = [
        Mount("/static", StaticFiles(packages=[("tclose.studio", "static")])),
        Route("/p/{project}/undo", changing(_undo), methods=["POST"]),
        Route("/p/{project}/redo", changing(_redo), methods=["POST"]),
        Route("/p/{project}/cancel", changing(_cancel), methods=["POST"]),
        Route("/p/{project}/events", _events),
        Route("/p/{project}/job", _job),
        Route("/p/{project}/delete", guarded(projects.show_deletion)),
        *(route for screen in SCREENS for route in _routes(screen)),
    ]
    routes += [Route("/", guarded(projects.show_start)), Route("/verify", guarded(publication.enter))]
    routes += [Route(UPLOAD, changing(projects.upload), methods=["POST"])]
    routes += [Route(path, changing(do), methods=["POST"]) for path, do in projects.START_ACTIONS.items()]

    made = Starlette(routes=routes, exception_handlers=MISTAKES)
    made.state.studio = studio

    def uploads(path: str) -> bool:
        return path == UPLOAD or path.endswith("/verify/run")

    return RequestGuard(
        made, studio.keys, studio.invitations, uploads=uploads, invite=lambda body: _invite(studio, body)
    )


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
                return RedirectResponse(f"/?{urlencode({'said': in_address(sentence_of(error))})}", 303)
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
    return publication.PUBLISH.name if project.is_closed else publication.VERIFY.name


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
    return JSONResponse({"job": None} if job is None else _told(job, texts_of(request)))


def _told(job: Job, texts: Texts) -> dict[str, Any]:
    """Return what a page is told about a job, in the user's language."""
    told = job.to_dict()
    return {
        **told,
        "phase": texts.say(told["phase"]),
        "error": sentence(texts.say(told["error"])) if told["error"] else "",
    }


async def _events(request: Request) -> Response:
    """Tell a page how far a job is, until it ends."""
    try:
        project = project_of(request)
    except TcloseError:
        return Response(status_code=404)
    process, texts = request.app.state.studio.jobs.of(project.folder), texts_of(request)
    streams: Streams = request.app.state.studio.streams
    stream = streams.open(process.wake)

    async def told() -> AsyncIterator[str]:
        try:
            async for line in news(process, lambda job: json.dumps(_told(job, texts)), request.is_disconnected, stream):
                yield line
        finally:
            streams.close(stream)

    return StreamingResponse(told(), media_type="text/event-stream")


async def news(
    process: Process, spelled: Callable[[Job], str], gone: Callable[[], Awaitable[bool]], stream: Stream
) -> AsyncIterator[str]:
    """Tell how far the current job is, whenever that changes; its end is always told.

    A page whose stream gives way to that of another page is told so, and asks from time to time instead.
    """
    job = process.current
    while job is not None:
        seen = job.seen
        yield f"data: {spelled(job)}\n\n"
        if seen.state != "running" or await gone():
            return
        if stream.over:
            yield "event: over\ndata:\n\n"
            return
        await asyncio.to_thread(process.wait_for_news, job, seen, HEARTBEAT, stream)


async def _not_found(request: Request, _: Exception) -> Response:
    return page(request, "mistake.html", status=404, sentence="There is no such page.")


async def _refused(request: Request, _: Exception) -> Response:
    return page(request, "mistake.html", status=400, sentence="The studio does not understand this request.")


async def _broken(request: Request, error: Exception) -> Response:
    """Name the kind of an error only: its message could quote a cell."""
    return page(
        request,
        "mistake.html",
        status=500,
        sentence=say("This is a mistake of tclose ({kind}).", kind=type(error).__name__),
    )


MISTAKES: dict[Any, Any] = {404: _not_found, 405: _not_found, 400: _refused, 500: _broken}


class Server(uvicorn.Server):
    """The server of a studio; pages that follow some work do not keep it from ending."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._streams.end()
        await super().shutdown(sockets)


def serve(
    table: Path | None, *, project: Path | None, port: int | None, browser: bool, announce: Callable[[str], None]
) -> None:
    """Serve the studio until it is stopped; `announce` is told an address of it once it answers.

    Where no port is named and the user runs a studio already, that one gives a new address, and this command is done.
    """
    os.umask(0o077)  # everything that is written is the user's own
    folder = instance.server_folder()
    with ExitStack() as searching:
        if port is None:
            searching.enter_context(instance.starting(folder))
            if (found := instance.ask(folder, table=table, project=project, file=browser)) is not None:
                searching.close()
                _enter(found, announce)
                return

        def begun(invitation: Invitation) -> None:
            searching.close()
            _enter(invitation, announce)

        with instance.listening_socket(folder, port) as listening:
            keys = Keys(listening.getsockname()[1])
            studio = Studio(Home(), Jobs(), keys, Invitations(keys.port, folder), environment())
            try:
                _run(studio, listening, _invitation(studio, table, project, file=browser), begun)
            finally:
                keys.instance.remove(folder)
                studio.invitations.close()
                studio.jobs.close()


def _run(studio: Studio, listening: socket.socket, first: Invitation, begun: Callable[[Invitation], None]) -> None:
    """Run the server until it is stopped; `begun` is called once it answers."""
    users = Users()
    settings = uvicorn.Config(
        application(studio),
        http=protocol(Strangers(most_strangers(), users=users)),
        ws="none",
        backlog=ACCEPTED,
        proxy_headers=False,
        log_level="critical",
        access_log=False,
        lifespan="off",
    )
    server = Server(settings, studio.streams)

    def announced() -> None:
        while not server.started:
            time.sleep(0.02)
        listening.listen(QUEUED)  # the server takes few connections at a time; more may wait
        studio.keys.instance.write(studio.invitations.folder)
        begun(first)

    threading.Thread(target=announced, daemon=True).start()
    with closing(users):
        server.run(sockets=[listening])


def _opened(studio: Studio, table: Path | None, folder: Path | None) -> Project | None:
    """Open the project that the command names; a table that has one goes on with it."""
    if folder is not None:
        return studio.home.at(folder, table=table)
    if table is None:
        return None
    known = (project for project in studio.home.recent() if project.about["table"] == str(table.resolve()))
    return next(known, None) or projects.open_path(studio, str(table))


def _invite(studio: Studio, body: bytes) -> bytes:
    """Give a further command of the same user a new address; a mistake is told in its sentence."""
    asked = json.loads(body)
    table, folder = (None if asked[name] is None else Path(asked[name]) for name in ("table", "project"))
    try:
        found = _invitation(studio, table, folder, file=asked["file"])
    except (TcloseError, OSError) as error:
        said = error.sentence if isinstance(error, TcloseError) else sentence_of(error)
        return json.dumps({"error": said}).encode()
    return json.dumps({"address": found.address, "file": None if found.file is None else str(found.file)}).encode()


def _invitation(studio: Studio, table: Path | None, folder: Path | None, *, file: bool) -> Invitation:
    """Return a new address that leads to the project that a command names, or to the start page."""
    opened = _opened(studio, table, folder)
    return studio.invitations.issue("/" if opened is None else f"/p/{opened.key}/open", file=file)


def _enter(invitation: Invitation, announce: Callable[[str], None]) -> None:
    """Tell the user an address, and open the browser through its file if there is one."""
    announce(invitation.address)
    if invitation.file is not None:
        webbrowser.open(invitation.file.as_uri())
