"""Limits of connections and streams, in a server of its own whose limits a test lowers; and tabs that reconnect."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tclose.studio.jobs import Job, Process, Streams
from tclose.studio.safety import MOST_STRANGERS, OPEN_FILES, PASSED, Strangers, Users, most_strangers, protocol
from tclose.studio.server import news

from .client import Browser
from .conftest import Running, wait_for
from .finished import KEY
from .test_robust import begin_try, kill
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

LONG = 100_000.0  # seconds: longer than any test
HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "
WHOLE = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Let those who ask for /own pass, and answer everyone."""
    if scope["path"] == "/own":
        scope[PASSED]()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(strangers: Strangers) -> Iterator[Callable[[bytes], socket.socket]]:
    """Run a server with some limits; what is yielded connects and sends something."""
    connections = list[socket.socket]()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = uvicorn.Config(
            answer,
            http=protocol(strangers),
            ws="none",
            lifespan="off",
            log_level="critical",
            timeout_keep_alive=100_000,
        )
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            pass

        def connect(sent: bytes) -> socket.socket:
            made = socket.create_connection(listening.getsockname(), timeout=1800)
            connections.append(made)
            made.sendall(sent)
            return made

        try:
            yield connect
        finally:
            for connection in connections:
                connection.close()
            server.should_exit = True
            thread.join(60)
    assert not thread.is_alive()


def is_answered(connection: socket.socket) -> bool:
    """Read an answer to its end, or until the other side ends the connection."""
    said = b""
    try:
        while not said.endswith(b"\r\n\r\nok") and (part := connection.recv(4096)):
            said += part
    except ConnectionResetError:
        return False
    return b"200 OK" in said


