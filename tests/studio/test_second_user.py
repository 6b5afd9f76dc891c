"""Another user of the machine: `nobody` looks at a live studio, its processes, sockets, files, and holds its port."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .client import Browser
from .conftest import TCLOSE, Running, start, stop, wait_for
from .finished import KEY

NOBODY = 65534
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")  # one that everybody may run
HELD = 300  # half-sent requests
MARK = "Zanzibar-4711"  # in a table
pytestmark = [
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0,
        reason="only root can act as another user: run these tests as root",
    ),
    pytest.mark.skipif(PYTHON is None, reason="nobody needs a Python: sudo apt-get install -y python3"),
]


@dataclass
class Stranger:
    """Somebody who may look into a folder, and runs a script there as `nobody`."""

    place: Path

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        assert PYTHON is not None
        return subprocess.Popen(
            [PYTHON, "-I", str(self.place / "stranger.py"), *arguments],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def does(self, *arguments: str) -> Any:
        process = self.popen(*arguments)
        out, error = process.communicate(timeout=1800)
        assert process.returncode == 0, error
        return json.loads(out)

    @contextmanager
    def doing(self, *arguments: str) -> Iterator[list[Any]]:
        """Do something until the block ends; what came of it is put into a list."""
        result = list[Any]()
        process = self.popen(*arguments)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield result
        finally:
            out, error = process.communicate("end\n", timeout=1800)
        assert process.returncode == 0, error
        result.append(json.loads(out))


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    """A folder that everybody can look into: what is closed in it is closed by the studio itself."""
    place = Path(tempfile.mkdtemp(prefix="second-user-"))
    place.chmod(0o755)
    shutil.copy(Path(__file__).with_name("stranger.py"), place)
    (place / "stranger.py").chmod(0o644)
    yield Stranger(place)
    shutil.rmtree(place)


@pytest.fixture
def launch() -> Iterator[Callable[..., Running]]:
    """Start studios that end with the test, whatever comes of it."""
    with ExitStack() as running:

        def launched(home: Path, **given: Any) -> Running:
            studio = start(home, **given)
            running.callback(stop, studio)
            return studio

        yield launched


@pytest.fixture
def home(stranger: Stranger, finished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a finished project, and temporary files and caches beside it, that all may look into."""
    made = Path(shutil.copytree(finished, stranger.place / "home"))
    for name in ("home", "temporary", "cache"):
        (stranger.place / name).mkdir(exist_ok=True)
        (stranger.place / name).chmod(0o755)
    (made / ".tclose").chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(stranger.place / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(stranger.place / "cache"))
    return made


def secrets_of(studio: Running) -> set[str]:
    """Return everything that would let somebody in, or know the studio's pages."""
    browser = Browser(studio)
    (state,) = (studio.home / ".tclose" / "server").glob("*.json")
    (alive,) = re.findall(r'name="alive" content="(\w+)"', browser.ask("GET", "/").text)
    secret = json.loads(state.read_text())["secret"]
    return {studio.cookie, studio.root, browser.form_token, alive, secret, studio.token}


def test_the_process_list_names_a_file_and_no_secret(
    launch: Callable[..., Running], stranger: Stranger, home: Path
) -> None:
    program, opened = stranger.place / "browser", stranger.place / "opened"
    program.write_text(
        f'#!/bin/sh\necho "$$ $1" > {opened}.part; mv {opened}.part {opened}; exec tail -f /dev/null "$1"\n'
    )
    program.chmod(0o755)
    studio = launch(home, browser=f"{program} %s &")
    while not opened.exists():
        assert studio.process.poll() is None
    pid, uri = opened.read_text().split()
    try:
        file = Path(uri.removeprefix("file://"))
        (address,) = set(re.findall(r"http://[^']+", file.read_text()))
        assert address == studio.address
        known = secrets_of(studio) | {address.partition("token=")[2]}
        seen = stranger.does("processes")
        assert any(str(file) in each["cmdline"] for each in seen), "the browser is in the list"
        assert any(each["pid"] == studio.process.pid and "studio" in each["cmdline"] for each in seen)
        assert [each["environ"] for each in seen if each["pid"] == studio.process.pid] == [""]
        assert [each["files"] for each in seen if each["pid"] == studio.process.pid] == [[]]
        assert [secret for secret in known if secret in json.dumps(seen)] == []
        assert stranger.does("files", str(file.parent)) == {"readable": [], "writable": []}
        assert file.stat().st_mode & 0o777 == 0o600
        with urllib.request.urlopen(address, timeout=1800) as entrance:
            assert entrance.status == 200
        assert not file.exists()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address, timeout=1800)
    finally:
        os.kill(int(pid), signal.SIGKILL)
        stop(studio)


def test_nothing_that_the_studio_writes_can_be_opened(
    launch: Callable[..., Running], stranger: Stranger, home: Path
) -> None:
    studio = launch(home)
    browser = Browser(studio)
    answer = browser.send_files("/upload", table=("t.csv", b"name,pay\n" + f"{MARK},1\n".encode() * 200_000))
    key = answer.headers["location"].split("/")[2]
    assert browser.ask("GET", f"/p/{key}/open").status == 200
    assert wait_for(studio, key)["state"] == "done"
    browser.post(f"/p/{KEY}/inside/class", candidate="2")
    assert wait_for(studio, KEY)["state"] == "done"
    browser.send_files(f"/p/{KEY}/verify/run", release=("r.csv", b"a\n1\n"), certificate=("c.json", b"{}"))
    assert wait_for(studio, KEY)["state"] == "failed"
    leading = studio.invite(file=True).file
    assert leading is not None
    found = stranger.does("files", str(stranger.place))
    stop(studio)
    assert found == {"readable": [str(stranger.place / "stranger.py")], "writable": []}
    assert not leading.exists()
    everything = [path for path in (home / ".tclose").rglob("*") if not path.is_symlink()]
    assert len(everything) > 30
    assert {oct(path.stat().st_mode & 0o777) for path in everything} <= {"0o700", "0o600"}


