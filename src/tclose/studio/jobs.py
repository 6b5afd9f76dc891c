"""The server's side of long work: one process per project, its jobs, how far they are, and who cancels them.

Streams tell pages how far a job is: a few at a time, since a browser has six connections for all its tabs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tclose.messages import from_json
from tclose.studio.project import Project
from tclose.studio.register import remove_incomplete

# Streams


MOST = 4


class Stream:
    """One stream; a newer one may take its place."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake, self.over = wake, False

    def end(self) -> None:
        """Let it end, now."""
        self.over = True
        self._wake()


class Streams:
    """All streams of a studio; only the server's own thread changes them."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self._open, self._closed = most, list[Stream](), False

    def open(self, wake: Callable[[], None]) -> Stream:
        """Begin a stream; where there are too many, the oldest ends."""
        stream = Stream(wake)
        self._open.append(stream)
        while len(self._open) > self.most:
            self._open.pop(0).end()
        if self._closed:
            stream.end()
        return stream

    def close(self, stream: Stream) -> None:
        """Count a stream no more."""
        if stream in self._open:
            self._open.remove(stream)

    def end(self) -> None:
        """Let all of them end, and new ones at once: the studio does."""
        self._closed = True
        for each in self._open:
            each.end()


# Jobs


PATIENCE = 1.5  # seconds that a cancelled job has to end by itself
MOST_JOBS = 20  # of a process; then a new one begins with fresh memory
MOST_PROCESSES = 4
SECRET = "passphrase"  # which no job keeps
WAITED_FOR = "publish"  # the kind of work that no other work ends: what is started meanwhile is done after it


class Seen(NamedTuple):
    """How a job looks at a moment."""

    share: float
    phase: str
    state: str


@dataclass
class Job:
    """One piece of work: what it is, how far it is, and what came of it."""

    number: int
    kind: str
    share: float = 0.0
    phase: str = ""
    state: str = "running"  # done, failed, cancelled
    error: str = ""
    result: Any = None
    notes: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)  # what it was asked for, without secrets
    fingerprint: str = ""  # of the settings and the table for which it was started
    begun: float = field(default_factory=time.monotonic)
    after: Callable[[], None] | None = None  # what is done when it is over, however it ends

    @property
    def running(self) -> bool:
        """Whether it is still going on."""
        return self.state == "running"

    @property
    def seen(self) -> Seen:
        """How it looks now."""
        return Seen(self.share, self.phase, self.state)

    def failed_for(self, fingerprint: str) -> bool:
        """Say whether it failed with the settings and the table as they are; other ones may do."""
        return self.state == "failed" and self.fingerprint == fingerprint

    def warns_of(self, fingerprint: str) -> bool:
        """Say whether its warnings are about the settings and the table as they are."""
        return self.state == "done" and self.fingerprint == fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Return what a page is told."""
        told = {"job": self.number, "kind": self.kind, "share": self.share, "phase": self.phase}
        return {**told, "state": self.state, "error": self.error, "seconds": round(time.monotonic() - self.begun, 1)}


class Process:
    """The process that works for one project."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.jobs, self.used = folder, dict[int, Job](), time.monotonic()
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None
        self._begun = 0

    @property
    def current(self) -> Job | None:
        """The job that was started last, of those that are running if there are any."""
        running = [number for number, job in self.jobs.items() if job.running]
        return self.jobs[max(running or self.jobs)] if self.jobs else None

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return any(job.running for job in self.jobs.values())

    def start(self, number: int, kind: str, given: dict[str, Any], after: Callable[[], None] | None = None) -> Job:
        """Start a job; one that is running is cancelled, but publishing goes on, and the same is not begun twice."""
        job = Job(number, kind, given={name: value for name, value in given.items() if name != SECRET}, after=after)
        for running in [job for job in self.jobs.values() if job.running]:
            if running.kind != WAITED_FOR:
                self.cancel(running)
            elif (running.kind, running.given) == (kind, job.given):
                return running  # of a button that was pressed twice
        with self._changed:
            process = self._ready()
            self.jobs = {key: value for key, value in self.jobs.items() if key > number - 50} | {number: job}
            self._send(process, {"job": number, "kind": kind, "folder": str(self.folder), "given": given})
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job: it ends by itself, or its process is killed."""
        with self._changed:
            process = self._process
            if not job.running or process is None:
                return
            self._send(process, {"cancel": job.number})
            if any(other.running and other.number < job.number for other in self.jobs.values()):
                self._set(job, state="cancelled")  # it waits, and the process does not begin it
                return
            self._changed.wait_for(lambda: not job.running, PATIENCE)
            if job.running:
                process.kill()
                self._process = None
                self._set(job, state="cancelled")

    def wait_for_news(self, job: Job, seen: Seen, seconds: float, stream: Stream) -> None:
        """Wait until a job is not as it was seen, or the stream that tells it is over; at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: stream.over or job.seen != seen, seconds)

    def wake(self) -> None:
        """Let everyone who waits for news look whether it is still wanted."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End the process."""
        with self._changed:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None
            for job in self.jobs.values():
                if job.running:
                    self._set(job, state="cancelled")

    def _ready(self) -> subprocess.Popen[str]:
        self.used = time.monotonic()
        worn = self._begun >= MOST_JOBS and not self.busy
        if self._process is not None and (worn or self._process.poll() is not None):
            self._process.kill()
            self._process = None
        if self._process is None:
            self._begun = 0
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tclose.studio.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        self._begun += 1
        return self._process

    def _send(self, process: subprocess.Popen[str], said: dict[str, Any]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(said) + "\n")
            process.stdin.flush()
        except OSError:  # it has just ended; `_listen` says so
            return

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said = from_json(json.loads(line))
            with self._changed:
                if (job := self.jobs.get(said.pop("job"))) is not None and job.running:
                    self._set(job, **said)
        process.wait()
        if self.folder.is_dir():
            remove_incomplete(Project(self.folder))
        with self._changed:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not sent to it is of no use any more
                    if pipe is not None:
                        pipe.close()
            if self._process is process:
                self._process = None
                for job in self.jobs.values():
                    if job.running:
                        self._set(job, state="failed", error="The work ended unexpectedly: is there enough memory?")

    def _set(self, job: Job, **said: Any) -> None:
        if not said.get("phase"):
            said.pop("phase", None)
        if said.get("state", "running") != "running" and job.after is not None:
            job.after()  # before anybody hears of the end
        vars(job).update(said)
        self._changed.notify_all()


class Jobs:
    """The processes of all projects."""

    def __init__(self) -> None:
        self._processes: dict[Path, Process] = {}
        self._numbers, self._lock = count(1), threading.Lock()

    def of(self, folder: Path) -> Process:
        """Return the process of a project; those that nobody needs end when there are many."""
        with self._lock:
            found = self._processes.setdefault(folder, Process(folder))
            idle = sorted((p for p in self._processes.values() if p is not found and not p.busy), key=lambda p: p.used)
            for process in idle[: max(len(self._processes) - MOST_PROCESSES, 0)]:
                process.close()
                del self._processes[process.folder]
            return found

    def start(self, folder: Path, kind: str, *, after: Callable[[], None] | None = None, **given: Any) -> Job:
        """Start a job for a project; `after` is called when it is over, however it ends."""
        return self.of(folder).start(next(self._numbers), kind, given, after)

    def forget(self, folder: Path) -> None:
        """End the process of a project that is deleted."""
        with self._lock:
            process = self._processes.pop(folder, None)
        if process is not None:
            process.close()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            process.close()
