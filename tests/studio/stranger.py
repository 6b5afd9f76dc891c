"""What another user of the machine tries; a script of its own, that runs as `nobody` without tclose."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def processes() -> list[dict[str, Any]]:
    """Return the commands of all processes, and the environments that can be read."""
    found: list[dict[str, Any]] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            said: dict[str, Any] = {"pid": int(folder.name)}
            for name in ("cmdline", "environ"):
                try:
                    said[name] = (folder / name).read_bytes().decode("latin-1").replace("\0", " ")
                except OSError:
                    said[name] = ""
            try:
                said["files"] = [str(each.readlink()) for each in (folder / "fd").iterdir()]
            except OSError:
                said["files"] = []
            found.append(said)
    return found


def files(*roots: str) -> dict[str, list[str]]:
    """Return what can be read, and where something can be written, below some folders."""
    readable: list[str] = []
    writable: list[str] = []
    for root in roots:
        for folder, _, names in os.walk(root):
            writable += [folder] if os.access(folder, os.W_OK) else []
            for name in names:
                path = Path(folder, name)
                try:
                    path.read_bytes()
                    readable.append(str(path))
                except OSError:
                    pass
    return {"readable": readable, "writable": writable}


def ask(port: str, *requests: str) -> list[str]:
    """Send requests as they are; return what is answered to each until the other side ends it."""
    answers = []
    for request in requests:
        with socket.create_connection(("127.0.0.1", int(port)), timeout=1800) as connection:
            connection.sendall(request.encode("latin-1"))
            said = b""
            try:
                while part := connection.recv(1 << 16):
                    said += part
            except ConnectionResetError:
                pass
            answers.append(said.decode("latin-1"))
    return answers


def hold(port: str, count: str) -> int:
    """Hold half-sent requests until the input ends, and open each anew that is ended."""
    ended = 0
    held: list[socket.socket] = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        while len(held) < int(count):
            connection = socket.create_connection(("127.0.0.1", int(port)), timeout=1800)
            connection.sendall(b"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nX-Slow: " % port.encode())
            held.append(connection)
            if len(held) == int(count) and not ended:
                sys.stdout.write("held\n")
                sys.stdout.flush()
        over = select.select(held, [], [], 0.1)[0]
        ended += len(over)
        for connection in over:
            connection.close()
        held = [connection for connection in held if connection not in over]
    return ended


def listen(port: str) -> list[str]:
    """Take a port and answer everything with an address of one's own, until the input ends; return what was sent."""
    seen = []
    with socket.create_server(("127.0.0.1", int(port)), backlog=16) as server:
        sys.stdout.write("held\n")
        sys.stdout.flush()
        while server in (ready := select.select([sys.stdin, server], [], [])[0]) or sys.stdin not in ready:
            connection, _ = server.accept()
            with connection:
                seen.append(connection.recv(1 << 16).decode("latin-1"))
                body = b'{"address": "http://127.0.0.1:1/?token=evil", "file": null}'
                head = b"HTTP/1.1 200 OK\r\nX-Tclose-Proof: " + b"0" * 64
                connection.sendall(head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return seen


Action = Callable[..., Any]
ACTIONS: dict[str, Action] = {"processes": processes, "files": files, "ask": ask, "hold": hold, "listen": listen}
if __name__ == "__main__":
    sys.stdout.write(json.dumps(ACTIONS[sys.argv[1]](*sys.argv[2:])))
