"""The process that does a project's long work: it takes jobs as lines of JSON, and answers with progress and results.

It ends when its standard input does, so none is left when the studio is killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from pathlib import Path
from queue import Queue
from typing import Any, TextIO

from tclose import steps
from tclose.errors import Cancelled, TcloseError
from tclose.messages import say, to_json
from tclose.studio.pages import sentence_of
from tclose.studio.work import WORK

FEWEST_BETWEEN = 0.005  # of the work; less is not worth a line


class Worker:
    """Runs one job after the other."""

    def __init__(self, answers: TextIO) -> None:
        self._answers, self._lock = answers, threading.Lock()
        self._waiting: Queue[dict[str, Any] | None] = Queue()
        self._cancelled: set[int] = set()

    def listen(self, lines: TextIO) -> None:
        """Take jobs, and who is cancelled; nothing more comes after the end of the input."""
        for line in lines:
            said = json.loads(line)
            if "cancel" in said:
                self._cancelled.add(said["cancel"])
            else:
                self._waiting.put(said)
        os._exit(0)

    def work(self) -> None:
        """Do the jobs."""
        while (job := self._waiting.get()) is not None:
            self._do(job)

    def _do(self, job: dict[str, Any]) -> None:
        number, last = job["job"], -1.0

        def progress(share: float, phase: str = "") -> None:
            nonlocal last
            if number in self._cancelled:
                raise Cancelled("cancelled")
            if phase or share - last >= FEWEST_BETWEEN:
                last = share
                self._say(job=number, share=round(share, 3), phase=phase)

        notes: list[str] = []
        try:
            if number in self._cancelled:  # while it waited
                raise Cancelled("cancelled")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = WORK[job["kind"]](Path(job["folder"]), progress, **job["given"])
            notes += [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
            self._say(job=number, state="done", result=result, notes=notes)
        except Cancelled:
            self._say(job=number, state="cancelled")
        except (TcloseError, OSError) as error:
            self._say(job=number, state="failed", error=sentence_of(error))
        except MemoryError:
            steps.forget_files()
            self._say(job=number, state="failed", error="There is not enough memory for this.")
        except Exception as error:  # its message could quote a cell
            self._say(
                job=number,
                state="failed",
                error=say("This is a mistake of tclose ({kind}).", kind=type(error).__name__),
            )

    def _say(self, **said: Any) -> None:
        with self._lock:
            self._answers.write(json.dumps(to_json(said)) + "\n")
            self._answers.flush()


def main() -> None:
    """Work until the input ends; what libraries print goes nowhere near the answers."""
    os.umask(0o077)  # everything that libraries write is the user's own, too
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    worker = Worker(answers)
    threading.Thread(target=worker.listen, args=(sys.stdin,), daemon=True).start()
    with steps.files_kept():  # one project has one worker, so all files are of one owner
        worker.work()


if __name__ == "__main__":
    main()
