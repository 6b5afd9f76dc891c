"""Addresses that let a browser in, each of them once, and the files through which a browser is led to them.

A command's arguments are seen by every user of the machine. So a browser is started with the name of a file that only
the user can read, and the file leads to the address.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path

from tclose.studio.project import write_whole

LOCAL = "127.0.0.1"
MOST = 16  # addresses that wait for a browser; the oldest gives way to a new one
FILE = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>tclose studio</title>"
    "<meta name=referrer content=no-referrer><meta http-equiv=refresh content='0;url={address}'></head>"
    "<body><p><a href='{address}'>Open the studio</a></p></body></html>"
)


@dataclass(frozen=True)
class Invitation:
    """An address that works once, and the file that leads a browser to it, if one was asked for."""

    address: str
    file: Path | None = None


@dataclass(frozen=True)
class _Waiting:
    page: str
    file: Path | None


class Invitations:
    """The addresses of one run that were given out and not used yet."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.folder = port, folder
        remove_files(folder, port)  # of a studio that was killed: the port is this one's now
        self._waiting: dict[bytes, _Waiting] = {}  # by digest: how long a look-up takes tells nothing about a token
        self._lock, self._closed = threading.Lock(), False

    def issue(self, page: str, *, file: bool) -> Invitation:
        """Give out a new address that leads to a page; with `file`, a file that leads to it, too."""
        token = secrets.token_urlsafe(32)
        address = f"http://{LOCAL}:{self.port}/?token={token}"
        leading = self.folder / f"open-{self.port}-{secrets.token_hex(8)}.html" if file else None
        with self._lock:
            if leading is not None and not self._closed:
                write_whole(leading, FILE.format(address=address))
            self._waiting[_digest(token)] = _Waiting(page, leading)
            for oldest in list(self._waiting)[:-MOST]:
                _remove(self._waiting.pop(oldest))
        return Invitation(address, leading)

    def redeem(self, token: str) -> str | None:
        """Use a token up; return the page that it leads to, None where it is unknown or was used before."""
        with self._lock:  # of two requests at once, one finds the token
            waiting = self._waiting.pop(_digest(token), None)
        if waiting is None:
            return None
        _remove(waiting)
        return waiting.page

    def close(self) -> None:
        """Let no address work any more, and leave no file."""
        with self._lock:
            self._closed = True
            for waiting in self._waiting.values():
                _remove(waiting)
            self._waiting.clear()


def remove_files(folder: Path, port: int) -> None:
    """Remove the files that led to the addresses of a studio that has ended."""
    for left in folder.glob(f"open-{port}-*.html"):
        left.unlink(missing_ok=True)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _remove(waiting: _Waiting) -> None:
    if waiting.file is not None:
        waiting.file.unlink(missing_ok=True)
