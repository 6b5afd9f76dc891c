"""Signals that ask the process to end: each becomes an exception, so that everything is cleaned up first.

The first signal counts, and all later ones are ignored: a second Ctrl-C must not interrupt the cleaning up. A library
may swallow the exception (one that is raised while Python frees an object is lost), so every report of progress raises
it again.
"""

from __future__ import annotations

import signal
from types import FrameType

WORDS = {"SIGINT": "interrupted", "SIGTERM": "ended on request", "SIGHUP": "the terminal was closed"}


class Ended(BaseException):
    """Another process, the end of the terminal, or Ctrl-C asked this process to stop: it cleans up first."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_status = 128 + getattr(signal, name)
        self.words = WORDS[name]


_first: list[str] = []  # the name of the signal that came first


def clean_up_when_ended() -> None:
    """Turn the signals that would end the process at once into exceptions."""
    for name in WORDS:
        number = getattr(signal, name, None)  # Windows knows no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _end)


def ignore_endings() -> None:
    """Ignore all further requests to end: the process is about to."""
    for name in WORDS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def check_ended() -> None:
    """Raise the request to end again, in case that a library swallowed it."""
    if _first:
        raise Ended(_first[0])


def _end(number: int, frame: FrameType | None) -> None:
    ignore_endings()
    _first.append(signal.Signals(number).name)
    raise Ended(_first[0])
