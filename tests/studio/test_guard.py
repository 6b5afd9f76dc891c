"""Which requests the guard lets through, one by one, without a server: by host, origin, cookie, length and token."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tclose.studio.instance import Invitations
from tclose.studio.safety import MOST_SENT, Keys, RequestGuard

PORT = 8471
KEYS = Keys(PORT)
OWN = {
    "host": f"127.0.0.1:{PORT}",
    "origin": f"http://127.0.0.1:{PORT}",
    "cookie": f"{KEYS.cookie}={KEYS.cookie_value}",
    "content-length": "3",
}


def status_of(
    invitations: Invitations, method: str, path: str, headers: dict[str, str | None], query: str = ""
) -> tuple[int, bool]:
    """Return the status of an answer, and whether the application was asked; headers that are None are left out."""
    passed, sent = list[str](), list[dict[str, Any]]()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    guard = RequestGuard(
        application, KEYS, invitations, uploads=lambda _: False, invite=lambda _: pytest.fail("nobody asks")
    )
    given = [(name.encode(), value.encode()) for name, value in headers.items() if value is not None]
    scope = {"type": "http", "method": method, "path": path, "headers": given, "query_string": query.encode()}
    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may keep a loop of its own in this one
        thread.submit(asyncio.run, guard(scope, receive, send)).result()
    return sent[0]["status"], bool(passed)


@pytest.fixture
def invitations(tmp_path: Path) -> Invitations:
    return Invitations(PORT, tmp_path)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"content-length": str(MOST_SENT)}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}, 200),
        ({"content-length": str(MOST_SENT + 1)}, 413),
        ({"content-length": "-1"}, 413),
        ({"transfer-encoding": "chunked"}, 413),  # a body of any length
        ({"transfer-encoding": "chunked", "content-length": None}, 413),
        ({"host": "example.org"}, 403),
        ({"origin": None}, 403),
        ({"origin": "http://example.org"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),  # another port of this machine
        ({"origin": "http://example.org", "sec-fetch-site": "cross-site"}, 403),
        ({"cookie": None}, 403),
        ({"cookie": f"{KEYS.cookie}={KEYS.form}"}, 403),
    ],
)
def test_what_a_form_must_come_with(invitations: Invitations, changed: dict[str, str | None], status: int) -> None:
    assert status_of(invitations, "POST", f"{KEYS.root}/p/x", OWN | changed) == (status, status == 200)


def test_a_look_ahead_does_not_use_an_address_up(invitations: Invitations) -> None:
    """A browser may ask for an address before its user does, and throw the answer away."""
    query = invitations.issue("/p/x", file=False).address.partition("?")[2]
    browser = {"host": OWN["host"]}
    assert status_of(invitations, "GET", "/", browser | {"sec-purpose": "prefetch"}, query) == (403, False)
    assert status_of(invitations, "GET", "/", browser, query) == (200, False)
    assert status_of(invitations, "GET", "/", browser, query) == (403, False)
