"""Who may speak to the studio: a browser that used an address of it, from the studio's own pages, on this machine.

Every request passes here before anything else looks at it. Pages of other sites fail by the Host header (DNS
rebinding), by the Origin header, by the cookie, which is never sent from elsewhere, and by the token in every form.
A browser sends the cookies of 127.0.0.1 to every port, so other servers on this machine would see ours: it is bound to
a folder that only the studio's pages know.

Two questions are answered without a cookie: a further command of the same user asks for a new address, and a page asks
whether this is still its own studio. Both carry a proof and no secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import socket
import struct
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from uvicorn.protocols.http.h11_impl import H11Protocol

from tclose.studio.instance import ASKED, MOST_ASKED, NONCE, PROOF, Instance, Invitations
from tclose.studio.pages import Texts

# Connections: strangers, who have shown no cookie, are few and stay a short time.
# Every user of the machine can connect. A connection is a stranger's until a request on it has passed the guard. A
# stranger's connection ends after some seconds, whatever is sent on it, and where there are too many, the oldest ends
# at once. So half-sent requests take neither the studio's files nor its memory. The user's own connections have no
# limit.
# Somebody who connects faster than the browser sends could so end the browser's connection before its request is read.
# Linux says whose process connects: the connections of other users end first.


resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None

MOST_STRANGERS, SECONDS = 1000, 10.0
ACCEPTED = 32  # connections taken at a time; far fewer than strangers, so that a new request is read before it must go
OPEN_FILES = 4096  # that the studio asks for
PASSED = "tclose.passed"  # the place in a request's scope of what the guard calls


@dataclass
class Strangers:
    """The connections of strangers, the oldest first, and how many and how long they may be."""

    most: int = MOST_STRANGERS
    seconds: float = SECONDS
    users: Users | None = None
    timers: dict[Connection, asyncio.TimerHandle] = field(default_factory=dict)
    others: dict[Connection, None] = field(default_factory=dict)  # those that are not known to be the user's

    def add(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Count a new connection; where there are too many, the oldest of another user ends, or else the oldest."""
        self.timers[connection] = loop.call_later(self.seconds, connection.end)
        if self.users is None or not self.users.is_own(connection.client, connection.server):
            self.others[connection] = None
        if len(self.timers) > self.most:
            next(iter(self.others or self.timers)).end()

    def remove(self, connection: Connection) -> None:
        """Count a connection no more: a request on it has passed, or it has ended."""
        self.others.pop(connection, None)
        if (timer := self.timers.pop(connection, None)) is not None:
            timer.cancel()


SOCKET_DIAGNOSIS, BY_FAMILY, REQUEST = 4, 20, 1  # of Linux: sock_diag(7)
ANSWERED = struct.Struct("=16x4x48x12xI")  # a header, then what is said about a socket, up to its user
ANY = b"\xff" * 8  # whatever the kernel's own number of the socket is