def is_ended(connection: socket.socket) -> bool:
    """Wait until the other side ends a connection."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


class Nobodys(Users):
    """Takes some ports for another user's; of all others it knows the user."""

    def __init__(self, others: set[int]) -> None:
        super().__init__()
        self.others = others

    def is_own(self, client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> bool:
        return client is not None and client[1] not in self.others


def test_the_oldest_stranger_gives_way_and_the_users_own_connection_stays() -> None:
    with serving(Strangers(most=3, seconds=LONG)) as connect:
        own = connect(WHOLE % b"own")
        assert is_answered(own)
        held = []
        for _ in range(3):
            held.append(connect(WHOLE % b""))
            assert is_answered(held[-1]), "an answer alone makes nobody less of a stranger"
        for oldest in list(held):
            held.append(connect(WHOLE % b""))
            assert is_ended(oldest)
        assert is_answered(held[-1])
        own.sendall(WHOLE % b"")
        assert is_answered(own)


def test_connections_of_other_users_end_before_a_request_that_is_about_to_come() -> None:
    others = set[int]()
    with (
        closing(Nobodys(others)) as users,
        serving(Strangers(most=2, seconds=LONG, users=users)) as connect,
        ExitStack() as held,
    ):
        slow = connect(HALF)  # of the user's browser, and the oldest
        for _ in range(5):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            others.add(port)
            other = held.enter_context(
                socket.create_connection(slow.getpeername(), timeout=1800, source_address=("127.0.0.1", port))
            )
            other.sendall(WHOLE % b"")
            assert is_answered(other) or is_ended(other)
        slow.sendall(b"no more\r\n\r\n")
        assert is_answered(slow)


@pytest.mark.parametrize("sent", [b"", HALF, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nhalf"])
def test_a_stranger_stays_a_short_time_whatever_is_sent(sent: bytes) -> None:
    with serving(Strangers(most=1000, seconds=0.05)) as connect:
        held = connect(sent)
        try:
            while True:
                held.sendall(b"x")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert is_ended(held)


@pytest.mark.skipif(not hasattr(socket, "AF_NETLINK"), reason="only Linux says whose connection it is")
def test_linux_says_whose_connection_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        closing(Users()) as users,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        ends = client.getsockname(), server.getsockname()
        assert users.is_own(*ends)
        assert not users.is_own(("127.0.0.1", 1), ends[1])
        assert not users.is_own(None, None)
        monkeypatch.setattr("os.geteuid", lambda: 4711)
        assert not users.is_own(*ends)


def test_files_are_left_for_the_studio(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    limits = [(256, resource.RLIM_INFINITY)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.append(wanted))
    assert most_strangers() == MOST_STRANGERS
    assert limits.pop() == (OPEN_FILES, resource.RLIM_INFINITY)
    limits[:] = [(256, 256)]
    assert most_strangers() == 85
    assert limits == [(256, 256)]

    def refused(_: int, __: tuple[int, int]) -> None:
        raise ValueError

    limits[:] = [(256, 4096)]
    monkeypatch.setattr(resource, "setrlimit", refused)
    assert most_strangers() == 85


def test_the_oldest_stream_gives_way_and_is_told_so(tmp_path: Path) -> None:
    process, job, streams = Process(tmp_path), Job(1, "check"), Streams(most=2)
    process.jobs = {1: job}

    async def there() -> bool:
        return False

    async def follow(heard: list[str], begun: asyncio.Event) -> None:
        stream = streams.open(process.wake)
        async for line in news(process, lambda told: told.state, there, stream):
            heard.append(line)
            begun.set()
        streams.close(stream)

    async def run() -> list[list[str]]:
        heard: list[list[str]] = [[], [], []]
        tasks = []
        for each in heard:
            begun = asyncio.Event()
            tasks.append(asyncio.create_task(follow(each, begun)))
            await begun.wait()
        await tasks[0]
        assert not tasks[1].done()
        streams.end()
        await asyncio.gather(*tasks)
        return heard

    with ThreadPoolExecutor(1) as thread:  # this one may have Playwright's loop
        told = thread.submit(asyncio.run, asyncio.wait_for(run(), 60)).result()
    assert [each[-1] for each in told] == ["event: over\ndata:\n\n"] * 3
    assert {line for each in told for line in each[:-1]} == {"data: running\n\n"}


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_page_whose_stream_gave_way_still_hears_of_the_end(chromium: Any, running: Running) -> None:
    context = chromium.new_context(locale="en-US")
    visitor, browser = Visitor(context, running), Browser(running)
    begin_try(browser, running.home)
    visitor.page.goto(f"{running.base}/p/{KEY}/sensitive")
    visitor.button("Cancel").wait_for()
    cookie = {"Cookie": f"tclose-{running.port}={running.cookie}"}
    with visitor.page.expect_response(lambda got: got.url.endswith(f"/p/{KEY}/job")) as polled:
        streams = [
            urllib.request.urlopen(
                urllib.request.Request(f"{running.base}/p/{KEY}/events", headers=cookie), timeout=1800
            )
            for _ in range(4)
        ]
    assert polled.value.status == 200
    browser.post(f"/p/{KEY}/cancel", screen="try")
    visitor.button("Cancel").wait_for(state="detached")
    for stream in streams:
        stream.close()
    assert visitor.wrong == []
    context.close()


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_tab_tells_a_program_that_took_the_port_nothing(chromium: Any, running: Running) -> None:
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context, running)
    begin_try(Browser(running), running.home)
    visitor.page.goto(f"{running.base}/p/{KEY}/try")
    visitor.button("Cancel").wait_for()
    kill(running)
    seen, asked = list[tuple[str, str]](), threading.Event()

    class Impostor(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path.partition("=")[0], self.headers.get("Cookie", "")))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"0" * 64)
            if len(seen) == 2:
                asked.set()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    ThreadingHTTPServer.allow_reuse_address = True
    with ThreadingHTTPServer(("127.0.0.1", running.port), Impostor) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visitor.page.get_by_text("The studio has ended, or another program has its port").wait_for()
        assert asked.wait(60)
        server.shutdown()
    assert set(seen) == {("/alive?nonce", "")}
    context.close()


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_tab_goes_on_with_its_own_studio(chromium: Any, running: Running) -> None:
    """Its stream is cut, as when a laptop sleeps; the studio proves itself, and the tab follows the work to its end."""
    context = chromium.new_context(locale="en-US")
    visitor, browser, cut = Visitor(context, running), Browser(running), list[str]()
    begin_try(browser, running.home)

    def once(route: Any) -> None:
        cut.append(route.request.url)
        if len(cut) > 1:
            route.continue_()
        else:
            route.fulfill(status=200, content_type="text/event-stream", body=f"data: {json.dumps(RUNNING)}\n\n")

    visitor.page.route("**/events", once)
    with visitor.page.expect_response(lambda got: "/alive" in got.url) as proved:
        visitor.page.goto(f"{running.base}/p/{KEY}/try")
    assert len(proved.value.text()) == 64
    while len(cut) < 2:
        visitor.page.wait_for_timeout(50)
    browser.post(f"/p/{KEY}/cancel", screen="try")
    assert wait_for(running, KEY)["state"] == "cancelled"
    visitor.button("Cancel").wait_for(state="detached")
    assert visitor.wrong == []
    context.close()


RUNNING = {"job": 1, "kind": "try", "share": 0.1, "phase": "", "state": "running", "error": "", "seconds": 0.1}
