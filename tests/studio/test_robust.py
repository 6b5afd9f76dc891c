"""Nothing is lost and nothing is left: killed servers and workers, cancelled work, deleted projects, other users."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TIMES

from tclose.examples import hospital
from tclose.studio.project import Project

from .client import Browser
from .conftest import Running, readable_by_others, start, stop, wait_for
from .finished import COLUMNS, KEY, SCREENS

LARGE = 40_000  # rows that no machine has done before a test has cancelled them
CHANGES: dict[str, dict[str, str]] = {  # what is done on a screen before the studio is killed there
    "open/source": {"decimal": "."},
    "columns/role": {"place": "1", "role": "keep"},
    "quasi/k": {"k": "4"},
    "sensitive/column": {"place": "0", "t": "0.33"},
    "try/remove": {"number": "1"},
}


def kill(studio: Running) -> None:
    studio.process.kill()
    studio.process.communicate(timeout=1800)


def workers(studio: Running) -> list[int]:
    children = Path(f"/proc/{studio.process.pid}/task").glob("*/children")
    return [int(number) for each in children for number in each.read_text().split()]


def exchange_table(home: Path) -> None:
    """Put a table into the finished project whose release takes a while."""
    hospital(LARGE, seed=3).select(COLUMNS).write_csv(folder(home) / "source" / "patients.csv")


def folder(home: Path) -> Path:
    return home / ".tclose" / "studio" / KEY


def begin_try(browser: Browser, home: Path) -> Path:
    """Begin a long release, and return the folder of the candidate that is being made."""
    exchange_table(home)
    assert browser.post(f"/p/{KEY}/try/run", method="weave", effort="best").status == 303
    while not (made := folder(home) / "candidates" / "0003").exists():
        assert '"state":"running"' in browser.ask("GET", f"/p/{KEY}/job").text
    return made


def test_a_studio_that_is_killed_on_any_screen_loses_nothing(finished: Path, finished_home: Path) -> None:
    studio = start(finished_home)
    changing = {action.partition("/")[0] for action in CHANGES}
    for screen in SCREENS if TIMES > 1 else (each for each in SCREENS if each in changing):
        browser = Browser(studio)
        for action, form in CHANGES.items():
            if action.startswith(f"{screen}/"):
                assert browser.post(f"/p/{KEY}/{action}", **form).status == 303
        if screen == "open":
            wait_for(studio, KEY)
        before = browser.page(f"/p/{KEY}/{screen}")
        kill(studio)
        studio = start(finished_home)
        again = Browser(studio)
        assert again.page(f"/p/{KEY}/{screen}") == before, screen
    for _ in range(4):
        assert again.post(f"/p/{KEY}/undo", screen="quasi").status == 303
    stop(studio)
    as_before = Project(folder(finished_home)).settings
    assert as_before == Project(folder(finished)).settings


def test_half_a_candidate_disappears_when_the_studio_is_killed(finished_home: Path) -> None:
    studio = start(finished_home)
    made = begin_try(Browser(studio), finished_home)
    (worker,) = workers(studio)
    kill(studio)
    while Path(f"/proc/{worker}").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text():
        pass  # it ends by itself when its input does
    second = start(finished_home)
    text = Browser(second).page(f"/p/{KEY}/try")
    stop(second)
    assert not made.exists()
    assert text.count('scope="row"') == 2


@pytest.mark.soak
def test_a_candidate_that_another_studio_makes_stays(finished_home: Path) -> None:
    studio = start(finished_home)
    made = begin_try(Browser(studio), finished_home)
    second = start(finished_home, "--port", "0")
    assert Browser(second).ask("GET", f"/p/{KEY}/try").status == 200
    assert made.exists()
    stop(second)
    stop(studio)


def test_cancelled_work_leaves_nothing(running: Running) -> None:
    browser = Browser(running)
    made = begin_try(browser, running.home)
    assert browser.post(f"/p/{KEY}/cancel", screen="try").status == 303
    assert wait_for(running, KEY)["state"] == "cancelled"
    while made.exists():
        assert browser.ask("GET", f"/p/{KEY}/job").status == 200
    assert {each.name for each in made.parent.iterdir()} == {"0001", "0002"}


def test_a_killed_worker_is_one_sentence_and_the_next_job_works(running: Running) -> None:
    browser = Browser(running)
    made = begin_try(browser, running.home)
    for worker in workers(running):
        os.kill(worker, signal.SIGKILL)
    job = wait_for(running, KEY)
    assert (job["state"], job["error"]) == ("failed", "The work ended unexpectedly: is there enough memory?")
    assert job["error"] in browser.page(f"/p/{KEY}/try")
    assert not made.exists()
    browser.post(f"/p/{KEY}/inside/class", candidate="2")
    assert wait_for(running, KEY)["state"] == "done"


def test_a_job_of_one_project_does_not_block_another(running: Running, tmp_path: Path) -> None:
    browser = Browser(running)
    begin_try(browser, running.home)
    (tmp_path / "small.csv").write_text("age,pay\n" + "\n".join(f"{n},{n % 7}" for n in range(30)))
    other = browser.post("/open", path=str(tmp_path / "small.csv")).headers["location"].split("/")[2]
    assert browser.ask("GET", f"/p/{other}/open").status == 200
    assert wait_for(running, other)["state"] == "done"
    assert '"state":"running"' in browser.ask("GET", f"/p/{KEY}/job").text
    assert "30 rows" in browser.page(f"/p/{other}/open")


def test_a_deleted_project_is_gone_with_its_copies_and_its_work(running: Running) -> None:
    browser = Browser(running)
    begin_try(browser, running.home)
    assert browser.post("/delete", project=KEY, stays="nothing", sure="1").status == 303
    assert list((running.home / ".tclose" / "studio").iterdir()) == []
    assert workers(running) == []
    assert browser.ask("GET", f"/p/{KEY}/try").status == 404
    assert browser.ask("GET", f"/p/{KEY}/events").status == 404
    assert browser.ask("GET", "/").status == 200


def test_what_is_uploaded_is_nobody_elses(shared_studio: Running) -> None:
    browser = Browser(shared_studio)
    answer = browser.send_files(
        "/upload", table=("t.csv", b"a,b\n" + b"1,2\n" * 400_000)
    )  # larger than is kept in memory
    key = answer.headers["location"].split("/")[2]
    assert wait_for_look(browser, key)["state"] == "done"
    files = {"release": ("same.csv", b"a\n1\n"), "certificate": ("same.csv", b"{}")}
    assert browser.send_files(f"/p/{key}/verify/run", **files).status == 303
    assert wait_for(shared_studio, key)["state"] == "failed"
    assert list(shared_studio.home.rglob("same.csv")) == []  # they went with the verification
    assert readable_by_others(shared_studio.home) == []


def wait_for_look(browser: Browser, key: str) -> dict[str, Any]:
    assert browser.ask("GET", f"/p/{key}/open").status == 200
    return wait_for(browser.studio, key)


def test_an_upload_on_its_way_has_no_name(shared_studio: Running) -> None:
    """A second user of the machine cannot open it, and nothing is left of it when the browser goes away."""
    port, sent = shared_studio.port, 3 << 20
    head = (
        f"POST {shared_studio.root}/upload HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {shared_studio.origin}\r\n"
        f"Cookie: tclose-{port}={shared_studio.cookie}\r\nContent-Length: {2 * sent}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="table"; filename="secret.csv"\r\n\r\n'
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + b"x" * sent)
        while not (held := _spooled(shared_studio)):
            pass
        assert all(name.endswith("(deleted)") for name in held)
    while _spooled(shared_studio):
        pass
    assert list(shared_studio.home.rglob("*secret*")) == []


def _spooled(studio: Running) -> list[str]:
    """Return the temporary files that a studio has open."""
    names = []
    for each in Path(f"/proc/{studio.process.pid}/fd").iterdir():
        try:
            names.append(str(each.readlink()))
        except OSError:
            continue
    return [name for name in names if name.startswith(tempfile.gettempdir())]
