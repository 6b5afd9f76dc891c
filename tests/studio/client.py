"""Requests to a studio, one at a time, as a browser sends them or as somebody hostile does."""

from __future__ import annotations

import http.client
import re
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from .conftest import Running


class Browser:
    """Sends single requests, with whatever headers a test wants."""

    def __init__(self, studio: Running) -> None:
        self.studio = studio
        self.host = studio.origin.removeprefix("http://")

    def ask(self, method: str, path: str, form: dict[str, str] | bytes | None = None, **headers: str | None) -> Any:
        """Ask for a path below the studio's own folder; where an answer leads is told without it, too."""
        below = path if path.startswith("/?token=") else f"{self.studio.root}{path}"
        port = int(self.host.partition(":")[2])
        usual: dict[str, str | None] = {"Host": self.host}
        if "Cookie" not in headers:
            usual["Cookie"] = f"tclose-{port}={self.studio.cookie}"
        if method == "POST":
            usual |= {"Origin": self.studio.origin, "Content-Type": "application/x-www-form-urlencoded"}
        sent = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1800)
        connection.putrequest(method, below, skip_host=True, skip_accept_encoding=True)
        body = form if isinstance(form, bytes) else urlencode(form or {}).encode()
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if method == "POST" and "Content-Length" not in sent:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body if method == "POST" else None)
        answer = connection.getresponse()
        answer.text = answer.read().decode()  # type: ignore[attr-defined]
        connection.close()
        if (leads := answer.getheader("location")) is not None:
            answer.headers.replace_header("location", leads.removeprefix(self.studio.root))
        return answer

    @cached_property
    def form_token(self) -> str:
        return str(self.ask("GET", "/").text.partition('X-Form-Token": "')[2].partition('"')[0])

    def post(self, to: str, /, **form: str) -> Any:
        return self.ask("POST", to, {"form_token": self.form_token, **form})

    def send_files(self, path: str, **files: tuple[str, bytes]) -> Any:
        """Upload files, each by its name and its bytes."""
        line = "----tclose"
        body = f'--{line}\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{self.form_token}\r\n'.encode()
        for field, (name, data) in files.items():
            head = f'--{line}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
            body += head.encode() + data + b"\r\n"
        body += f"--{line}--\r\n".encode()
        return self.ask("POST", path, body, Content_Type=f"multipart/form-data; boundary={line}")

    def page(self, path: str) -> str:
        """Return a page without what differs from run to run."""
        answer = self.ask("GET", path)
        assert answer.status == 200, (path, answer.status)
        return re.sub(r"[0-9a-f]{64}", "", answer.text.replace(self.studio.root, ""))
