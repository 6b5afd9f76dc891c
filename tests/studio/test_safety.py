"""Who may speak to the studio: hostile requests, each through the real server."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tclose.studio.safety import HEADERS
from tclose.studio.screens import SCREENS

from .client import Browser
from .conftest import Running, start, stop


@pytest.fixture
def browser(shared_studio: Running) -> Browser:
    return Browser(shared_studio)


def test_only_our_own_pages_are_answered(browser: Browser, tmp_path: Path) -> None:
    port = browser.host.partition(":")[2]
    assert browser.ask("GET", "/").status == 200
    assert browser.ask("GET", "/", Host=f"localhost:{port}", Cookie=None).status == 403
    for hostile in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) + 1}", ""):
        assert browser.ask("GET", "/", Host=hostile).status == 403, hostile
    for cookie in (None, "", f"tclose-{port}=guess", "x" * 5000, f"tclose-{port}"):
        assert browser.ask("GET", "/", Cookie=cookie).status == 403
    assert browser.ask("GET", "/", Origin="http://evil.example").status == 403
    token = browser.form_token
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    good = {"form_token": token, "path": str(tmp_path / "t.csv")}
    for origin in (None, "null", "http://evil.example", f"https://127.0.0.1:{port}"):
        assert browser.ask("POST", "/open", good, Origin=origin).status == 403, origin
    assert browser.ask("POST", "/open", good, Sec_Fetch_Site="cross-site").status == 403
    assert browser.ask("POST", "/open", good).status == 303


def test_the_entrance_needs_the_token(browser: Browser) -> None:
    assert browser.ask("GET", "/?token=wrong", Cookie=None).status == 403
    answer = browser.ask("GET", f"/?token={browser.studio.token}", Cookie=None)
    assert answer.status == 200
    assert browser.studio.token not in answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(answer.headers["set-cookie"].split("; "))


def test_other_servers_of_the_machine_do_not_see_the_cookie(chromium: Any, shared_studio: Running) -> None:
    """A browser sends the cookies of 127.0.0.1 to all its ports, whoever listens there."""
    seen = list[str]()

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Cookie", ""))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        context = chromium.new_context()
        page = context.new_page()
        page.goto(shared_studio.invite().address)
        page.get_by_role("heading", name="Which table has to leave the house?").wait_for()
        asked = context.request.get(f"http://127.0.0.1:{other.server_port}/")  # with the cookies of the browser
        other.shutdown()
    context.close()
    assert asked.status == 204
    assert seen == [""]


def test_the_pages_lie_in_a_folder_that_nobody_guesses(browser: Browser) -> None:
    root = browser.studio.root
    assert len(root) > 20
    assert browser.studio.token not in root
    assert browser.studio.cookie not in root
    for path in ("/", "/p/none/open", "/static/studio.css", f"/{'0' * 32}/"):
        request = urllib.request.Request(f"{browser.studio.origin}{path}")
        request.add_header("Cookie", f"tclose-{browser.studio.port}={browser.studio.cookie}")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=1800)


def test_a_table_of_the_command_is_opened_and_opened_again(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    entrances = []
    for _ in range(2):
        studio = start(tmp_path / "home", str(tmp_path / "t.csv"))
        entrances.append(Browser(studio).ask("GET", f"/?token={studio.token}", Cookie=None).text)
        stop(studio)
    opened = [entrance.partition("/p/t-")[2].partition("'")[0] for entrance in entrances]
    assert opened[0].endswith("/open")
    assert opened[0] == opened[1]


def test_every_answer_has_the_headers_that_protect_it(browser: Browser) -> None:
    for path, cookie in (
        ("/", None),
        ("/", "wrong"),
        ("/static/studio.css", None),
        ("/nothing", None),
        ("/p/none/open", None),
    ):
        headers = {} if cookie is None else {"Cookie": cookie}
        answer = browser.ask("GET", path, **headers)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
        assert "access-control-allow-origin" not in answer.headers
    page = browser.ask("GET", "/").text
    assert " style=" not in page
    assert "<script>" not in page
    assert " onclick" not in page


def test_every_change_needs_the_token_of_its_form(browser: Browser) -> None:
    made = browser.post("/example")
    project = made.headers["location"].split("/")[2]
    paths = ["/open", "/example", "/delete", "/language", "/upload"]
    paths += [f"/p/{project}/{screen.name}/{action}" for screen in SCREENS for action in screen.actions]
    paths += [f"/p/{project}/{name}" for name in ("undo", "redo", "cancel")]
    for path in paths:
        for token in ("", "wrong"):
            answer = browser.ask("POST", path, {"form_token": token, "project": project})
            assert answer.status == 403, path
        assert browser.ask("GET", path).status in (404, 405), path
    assert browser.ask("GET", f"/p/{project}/open").status == 200


@pytest.mark.parametrize("key", ["..", "%2e%2e", "..%2f..%2fetc", "x/../../etc", "%00", "a" * 3000, "studio"])
def test_a_project_is_never_a_path(browser: Browser, key: str) -> None:
    for screen in ("open", "columns", "publish?file=/etc/passwd", "events", "job"):
        assert browser.ask("GET", f"/p/{key}/{screen}").status in (403, 404)


def test_files_are_those_of_the_release_folder(browser: Browser) -> None:
    project = browser.post("/example").headers["location"].split("/")[2]
    for name in ("/etc/passwd", "../project.json", "..%2fproject.json", "project.json", "%00"):
        assert browser.ask("GET", f"/p/{project}/publish?file={name}").status == 404
    for name in ("../project.py", "..%2fproject.py", "%2e%2e/worker.py"):
        assert browser.ask("GET", f"/static/{name}").status in (403, 404)


def test_what_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.ask("POST", "/open", {}, Content_Length=str(2 << 20)).status == 413
    assert browser.ask("POST", "/upload", {}, Content_Length=str(3 << 30)).status == 413
    assert browser.ask("POST", "/open", {}, Content_Length="-1").status in (400, 413)
    assert browser.ask("POST", "/open", {}, Transfer_Encoding="chunked", Content_Length=None).status in (400, 413)


def test_language_does_not_lead_elsewhere(browser: Browser) -> None:
    for to in ("//evil.example", "https://evil.example", "javascript:alert(1)", "/\\evil.example"):
        location = browser.post("/language", language="de", path=to).headers["location"]
        assert location == "/" or location.startswith("/%5C"), location


def test_nothing_of_a_table_is_printed(studio: Running, tmp_path: Path) -> None:
    browser = Browser(studio)
    (tmp_path / "t.csv").write_text("name,pay\nWilhelmina Zanzibar,4711\nB,5\n")
    assert browser.post("/open", path=str(tmp_path / "t.csv")).status == 303
    assert browser.post("/open", path="/nothing/there").headers["location"].startswith("/?said=there+is+no+such+file")
    assert browser.ask("GET", "/p/none/open").status == 404
    studio.process.terminate()
    out, error = studio.process.communicate(timeout=1800)
    assert out == ""
    assert "Zanzibar" not in error
    assert studio.token not in error
    assert studio.cookie not in error
