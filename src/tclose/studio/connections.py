"""Connections to the studio: strangers, who have shown no cookie, are few and stay a short time.

Every user of the machine can connect. A connection is a stranger's until a request on it has passed the guard. A
stranger's connection ends after some seconds, whatever is sent on it, and where there are too many, the oldest ends at
once. So half-sent requests take neither the studio's files nor its memory. The user's own connections have no limit.
"""

from __future__ import annotations

import asyncio
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

MOST_STRANGERS, SECONDS = 200, 10.0
ACCEPTED = 32  # connections taken at a time; far fewer than strangers, so that a new request is read before it must go
OPEN_FILES = 4096  # that the studio asks for
PASSED = "tclose.passed"  # the place in a request's scope of what the guard calls


@dataclass
class Strangers:
    """The connections of strangers, the oldest first, and how many and how long they may be."""

    most: int = MOST_STRANGERS
    seconds: float = SECONDS
    connections: dict[Connection, asyncio.TimerHandle] = field(default_factory=dict)

    def add(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Count a new connection; the oldest one ends where there are too many."""
        self.connections[connection] = loop.call_later(self.seconds, connection.end)
        if len(self.connections) > self.most:
            next(iter(self.connections)).end()

    def remove(self, connection: Connection) -> None:
        """Count a connection no more: it is the user's own, or has ended."""
        if (timer := self.connections.pop(connection, None)) is not None:
            timer.cancel()


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
    return MOST_STRANGERS if soft == resource.RLIM_INFINITY else min(MOST_STRANGERS, soft // 2)
