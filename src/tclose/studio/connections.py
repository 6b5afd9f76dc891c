"""Connections to the studio: strangers, who have shown no cookie, are few and stay a short time.

Every user of the machine can connect. A connection is a stranger's until a request on it has passed the guard. A
stranger's connection ends after some seconds, whatever is sent on it, and where there are too many, the oldest ends at
once. So half-sent requests take neither the studio's files nor its memory. The user's own connections have no limit.

Somebody who connects faster than the browser sends could so end the browser's connection before its request is read.
Linux says whose process connects: the connections of other users end first.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from tclose.studio.safety import Receive, Scope, Send

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
