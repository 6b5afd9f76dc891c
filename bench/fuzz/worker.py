"""What the processes of a fuzz run do: each runs many cases in itself, through the entry of the console script."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cases import Case, Command, Outcome, broken, case_of, write_published
from tclose.table.sources.door import kept_open

MEMORY = 6 << 30  # bytes of addresses: a damaged file may not take the machine's memory

RUN_AGAIN = """import pathlib, os, subprocess, sys
os.chdir(pathlib.Path(__file__).parent)
for arguments in {commands!r}:
    print("$ tclose", *map(repr, arguments), flush=True)
    command = [sys.executable, "-c", "from tclose.cli import main; main()", *arguments]
    print("exit status", subprocess.run(command, env={{**os.environ, "NO_COLOR": "1"}}).returncode, flush=True)
"""


def work(given: argparse.Namespace) -> int:
    """Do one of the things that only the fuzz run itself asks for."""
    if given.make_published:
        write_published(given.make_published, _run)
    elif given.write:
        folder, seed = Path(given.write[0]), int(given.write[1])
        case = case_of(seed, given.published)
        _lay_out(case, folder)
        (folder / "run.py").write_text(RUN_AGAIN.format(commands=[list(c) for c in case.commands]), encoding="utf-8")
    else:
        _serve(given.work)
    return 0


def _serve(published: Path) -> None:
    """Run the cases whose seeds come in; answer on what was standard output."""
    _limit_memory()
    answers = os.fdopen(os.dup(1), "w")
    folder = Path(tempfile.mkdtemp())
    captured = [_capture(fd, folder / name) for fd, name in ((1, "out"), (2, "err"))]
    try:
        with kept_open():  # as the studio does: a process for each file would take .3 s
            for line in sys.stdin:
                case = case_of(int(line), published)
                answers.write(json.dumps({"kind": case.kind, "what": _what(case, folder / "case", captured)}) + "\n")
                answers.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _capture(fd: int, path: Path) -> Callable[[], bytes]:
    """Send everything that is written to a descriptor, by Python or by a library, to a file; return its reader."""
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(target, fd)

    def taken() -> bytes:
        (sys.stdout if fd == 1 else sys.stderr).flush()
        content = path.read_bytes()
        os.ftruncate(target, 0)
        return content

    return taken


def _lay_out(case: Case, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)


def _what(case: Case, folder: Path, captured: list[Callable[[], bytes]]) -> str | None:
    """Run a case; return what is wrong with it."""
    _lay_out(case, folder)
    os.chdir(folder)
    outcomes = []
    for command in case.commands:
        status = _run(command)
        outcomes.append(Outcome(command, status, *(take() for take in captured)))
        if what := broken(outcomes[-1]):
            return f"{command[0]}: {what}"
    return case.rule(outcomes)


def _run(command: Command) -> int:
    """Run a command as the console script does; the streams that it replaces come back, as in a new process."""
    from tclose.cli import main

    streams = sys.stdout, sys.stderr
    sys.argv = ["tclose", *command]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
    return -1