class Users:
    """Says whose process is at the other end of a connection within this machine; only Linux can."""

    def __init__(self) -> None:
        self._kernel: socket.socket | None = None
        if hasattr(socket, "AF_NETLINK"):
            with suppress(OSError):  # a container may not allow it
                self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCKET_DIAGNOSIS)
                self._kernel.setblocking(False)  # the kernel has answered when it was asked

    def close(self) -> None:
        """Ask no more."""
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def is_own(self, client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> bool:
        """Say whether a connection is known to be of the user's own process."""
        if self._kernel is None or client is None or server is None or server[1] is None:
            return False
        ports = struct.pack("!HH", client[1], server[1])
        addresses = b"".join(socket.inet_aton(address).ljust(16, b"\0") for address in (client[0], server[0]))
        asked = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        asked += ports + addresses + bytes(4) + ANY
        try:
            self._kernel.send(struct.pack("=IHHII", 16 + len(asked), BY_FAMILY, REQUEST, 0, 0) + asked)
            answer = self._kernel.recv(1 << 13)
        except OSError:
            return False
        (kind,) = struct.unpack_from("=4xH", answer)
        return kind == BY_FAMILY and bool(ANSWERED.unpack_from(answer)[0] == os.geteuid())


class Connection(H11Protocol):
    """A connection that is a stranger's until the guard has let a request on it pass."""

    strangers: Strangers

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        application = self.app

        async def served(scope: Scope, receive: Receive, send: Send) -> None:
            await application({**scope, PASSED: self._passed}, receive, send)

        self.app = served

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin as a stranger's."""
        super().connection_made(transport)
        self.strangers.add(self, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be counted no more."""
        self.strangers.remove(self)
        super().connection_lost(exc)

    def end(self) -> None:
        """End at once."""
        self.strangers.remove(self)
        self.transport.abort()

    def _passed(self) -> None:
        self.strangers.remove(self)


def protocol(strangers: Strangers) -> type[asyncio.Protocol]:
    """Return the connections of one server, which count their strangers together."""
    return type("StudioConnection", (Connection,), {"strangers": strangers})


def most_strangers() -> int:
    """Ask for more open files; return how many strangers leave enough of them for the studio's own work."""
    if resource is None:
        return MOST_STRANGERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS has a further limit of its own
            pass
    return MOST_STRANGERS if soft == resource.RLIM_INFINITY else min(MOST_STRANGERS, soft // 3)


# Requests


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

NONCES = re.compile(r"[0-9a-f]{32,64}")
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


USED = (
    "This address works once: it was used already, or the studio has ended. "
    "Run tclose studio again: it prints a new address."
)
STRANGE = "The studio does not know this browser. Run tclose studio again: it prints an address that lets it in."
NO_PAGE = "Only the studio's own pages may ask this."


class Keys:
    """The secrets of one run; each of them tells nothing about the others."""

    def __init__(self, port: int) -> None:
        self.port, self._secret = port, secrets.token_bytes(32)
        self.cookie_value = self._derived(b"cookie")
        self.form = self._derived(b"form")
        self.alive = self._derived(b"alive")  # what a page keeps, to know its own studio again
        self.instance = Instance(port, self._derived(b"command"))
        self.root = f"/{self._derived(b'root')[:32]}"  # the folder of all pages, to which the cookie is bound

    def _derived(self, purpose: bytes) -> str:
        return hmac.new(self._secret, purpose, hashlib.sha256).hexdigest()

    @property
    def cookie(self) -> str:
        """The name of the cookie; another studio on this machine has another port."""
        return f"tclose-{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The hosts under which the studio is reached."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def alive_proof(self, nonce: str) -> str:
        """Prove to a page that this is its own studio; the port keeps another studio's answer from being passed on."""
        return hmac.new(self.alive.encode(), f"{self.port}:{nonce}".encode(), hashlib.sha256).hexdigest()


class RequestGuard:
    """Lets through what comes from the studio's own pages.

    `invite` answers a further command of the same user, outside the server's own thread.
    """

    def __init__(
        self,
        application: Application,
        keys: Keys,
        invitations: Invitations,
        *,
        uploads: Callable[[str], bool],
        invite: Callable[[bytes], bytes],
    ) -> None:
        self.application, self.keys, self.invitations = application, keys, invitations
        self.uploads, self.invite = uploads, invite

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request, then hand it on."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        guarded = _with_headers(send, self.keys.root)
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        texts = Texts(headers.get("accept-language", "")[:2].lower())
        asked = (scope["method"], scope["path"])
        if asked == ("POST", ASKED) and headers.get("host") in self.keys.hosts:
            await self._invited(headers, receive, guarded)
        elif (why := self._refusal(scope, headers)) is not None:
            await _answer(guarded, 403, why)
        elif asked == ("GET", "/alive"):
            await self._proved(scope, guarded)
        elif asked == ("GET", "/") and (token := _asked(scope, "token")) and "sec-purpose" not in headers:
            await self._entered(token, texts, guarded)
        elif not (scope["path"].startswith(f"{self.keys.root}/") and self._known(headers)):
            await _answer(guarded, 403, texts.say(STRANGE))
        else:
            scope.get(PASSED, _nothing)()
            await self._limited(scope, headers, receive, guarded)

    async def _entered(self, token: str, texts: Texts, send: Send) -> None:
        """Give a browser its cookie, if the token was given out and not used yet."""
        first = self.invitations.redeem(token)
        if first is None:
            await _answer(send, 403, texts.say(USED))
            return
        cookie = f"{self.keys.cookie}={self.keys.cookie_value}; Path={self.keys.root}; HttpOnly; SameSite=Strict"
        entrance = ENTRANCE.format(root=self.keys.root, first=first)
        await _answer(send, 200, entrance, "text/html; charset=utf-8", (("set-cookie", cookie),))

    async def _proved(self, scope: Scope, send: Send) -> None:
        """Prove to a page of this studio that it is here; others learn nothing."""
        nonce = _asked(scope, "nonce")
        if NONCES.fullmatch(nonce) is None:
            await _answer(send, 403, NO_PAGE)
        else:
            await _answer(send, 200, self.keys.alive_proof(nonce))

    async def _invited(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Answer a further command of the same user; browsers always name an origin with a POST."""
        length, nonce = headers.get("content-length", ""), headers.get(NONCE, "")
        short = length.isascii() and length.isdigit() and int(length[:9]) <= MOST_ASKED
        if "origin" in headers or not short or "transfer-encoding" in headers or NONCES.fullmatch(nonce) is None:
            await _answer(send, 403, NO_PAGE)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        instance = self.keys.instance
        if not hmac.compare_digest(headers.get(PROOF, "").encode(), instance.question_proof(nonce, body).encode()):
            await _answer(send, 403, NO_PAGE)
            return
        said = await run_in_threadpool(self.invite, body)
        proved = ((PROOF, instance.answer_proof(nonce, said)),)
        await _answer(send, 200, said.decode(), "application/json", proved)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str | None:
        if headers.get("host") not in self.keys.hosts:
            return "This address is not the studio's."
        origins = [f"http://{host}" for host in self.keys.hosts]
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if scope["method"] in ("GET", "HEAD"):
            return None if origin in (None, *origins) else NO_PAGE
        if origin not in origins or site != "same-origin":
            return NO_PAGE
        return None

    def _known(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.keys.cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.keys.cookie_value.encode())

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


def _asked(scope: Scope, name: str) -> str:
    """Return what an address asks for by a name."""
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get(name, [""])[0]


def _nothing() -> None:
    """Nobody counts this connection."""


async def _answer(
    send: Send,
    status: int,
    text: str,
    kind: str = "text/plain; charset=utf-8",
    more: tuple[tuple[str, str], ...] = (),
) -> None:
    length = str(len(text.encode())).encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", length),
        *((name.encode(), value.encode()) for name, value in more),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