def test_requests_without_the_cookie_learn_nothing(
    launch: Callable[..., Running], stranger: Stranger, home: Path
) -> None:
    studio = launch(home)
    known = secrets_of(studio)
    port, root, token = studio.port, studio.root, studio.invite().address.partition("token=")[2]
    with urllib.request.urlopen(f"{studio.origin}/?token={token}", timeout=1800) as entrance:
        assert entrance.status == 200
    guess, nonce = "A" * 43, "0" * 32
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    asked = [
        f"/?token={token}",
        f"/?token={guess}",
        "/?token=",
        "/",
        "/static/studio.js",
        f"/p/{KEY}/open",
        f"/{guess}/",
    ]
    asked += [
        f"{root}{path}" for path in ("/", f"/p/{KEY}/events", f"/p/{KEY}/job", f"/p/{KEY}/publish?file=release.csv")
    ]
    requests = [f"GET {path} {head}{more}\r\n" for path in asked for more in ("", f"Cookie: tclose-{port}={token}\r\n")]
    requests += [f"GET {root}/ {head}Cookie: tclose-{port}={guess}\r\n\r\n", f"HEAD /?token={guess} {head}\r\n"]
    body = '{"table": "/etc/passwd", "project": null, "file": false}'
    told = f"{head}Content-Length: {len(body)}\r\n"
    for proof in ("", "X-Tclose-Proof: \r\n", f"X-Tclose-Proof: {'0' * 64}\r\n"):
        requests.append(f"POST /invite {told}X-Tclose-Nonce: {nonce}\r\n{proof}\r\n{body}")
    form = f"form_token={guess}&path=/etc/passwd"
    own = f"Origin: http://127.0.0.1:{port}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    requests.append(f"POST {root}/open {head}{own}Content-Length: {len(form)}\r\n\r\n{form}")
    answers = stranger.does("ask", str(port), *requests)
    alive = stranger.does("ask", str(port), f"GET /alive?nonce={nonce} {head}\r\n", f"GET /alive {head}\r\n")
    tables = len(list((home / ".tclose" / "studio").iterdir()))
    stop(studio)
    assert [answer.partition("\r\n")[0] for answer in answers] == ["HTTP/1.1 403 Forbidden"] * len(requests)
    assert "This address works once" in answers[0]
    assert re.fullmatch(r"[0-9a-f]{64}", alive[0].rpartition("\r\n")[2])
    assert alive[1].startswith("HTTP/1.1 403")
    assert [secret for secret in known if secret in json.dumps([answers, alive])] == []
    assert "set-cookie" not in json.dumps(answers).lower()
    assert tables == 1, "nothing was opened"


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="install it with: sudo apt-get install -y util-linux")
@pytest.mark.one_in(2)
@pytest.mark.parametrize("files", ["256:256", "256:4096"], ids=["256 at most", "256 that can be raised"])
def test_half_sent_requests_do_not_stop_the_studio(
    launch: Callable[..., Running], stranger: Stranger, home: Path, files: str
) -> None:
    studio = launch(home, under=("prlimit", f"--nofile={files}"))
    browser = Browser(studio)
    assert browser.ask("GET", "/").status == 200
    with stranger.doing("hold", str(studio.port), str(HELD)) as ended:
        for _ in range(20):
            assert browser.ask("GET", f"/p/{KEY}/columns").status == 200
        assert browser.post(f"/p/{KEY}/inside/class", candidate="2").status == 303
        assert wait_for(studio, KEY)["state"] == "done"
    if files == "256:256":
        assert ended[0] > 0, "some had to go"


def test_whoever_takes_the_port_of_a_killed_studio_gets_and_says_nothing(
    launch: Callable[..., Running], stranger: Stranger, home: Path
) -> None:
    studio = launch(home)
    known = secrets_of(studio)
    studio.process.kill()
    studio.process.communicate(timeout=1800)
    with stranger.doing("listen", str(studio.port)) as seen:
        again = launch(home)
        assert again.port != studio.port
        assert Browser(again).ask("GET", "/").status == 200
    assert len(seen[0]) == 1
    assert seen[0][0].startswith("POST /invite ")
    assert [secret for secret in known if secret in seen[0][0]] == []


def test_files_of_another_user_are_not_trusted(launch: Callable[..., Running], stranger: Stranger, home: Path) -> None:
    server = home / ".tclose" / "server"
    server.mkdir(mode=0o700, exist_ok=True)
    for port, owner, mode in ((4711, NOBODY, 0o600), (4712, 0, 0o644)):
        path = server / f"{port}.json"
        path.write_text(json.dumps({"port": port, "secret": "x", "folder": str(server)}))
        path.chmod(mode)
        os.chown(path, owner, owner)
    os.mkfifo(server / "4713.json", 0o600)
    (server / "4714.json").symlink_to(server / "4711.json")
    studio = launch(home)
    stop(studio)
    assert len(list(server.glob("471?.json"))) == 4, "they are not even asked"
    os.chown(server, NOBODY, NOBODY)
    command = [*TCLOSE, "studio", "--no-browser"]
    refused = subprocess.run(
        command, env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, timeout=1800
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is no folder of this user" in refused.stderr
