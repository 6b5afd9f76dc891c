"""The studio that a user already runs: where it listens, how a command asks it for a new address, and addresses.

A running studio keeps a file for its port in `~/.tclose/server`, closed to other users, with a secret of this run. The
secret itself is never sent: the command proves that it knows it, and so does the answer. A program that has taken the
port of a studio that ended learns nothing, and cannot send the user elsewhere.

An address lets a browser in once. A command's arguments are seen by every user of the machine. So a browser is started
with the name of a file that only the user can read, and the file leads to the address.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tclose.errors import InputError
from tclose.studio.project import PRIVATE_FILE, private_folder, small_private_file, write_whole

# Invitations: addresses that let a browser in, and the files through which a browser is led to them


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


# The running studio


fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # no lock on this system: two commands at the same moment start two studios
    fcntl = None

FIRST_PORT, PORTS = 8471, 100
ASKED = "/invite"  # the path to which a further command sends its question
NONCE, PROOF = "x-tclose-nonce", "x-tclose-proof"
MOST_ASKED = 1 << 16  # bytes of a question, and of its answer
PATIENCE = 10.0  # seconds for a whole answer; whoever has not given it by then is taken for another program


def proof(secret: str, purpose: str, *parts: bytes) -> str:
    """Prove that a secret is known, for one purpose; the parts are kept apart by their lengths."""
    message = b"".join(b"%d:%s" % (len(part), part) for part in (purpose.encode(), *parts))
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Instance:
    """A running studio, as its file says it."""

    port: int
    secret: str

    def write(self, folder: Path) -> None:
        """Let further commands find this studio; the folder tells a copy of the home from the home itself."""
        said = {"port": self.port, "secret": self.secret, "folder": str(folder.resolve())}
        write_whole(folder / f"{self.port}.json", json.dumps(said))

    def remove(self, folder: Path) -> None:
        """Let no command look for it any more; the file of another studio that has the port by now stays."""
        if _read(folder / f"{self.port}.json") == self:
            (folder / f"{self.port}.json").unlink(missing_ok=True)
            remove_files(folder, self.port)

    def question_proof(self, nonce: str, body: bytes) -> str:
        """Prove that a question comes from the user whose studio this is."""
        return proof(self.secret, "question", str(self.port).encode(), nonce.encode(), body)

    def answer_proof(self, nonce: str, body: bytes) -> str:
        """Prove that an answer comes from the studio that was asked, and belongs to the question."""
        return proof(self.secret, "answer", str(self.port).encode(), nonce.encode(), body)


def server_folder() -> Path:
    """Return the folder of the user's running studios."""
    return private_folder(private_folder(Path.home() / ".tclose") / "server")


@contextmanager
def starting(folder: Path) -> Iterator[None]:
    """Let one command at a time look for a running studio or start one."""
    place = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        if fcntl is not None:
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def ask(folder: Path, *, table: Path | None, project: Path | None, file: bool) -> Invitation | None:
    """Ask the user's running studio for a new address; None where none runs. Files of studios that ended go."""
    named = {"table": table, "project": project}
    question = {name: None if path is None else str(path.resolve()) for name, path in named.items()} | {"file": file}
    for path in sorted(folder.glob("*.json"), key=_changed, reverse=True):
        if (instance := _read(path)) is None:
            continue
        answer = _answer(instance, json.dumps(question).encode())
        if answer is None:
            instance.remove(folder)
        elif "error" in answer:
            raise InputError(str(answer["error"]))
        else:
            return Invitation(str(answer["address"]), Path(answer["file"]) if answer["file"] else None)
    return None


def _answer(instance: Instance, body: bytes) -> dict[str, Any] | None:
    """Return a studio's answer; None where nobody answers, or somebody who cannot prove to be that studio."""
    nonce = secrets.token_hex(16)
    connection = http.client.HTTPConnection(LOCAL, instance.port, timeout=PATIENCE)
    try:
        connection.connect()
        with _cut_off(connection.sock):
            connection.request("POST", ASKED, body, {NONCE: nonce, PROOF: instance.question_proof(nonce, body)})
            got = connection.getresponse()
            said = got.read(MOST_ASKED)
            given = got.headers.get(PROOF, "")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if not hmac.compare_digest(given.encode(), instance.answer_proof(nonce, said).encode()):
        return None
    answer: dict[str, Any] = json.loads(said)
    return answer


@contextmanager
def _cut_off(connection: socket.socket) -> Iterator[None]:
    """Cut a connection off after a while: a limit for each read would let another program answer letter by letter."""

    def cut() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(PATIENCE, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(path: Path) -> Instance | None:
    try:
        said = json.loads(small_private_file(path) or b"")
        port, secret, folder = said["port"], said["secret"], said["folder"]
    except (ValueError, KeyError, TypeError):
        return None
    fits = isinstance(port, int) and isinstance(secret, str) and path.name == f"{port}.json" and 0 < port < 1 << 16
    return Instance(port, secret) if fits and folder == str(path.parent.resolve()) else None


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def listening_socket(folder: Path, port: int | None) -> socket.socket:
    """Return a socket that listens on a port; where none is named, on the user's last one or the next free one."""
    if port is not None:
        try:
            return _listening(port)
        except OSError:
            raise InputError("port {port} cannot be used: name another one, or leave out --port", port=port) from None
    remembered = folder / "port"
    last = (small_private_file(remembered) or b"").decode(errors="replace")
    known = [int(last)] if last.isascii() and last.isdigit() and 0 < int(last[:9]) < 1 << 16 else []
    for candidate in (*known, *range(FIRST_PORT, FIRST_PORT + PORTS)):
        with suppress(OSError):
            found = _listening(candidate)
            write_whole(remembered, str(candidate))
            return found
    return _listening(0)


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # on Windows, another user could otherwise share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOCAL, port))
        made.listen()  # two sockets can be bound to one port, but only one of them listens
    except OSError:
        made.close()
        raise
    return made
