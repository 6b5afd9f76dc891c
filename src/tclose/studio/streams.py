"""Streams that tell pages how far a job is: a few at a time, since a browser has six connections for all its tabs."""

from __future__ import annotations

from collections.abc import Callable

MOST = 4


class Stream:
    """One stream; a newer one may take its place."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake, self.over = wake, False

    def end(self) -> None:
        """Let it end, now."""
        self.over = True
        self._wake()


class Streams:
    """All streams of a studio; only the server's own thread changes them."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self._open, self._closed = most, list[Stream](), False

    def open(self, wake: Callable[[], None]) -> Stream:
        """Begin a stream; where there are too many, the oldest ends."""
        stream = Stream(wake)
        self._open.append(stream)
        while len(self._open) > self.most:
            self._open.pop(0).end()
        if self._closed:
            stream.end()
        return stream

    def close(self, stream: Stream) -> None:
        """Count a stream no more."""
        if stream in self._open:
            self._open.remove(stream)

    def end(self) -> None:
        """Let all of them end, and new ones at once: the studio does."""
        self._closed = True
        for each in self._open:
            each.end()
