"""Hostile inputs that reach the studio through its own forms: each is refused in a sentence or shown as it is."""

from __future__ import annotations

import re
import shutil
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.conftest import TIMES

import tclose.studio
from tclose.studio import work
from tclose.studio.home import LONGEST_NAME, safe_name
from tclose.studio.project import Project, write_whole
from tclose.studio.screens import SCREENS as DECLARED

from .client import Browser
from .conftest import Running, start, stop
from .finished import KEY, SCREENS, ready, silent
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}'\"</textarea></title>"
TEMPLATES = Path(tclose.studio.__file__).parent / "templates"
FIELDS = sorted(set(re.findall(r'name="([a-z_]+)"', "".join(each.read_text() for each in TEMPLATES.glob("*.html")))))
VALUES = [
    "²",
    "9" * 5000,
    "-1",
    "\0",
    SCRIPT,
    "/etc/passwd",
    "../../project.json",
    "٣",
    "nan",
    "\ud7ff\U0010ffff",
    "~nobody-at-all",
]
WORKING = {"risk/judge", "open/again"}  # need no field, and so do nothing new with hostile ones


@pytest.fixture(scope="module")
def attacked(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    studio = start(Path(shutil.copytree(finished, tmp_path_factory.mktemp("hostile") / "home")))
    yield studio
    stop(studio)


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_no_field_of_any_form_is_an_error_500(attacked: Running, value: str) -> None:
    browser = Browser(attacked)
    form = {name: value for name in FIELDS if name not in ("form_token", "project")}
    actions = [f"{screen.name}/{action}" for screen in DECLARED for action in screen.actions]
    for action in [*(each for each in actions if each not in WORKING), "undo", "redo", "cancel"]:
        assert browser.post(f"/p/{KEY}/{action}", **form).status < 500, action
    for path in ("/open", "/language", "/delete"):
        assert browser.post(path, **form, project=value).status < 500, path
    for screen in SCREENS:
        for query in ("candidate", "file", "said", "class"):
            answer = browser.ask("GET", f"/p/{KEY}/{screen}?" + "".join(f"{query}=%{byte:02x}" for byte in b"'<\0\xff"))
            assert answer.status < 500, screen
        for part in next(each.parts for each in DECLARED if each.name == screen):
            answer = browser.ask("GET", f"/p/{KEY}/{screen}/{part}?{urlencode(form)}"[:60_000])
            assert answer.status < 500, (screen, part)
    assert browser.ask("GET", f"/p/{KEY}/columns").status == 200


def test_more_than_was_announced_is_not_read(attacked: Running) -> None:
    port, browser = attacked.port, Browser(attacked)
    head = (
        f"POST {attacked.root}/upload HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {attacked.origin}\r\n"
        f"Cookie: tclose-{port}={attacked.cookie}\r\nContent-Length: 200\r\nX-Form-Token: {browser.form_token}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="table"; filename="liar.csv"\r\n\r\n'
    )
    with socket.create_connection(("127.0.0.1", port), timeout=1800) as connection:
        try:
            connection.sendall(head.encode() + b"x" * (8 << 20))
            answer = connection.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            answer = b"HTTP/1.1 400"
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 303")
    stored = [path for path in attacked.home.rglob("liar.csv") if path.stat().st_size > 200]
    assert stored == []
    assert browser.ask("GET", "/").status == 200


def test_forms_without_end(attacked: Running) -> None:
    browser = Browser(attacked)
    assert browser.post(f"/p/{KEY}/quasi/k", **{f"f{n}": "" for n in range(6000)}).status == 400
    assert browser.post(f"/p/{KEY}/quasi/k", k="9" * 900_000).status in (303, 400)
    many = {f"f{n}": ("a.csv", b"a\n") for n in range(5)}
    assert browser.send_files("/upload", **many).status == 400
    assert (
        browser.ask("POST", "/upload", b"--x\r\nrubbish", Content_Type="multipart/form-data; boundary=x").status < 500
    )
    assert browser.ask("POST", "/upload", b"rubbish", Content_Type="multipart/form-data").status < 500


@pytest.mark.parametrize(
    "name",
    ["../../../etc/cron.d/x.csv", "..", ".", "C:\\x\\..\\y.csv", "a/b\0c.csv", "é" * 300 + ".csv", "." * 400, SCRIPT],
)
def test_names_of_uploads_are_never_paths(attacked: Running, name: str) -> None:
    browser, before = Browser(attacked), set(attacked.home.rglob("*"))
    sent = name.replace('"', "%22").replace("\0", "%00")
    answer = browser.send_files("/upload", table=(sent, b"a,b\n1,2\n"))
    assert answer.status in (303, 400)
    new = [path for path in set(attacked.home.rglob("*")) - before if path.is_file()]
    assert {path.parent.name for path in new if path.name != "project.json"} <= {"source"}
    safe = safe_name(name, "table")
    assert 0 < len(safe.encode()) <= LONGEST_NAME
    assert Path(safe).name == safe
    assert not safe.startswith(".")


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_hostile_labels_contexts_and_results_are_shown_as_they_are(chromium: Any, tmp_path: Path) -> None:
    """Hierarchy labels and context texts reach every screen, through the policy and through the release."""
    folder = tmp_path / "home" / ".tclose" / "studio" / KEY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _make_hostile(ready(folder))
    studio = start(tmp_path / "home")
    context = chromium.new_context(locale="en-US")
    try:
        _walk(Visitor(context, studio), studio)
    finally:
        context.close()
        stop(studio)


def _make_hostile(project: Project) -> None:
    label, folder = SCRIPT.replace(";", ""), project.folder
    write_whole(folder / "sex.csv", "".join(f"{sex};{label};*\n" for sex in ("female", "male")))
    sensitive = {name: {"t": 0.9} for name in project.settings["sensitive"]}
    quasi = {**project.settings["quasi"], "sex": {"hierarchy": "sex.csv"}}
    context = {"purpose": SCRIPT, "recipient": SCRIPT}
    project.change({**project.settings, "k": 60, "quasi": quasi, "sensitive": sensitive, "context": context})
    work.attempt(folder, silent, method="mondrian", effort=None)
    work.inside(folder, silent, number=1, class_number=1)
    assert SCRIPT[:20] in (folder / "candidates" / "0001" / "inside.json").read_text()


def _walk(visitor: Visitor, studio: Running) -> None:
    visitor.page.on("dialog", lambda dialog: visitor.wrong.append("a dialog"))
    for screen in SCREENS if TIMES > 1 else ("quasi", "try", "inside", "publish", "verify"):
        visitor.page.goto(f"{studio.base}/p/{KEY}/{screen}?said={quote(SCRIPT)}")
        assert visitor.page.locator("img").count() == 0, screen
        assert visitor.page.get_by_role("status").first.inner_text() == f"{SCRIPT}."  # a message is a sentence
    assert visitor.wrong == []
