"""Files that are dropped on Verify lie on the disk as long as the verification takes, and no longer."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tclose.studio.home import Dropped, Home, remove_left

from .client import Browser
from .conftest import Running, start, stop, wait_for
from .finished import KEY
from .test_robust import folder, kill, workers


def dropped(home: Path) -> list[Path]:
    """Return the files that lie where dropped ones do."""
    return [path for path in (folder(home) / "results" / "dropped").rglob("*") if path.is_file()]


def drop(browser: Browser, certificate: bytes = b"{}") -> None:
    files = {"release": ("r.csv", b"a\n1\n"), "certificate": ("c.json", certificate)}
    assert browser.send_files(f"/p/{KEY}/verify/run", **files).status == 303


def hold_worker(studio: Running, browser: Browser) -> int:
    """Stop the project's worker, so that the next verification takes until it is killed or goes on."""
    drop(browser)
    assert wait_for(studio, KEY)["state"] == "failed"
    (worker,) = workers(studio)
    os.kill(worker, signal.SIGSTOP)
    return worker


def test_they_go_when_the_verification_is_over(running: Running) -> None:
    browser, release = Browser(running), folder(running.home) / "releases" / "1"
    drop(browser)
    assert wait_for(running, KEY)["state"] == "failed"
    assert dropped(running.home) == []
    files = {name: (f"{name}{end}", (release / f"{name}{end}").read_bytes()) for name, end in
             (("release", ".csv"), ("certificate", ".json"))}  # fmt: skip
    assert browser.send_files(f"/p/{KEY}/verify/run", **files).status == 303
    assert wait_for(running, KEY)["state"] == "done"
    assert dropped(running.home) == []
    assert "release.csv" in browser.page(f"/p/{KEY}/verify"), "the verdict stays"


def test_half_of_what_is_needed_is_not_kept(running: Running) -> None:
    browser = Browser(running)
    answer = browser.send_files(f"/p/{KEY}/verify/run", release=("r.csv", b"a\n1\n"))
    assert "said=choose+a+release+and+its+certificate" in answer.headers["location"]
    assert dropped(running.home) == []


def test_they_go_when_they_are_replaced_or_cancelled_and_when_the_studio_ends(finished_home: Path) -> None:
    studio = start(finished_home)
    browser = Browser(studio)
    hold_worker(studio, browser)
    drop(browser, b"first")
    assert {path.read_bytes() for path in dropped(finished_home)} == {b"a\n1\n", b"first"}
    drop(browser, b"second")  # the stopped worker is killed, and a new one fails at once
    assert wait_for(studio, KEY)["state"] == "failed"
    assert dropped(finished_home) == []
    hold_worker(studio, browser)
    drop(browser)
    assert len(dropped(finished_home)) == 2
    assert browser.post(f"/p/{KEY}/cancel", screen="verify").status == 303
    assert dropped(finished_home) == []
    hold_worker(studio, browser)
    drop(browser)
    assert len(dropped(finished_home)) == 2
    stop(studio)
    assert dropped(finished_home) == []


def test_the_next_start_removes_what_a_killed_studio_left(finished_home: Path) -> None:
    studio = start(finished_home)
    browser = Browser(studio)
    worker = hold_worker(studio, browser)
    drop(browser)
    kill(studio)
    os.kill(worker, signal.SIGKILL)
    assert len(dropped(finished_home)) == 2
    stop(start(finished_home))
    assert dropped(finished_home) == []


def test_what_another_studio_verifies_stays(finished_home: Path) -> None:
    project = folder(finished_home)
    held = Dropped(project)
    (held.folder / "r.csv").write_text("a\n1\n")
    old = project / "results" / "dropped" / "release"  # as earlier versions kept them
    old.mkdir()
    (old / "r.csv").write_text("a\n1\n")
    Home(finished_home / ".tclose" / "studio")
    assert dropped(finished_home) == [held.folder / "r.csv"]
    held.remove()
    held.remove()
    assert dropped(finished_home) == []
    remove_left(finished_home)
