"""Signals that ask the process to end: each becomes an exception, so that everything is cleaned up first.

The first signal counts, and all later ones are ignored: a second Ctrl-C must not interrupt the cleaning up. A library
may swallow the exception (one that is raised while Python frees an object is lost), so every report of progress raises
it again.

Once files have got their names, it is too late: a status that says "ended" beside a complete release would be false.
The command then goes on to its own end, which is near, and one line says so.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

from tclose import steps

WORDS = {"SIGINT": "interrupted", "SIGTERM": "ended on request", "SIGHUP": "the terminal was closed"}


class Ended(BaseException):
    """Another process, the end of the terminal, or Ctrl-C asked this process to stop: it cleans up first."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_status = 128 + getattr(signal, name)
        self.words = WORDS[name]


TOO_LATE = "asked to end too late: the files had got their names already, so the command has done all its work"
_first: list[str] = []  # the name of the signal that came first
_late: list[str] = []  # the names of those that came when files had got their names
_server: list[bool] = []  # not empty where this process only ends when it is asked to


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


def end_at_any_time() -> None:
    """Never find a request to end too late: a server writes files, too, and ends only when it is asked to."""
    _server.append(True)


def came_too_late() -> bool:
    """Tell whether this process was asked to end when its files had got their names already."""
    return bool(_late)


def _end(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    begun = "tclose.release.files" in sys.modules  # which a command without files never loads
    if begun and steps.anything_published() and not _server:
        _late.append(name)
        return
    ignore_endings()
    _first.append(name)
    raise Ended(_first[0])
