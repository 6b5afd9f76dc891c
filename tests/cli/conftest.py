"""The command line, run in this process or in one of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tclose.cli import run

SECRET = "S3CR3T"  # stands in a cell of every table; only --show-values may ever print it


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    def refuses(self, *fragments: str, usage: bool = False) -> None:
        """Assert one clear line on stderr, nothing on stdout, and no cell anywhere."""
        assert self.status == 2, self.err
        assert self.out == ""
        assert SECRET not in self.err
        assert "Traceback" not in self.err
        *before, line = self.err.splitlines()
        assert line.startswith("error: ")
        assert usage or not before, self.err
        for fragment in fragments:
            assert fragment in line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tclose(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs a command in this process."""

    def call(*arguments: str) -> Outcome:
        status = run(list(arguments))
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture
def process(folder: Path) -> Callable[..., Outcome]:
    """Return a function that runs a command as a shell would."""

    def call(*arguments: str, stdin: bytes = b"", **environment: str) -> Outcome:
        command = [sys.executable, "-c", "from tclose.cli import main; main()", *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, cwd=folder, env={**os.environ, **environment}, check=False
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
