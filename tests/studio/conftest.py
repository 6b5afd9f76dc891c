"""A studio of its own for every test that asks for one, in its real server and on a free port."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'tclose[studio]'")
pytest.importorskip("uvicorn", reason="the studio is not installed: pip install 'tclose[studio]'")
pytest.importorskip("multipart", reason="the studio is not installed: pip install 'tclose[studio]'")

from tclose.studio.instance import Invitation, ask


@dataclass
class Running:
    """A studio in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    home: Path

    @property
    def origin(self) -> str:
        return self.address.partition("/?")[0]

    @cached_property
    def entered(self) -> tuple[str, str]:
        """The folder of all pages and the value of the cookie that is bound to it; this uses an address up."""
        with urllib.request.urlopen(self.invite().address, timeout=1800) as entrance:
            cookie, path, *_ = entrance.headers["set-cookie"].split("; ")
        return path.removeprefix("Path="), cookie.partition("=")[2]

    def invite(self, *, file: bool = False) -> Invitation:
        """Ask for a new address, as a second command does."""
        invitation = ask(self.home / ".tclose" / "server", table=None, project=None, file=file)
        assert invitation is not None
        return invitation

    @property
    def root(self) -> str:
        return self.entered[0]

    @property
    def cookie(self) -> str:
        return self.entered[1]

    @property
    def base(self) -> str:
        """Where pages lie."""
        return f"{self.origin}{self.root}"

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def token(self) -> str:
        """What the printed address holds: it works once."""
        return self.address.partition("token=")[2]


TCLOSE = (sys.executable, "-c", "from tclose.cli import main; main()")


def start(home: Path, *arguments: str, browser: str = "", under: tuple[str, ...] = ()) -> Running:
    """Start a studio whose projects lie in a folder; `under` is a command that calls the studio's."""
    home.mkdir(exist_ok=True)
    shown = () if browser else ("--no-browser",)
    command = [*under, *TCLOSE, "studio", *shown, *arguments]
    process = subprocess.Popen(
        command,
        env={**os.environ, "HOME": str(home), "BROWSER": browser},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=1800)
    return Running(process, address, home)


def wait_for(running: Running, project: str, *, seconds: float = 1800) -> dict[str, Any]:
    """Wait until the job of a project has ended, and return what came of it."""
    cookie = {"Cookie": f"tclose-{running.port}={running.cookie}"}
    request = urllib.request.Request(f"{running.base}/p/{project}/events", headers=cookie)
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        for line in answer:
            if line.startswith(b"data: ") and (said := json.loads(line[6:]))["state"] != "running":
                return dict(said)
    raise AssertionError("there is no job")


def readable_by_others(home: Path) -> list[Path]:
    """Return the files and folders that another user of the machine could open."""
    return [path for path in (home / ".tclose").rglob("*") if path.stat().st_mode & 0o077]


def stop(running: Running) -> None:
    running.process.terminate()
    if running.process.stdout is not None and not running.process.stdout.closed:  # as after a test that killed it
        running.process.communicate(timeout=1800)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Running]:
    running = start(tmp_path / "home")
    yield running
    stop(running)


@pytest.fixture(scope="module")
def shared_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A studio for all tests of a file that only send requests."""
    running = start(tmp_path_factory.mktemp("shared") / "home")
    yield running
    stop(running)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
    from .visitor import CHROMIUM, FLAGS, PATIENCE

    playwright.expect.set_options(timeout=PATIENCE)

    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visitor(chromium: Any, studio: Running) -> Iterator[Any]:
    from .visitor import Visitor

    context = chromium.new_context(locale="en-US")
    yield Visitor(context, studio)
    context.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one project, called `done`, in which every screen has something to show."""
    from .finished import finish

    home = tmp_path_factory.mktemp("finished")
    finish(home)
    return home


class KeptStudio:
    """A studio that goes on from test to test: to start one takes as long as most tests."""

    def __init__(self, home: Path) -> None:
        self._homes = (home / str(number) for number in count())
        self._running: Running | None = None

    def with_projects_of(self, home: Path | None) -> Running:
        """Give it with the projects of a home, or with none; one that a test has ended or upset is replaced."""
        if self._running is None or not self._emptied(self._running):
            self.stop()
            self._running = start(next(self._homes))
        if home is not None:
            shutil.copytree(home, self._running.home, dirs_exist_ok=True)
        return self._running

    def _emptied(self, running: Running) -> bool:
        """Delete all projects, and what else belongs to a user; tell whether nothing is left but the server itself."""
        from .client import Browser

        if running.process.poll() is not None:
            return False
        own = running.home / ".tclose"
        for project in (own / "studio").iterdir():
            Browser(running).post("/delete", project=project.name, stays="nothing", sure="1")
        for other in {*own.iterdir()} - {own / "server", own / "studio"}:
            shutil.rmtree(other)
        return not [*(own / "studio").iterdir()]

    def stop(self) -> None:
        if self._running is not None:
            stop(self._running)


@pytest.fixture(scope="session")
def kept_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptStudio]:
    kept = KeptStudio(tmp_path_factory.mktemp("kept"))
    yield kept
    kept.stop()


@pytest.fixture
def running(kept_studio: KeptStudio, finished: Path) -> Running:
    """A studio with the finished project, which a test may change."""
    return kept_studio.with_projects_of(finished)


@pytest.fixture
def empty(kept_studio: KeptStudio) -> Running:
    """A studio without a project."""
    return kept_studio.with_projects_of(None)


@pytest.fixture
def finished_home(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "home"))
