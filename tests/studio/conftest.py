"""A studio of its own for every test that asks for one, in its real server and on a free port."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'tclose[studio]'")
pytest.importorskip("uvicorn", reason="the studio is not installed: pip install 'tclose[studio]'")
pytest.importorskip("multipart", reason="the studio is not installed: pip install 'tclose[studio]'")


@dataclass
class Running:
    """A studio in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    home: Path

    @property
    def origin(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]


def start(home: Path, *arguments: str) -> Running:
    """Start a studio whose projects lie in a folder."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-c", "from tclose.cli import main; main()", "studio", "--no-browser", *arguments]
    process = subprocess.Popen(
        command, env={**os.environ, "HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=20)
    return Running(process, address, home)


def stop(running: Running) -> None:
    running.process.terminate()
    running.process.communicate(timeout=60)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Running]:
    running = start(tmp_path / "home")
    yield running
    stop(running)
