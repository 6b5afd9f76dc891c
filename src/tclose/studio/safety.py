"""Who may speak to the studio: the browser that was given its token, from the studio's own pages, on this machine.

Every request passes here before anything else looks at it. Pages of other sites fail by the Host header (DNS
rebinding), by the Origin header, by the cookie, which is never sent from elsewhere, and by the token in every form.
A browser sends the cookies of 127.0.0.1 to every port, so other servers on this machine would see ours: it is bound to
a folder that only the studio's pages know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_SENT = 1 << 20  # bytes of a request
MOST_UPLOADED = 2 << 30  # bytes of an upload
HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without any referrer, forms would be sent with the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
ENTRANCE = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>tclose studio</title>"
    "<link rel=icon href={root}/static/icon.svg>"
    "<meta http-equiv=refresh content='0;url={root}{first}'></head>"
    "<body><p><a href='{root}{first}'>Open the studio</a></p></body></html>"
)


class Keys:
    """The secret of one run: the token in the address that is printed, and the one in every form."""

    def __init__(self, port: int) -> None:
        self.port, self.token = port, secrets.token_urlsafe(32)
        self.first = "/"  # the page that the printed address leads to
        self.form = self._derived(b"form")
        self.root = f"/{self._derived(b'root')[:32]}"  # the folder of all pages, to which the cookie is bound

    def _derived(self, purpose: bytes) -> str:
        """Return a secret that tells nothing about the token."""
        return hmac.new(self.token.encode(), purpose, hashlib.sha256).hexdigest()

    @property
    def cookie(self) -> str:
        """The name of the cookie; another studio on this machine has another port."""
        return f"tclose-{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The hosts under which the studio is reached."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """What is printed: whoever has it can use the studio."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


class Guard:
    """Lets through what comes from the studio's own pages."""

    def __init__(self, application: Application, keys: Keys, uploads: Callable[[str], bool]) -> None:
        self.application, self.keys, self.uploads = application, keys, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request, then hand it on."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        guarded = _with_headers(send, self.keys.root)
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if (why := self._refusal(scope, headers)) is not None:
            await _answer(guarded, 403, why)
        elif self._enters(scope):
            cookie = f"{self.keys.cookie}={self.keys.token}; Path={self.keys.root}; HttpOnly; SameSite=Strict"
            entrance = ENTRANCE.format(root=self.keys.root, first=self.keys.first)
            await _answer(guarded, 200, entrance, "text/html; charset=utf-8", (("set-cookie", cookie),))
        elif not (scope["path"].startswith(f"{self.keys.root}/") and self._known(headers)):
            await _answer(guarded, 403, "Open the studio with the address that it printed when it started.")
        else:
            await self._limited(scope, headers, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str | None:
        if headers.get("host") not in self.keys.hosts:
            return "This address is not the studio's."
        origins = [f"http://{host}" for host in self.keys.hosts]
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if scope["method"] in ("GET", "HEAD"):
            return None if origin in (None, *origins) else "Only the studio's own pages may ask this."
        if origin not in origins or site != "same-origin":
            return "Only the studio's own pages may ask this."
        return None

    def _enters(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["path"] == "/" and hmac.compare_digest(given.encode(), self.keys.token.encode())

    def _known(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.keys.cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.keys.token.encode())

    async def _limited(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Hand a request on, as long as it is not too large."""
        limit = MOST_UPLOADED if self.uploads(scope["path"].removeprefix(self.keys.root)) else MOST_SENT
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > limit or "transfer-encoding" in headers:
            await _answer(send, 413, "This is too large.")
            return
        below = {**scope, "root_path": self.keys.root}
        await self.application(below, receive, send)  # the server hands over no more than the announced length


def _with_headers(send: Send, root: str) -> Send:
    def placed(name: bytes, value: bytes) -> bytes:
        """Let a page that leads elsewhere lead to a page below the root."""
        leads = name.lower() == b"location" and not value.startswith(f"{root}/".encode())
        return root.encode() + value if leads else value

    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [(name, placed(name, value)) for name, value in message["headers"]]
            given = {name.lower() for name, _ in message["headers"]}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return guarded


async def _answer(
    send: Send,
    status: int,
    text: str,
    kind: str = "text/plain; charset=utf-8",
    more: tuple[tuple[str, str], ...] = (),
) -> None:
    headers = [(b"content-type", kind.encode()), *((name.encode(), value.encode()) for name, value in more)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
