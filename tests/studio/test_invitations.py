"""Addresses that work once, the file that leads a browser to one, and the second command that asks for another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tclose.studio.instance import MOST, Instance, Invitations, ask, listening_socket, server_folder, starting
from tclose.studio.project import small_private_file

from .client import Browser
from .conftest import TCLOSE, Running, start, stop
from .visitor import CHROMIUM, NO_CHROMIUM


def again(studio: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the command a second time."""
    environment = {**os.environ, "HOME": str(studio.home)}
    command = [*TCLOSE, "studio", "--no-browser", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)


def server_files(studio: Running) -> set[str]:
    return {path.name for path in (studio.home / ".tclose" / "server").iterdir()}


def test_of_many_requests_at_once_one_enters(shared_studio: Running) -> None:
    token = shared_studio.invite().address.partition("/?")[2]
    together, answers = threading.Barrier(8), list[int]()

    def enter() -> None:
        browser = Browser(shared_studio)
        together.wait()
        answers.append(browser.ask("GET", f"/?{token}", Cookie=None).status)

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + 7 * [403]


def test_only_a_visit_uses_an_address_up(shared_studio: Running) -> None:
    browser, token = Browser(shared_studio), shared_studio.invite().address.partition("/?")[2]
    assert browser.ask("HEAD", f"/?{token}", Cookie=None).status == 403
    assert browser.ask("GET", f"/?{token}", Cookie=None, Sec_Purpose="prefetch").status == 403
    assert browser.ask("GET", f"/?{token}", Cookie=None).status == 200
    used = browser.ask("GET", f"/?{token}", Cookie=None)
    assert used.status == 403
    assert "Run tclose studio again: it prints a new address." in used.text
    assert (
        "Rufen Sie tclose studio erneut auf" in browser.ask("GET", f"/?{token}", Cookie=None, Accept_Language="de").text
    )
    assert "Das Studio kennt diesen Browser nicht" in browser.ask("GET", "/", Cookie=None, Accept_Language="de").text
    assert browser.ask("GET", "/").status == 200, "who is in stays in"


def test_the_second_command_leads_to_the_running_studio(studio: Running, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for arguments, leads in (
        ((), "/'"),
        ((str(tmp_path / "t.csv"),), "/open'"),
        (("--project", str(tmp_path / "p")), ""),
    ):
        done = again(studio, *arguments)
        if not leads:
            assert (done.returncode, done.stdout) == (2, "")
            assert "is no project of the studio: name a table to begin one" in done.stderr
            continue
        assert (done.returncode, done.stderr) == (0, "")
        origin, _, token = done.stdout.strip().partition("/?")
        assert origin == studio.origin
        entrance = Browser(studio).ask("GET", f"/?{token}", Cookie=None).text
        assert entrance.partition("href='")[2].removeprefix(studio.root).partition(">")[0].endswith(leads)
    missing = again(studio, str(tmp_path / "none.csv"))
    assert missing.returncode == 2
    assert missing.stdout == ""
    assert studio.process.poll() is None


def test_two_commands_at_once_start_one_studio(tmp_path: Path) -> None:
    studios = list[Running]()
    outputs = list[str]()
    environment = {**os.environ, "HOME": str(tmp_path)}
    command = [*TCLOSE, "studio", "--no-browser"]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        for process in processes:
            assert process.stdout is not None
            outputs.append(process.stdout.readline())
        assert len({line.partition("/?")[0] for line in outputs}) == 1
        assert len(set(outputs)) == 3
        assert len(list((tmp_path / ".tclose" / "server").glob("*.json"))) == 1
    finally:
        for process in processes:
            studios.append(Running(process, "", tmp_path))
            stop(studios[-1])


def test_a_studio_leaves_only_the_port_behind(tmp_path: Path) -> None:
    studio = start(tmp_path / "home")
    port, leading = studio.port, studio.invite(file=True).file
    assert leading is not None
    assert leading.name in server_files(studio)
    other = start(tmp_path / "home", "--port", "0")
    assert other.port != port
    stop(other)
    assert server_files(studio) == {"lock", "port", f"{port}.json", leading.name}
    studio.process.kill()
    studio.process.communicate(timeout=1800)
    studio = start(tmp_path / "home")
    assert leading.name not in server_files(studio)
    assert len(list((studio.home / ".tclose" / "server").glob("*.json"))) == 1
    stop(studio)
    assert server_files(studio) == {"lock", "port"}


def test_a_copy_of_the_home_has_a_studio_of_its_own(studio: Running, tmp_path: Path) -> None:
    copy = start(Path(shutil.copytree(studio.home, tmp_path / "copy")))
    assert copy.port != studio.port
    stop(copy)
    assert Browser(studio).ask("GET", "/").status == 200


def test_the_port_is_remembered_and_another_taken_where_it_is_not_free(tmp_path: Path) -> None:
    with listening_socket(tmp_path, None) as first:
        port = first.getsockname()[1]
        assert (tmp_path / "port").read_text() == str(port)
        with listening_socket(tmp_path, None) as second:
            assert second.getsockname()[1] != port
            taken = second.getsockname()[1]
    (tmp_path / "port").write_text(str(taken))
    (tmp_path / "port").chmod(0o600)
    with listening_socket(tmp_path, None) as third:
        assert third.getsockname()[1] == taken
    for rubbish in ("", "0", "99999999999", "x", "-1", "²"):
        (tmp_path / "port").write_text(rubbish)
        listening_socket(tmp_path, None).close()


def test_old_invitations_give_way_and_none_outlives_the_studio(tmp_path: Path) -> None:
    (tmp_path / "open-8471-left.html").write_text("of a killed studio")
    (tmp_path / "open-8472-other.html").write_text("of another studio")
    invitations = Invitations(8471, tmp_path)
    made = [invitations.issue("/", file=True) for _ in range(MOST + 1)]
    tokens = [each.address.partition("token=")[2] for each in made]
    assert invitations.redeem(tokens[0]) is None
    assert invitations.redeem(tokens[1]) == "/"
    assert invitations.redeem(tokens[1]) is None
    assert len(list(tmp_path.glob("open-8471-*.html"))) == MOST - 1
    assert all(each.stat().st_mode & 0o077 == 0 for each in tmp_path.glob("open-8471-*.html"))
    invitations.close()
    assert invitations.redeem(tokens[2]) is None
    assert [each.name for each in tmp_path.iterdir()] == ["open-8472-other.html"]


@pytest.fixture
def impostor() -> Iterator[Callable[[Callable[[bytes, str], tuple[bytes, str]]], tuple[int, list[str]]]]:
    """A program at a port that answers as a test says; what it was sent is put into a list."""
    servers = list[ThreadingHTTPServer]()

    def answering(answer: Callable[[bytes, str], tuple[bytes, str]]) -> tuple[int, list[str]]:
        seen = list[str]()

        class Impostor(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                seen.append(f"{self.path}{self.headers}{body.decode()}")
                said, proof = answer(body, self.headers["x-tclose-nonce"])
                self.send_response(200)
                self.send_header("x-tclose-proof", proof)
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Impostor))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1].server_port, seen

    yield answering
    for server in servers:
        server.shutdown()
        server.server_close()


EVIL = json.dumps({"address": "http://127.0.0.1:1/?token=evil", "file": None}).encode()


def test_an_answer_without_its_proof_is_not_believed(impostor: Any, tmp_path: Path) -> None:
    port, seen = impostor(lambda body, nonce: (EVIL, "0" * 64))
    Instance(port, "a secret").write(tmp_path)
    assert ask(tmp_path, table=None, project=None, file=False) is None
    assert "a secret" not in "".join(seen)
    assert not (tmp_path / f"{port}.json").exists()

    def of_another_question(body: bytes, nonce: str) -> tuple[bytes, str]:
        return EVIL, Instance(port, "a secret").answer_proof("0" * 32, EVIL)

    port, seen = impostor(of_another_question)
    Instance(port, "a secret").write(tmp_path)
    assert ask(tmp_path, table=None, project=None, file=False) is None
    port, seen = impostor(lambda body, nonce: (EVIL, Instance(port, "a secret").answer_proof(nonce, EVIL)))
    Instance(port, "a secret").write(tmp_path)
    assert ask(tmp_path, table=None, project=None, file=False) is not None, "as the studio itself does"


def test_a_question_without_its_proof_or_from_a_browser_is_refused(shared_studio: Running) -> None:
    browser = Browser(shared_studio)
    state = json.loads((shared_studio.home / ".tclose" / "server" / f"{shared_studio.port}.json").read_text())
    instance, nonce = Instance(state["port"], state["secret"]), "ab" * 16
    body = json.dumps({"table": None, "project": None, "file": False}).encode()
    host = {"Host": browser.host, "X-Tclose-Nonce": nonce}

    def posted(sent: bytes = body, **headers: str | None) -> int:
        import http.client

        connection = http.client.HTTPConnection(browser.host, timeout=1800)
        given = {**host, "X-Tclose-Proof": instance.question_proof(nonce, body), **headers}
        connection.request("POST", "/invite", sent, {name: value for name, value in given.items() if value is not None})
        status = connection.getresponse().status
        connection.close()
        return status

    assert posted() == 200
    assert posted(Origin=shared_studio.origin) == 403
    assert posted(Host="evil.example") == 403
    assert posted(**{"X-Tclose-Nonce": "cd" * 16}) == 403
    assert posted(**{"X-Tclose-Nonce": None}) == 403
    assert posted(**{"X-Tclose-Proof": None}) == 403
    assert posted(body.replace(b"false", b"true")) == 403
    assert posted(**{"Content-Length": str(1 << 20)}) == 403


def test_files_that_are_not_private_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small"
    path.write_text("said")
    path.chmod(0o600)
    assert small_private_file(path) == b"said"
    (tmp_path / "link").symlink_to(path)
    assert small_private_file(tmp_path / "link") is None
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert small_private_file(tmp_path / "pipe") is None
    path.chmod(0o640)
    assert small_private_file(path) is None
    path.chmod(0o600)
    path.write_text("x" * 5000)
    assert small_private_file(path) is None
    assert small_private_file(tmp_path) is None
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".tclose" / "server").mkdir(parents=True, mode=0o777)
    assert server_folder().stat().st_mode & 0o777 == 0o700
    with starting(server_folder()):
        assert (server_folder() / "lock").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_browser_enters_through_the_file(chromium: Any, studio: Running) -> None:
    leading = studio.invite(file=True).file
    assert leading is not None
    assert leading.stat().st_mode & 0o777 == 0o600
    context = chromium.new_context()
    page = context.new_page()
    page.goto(leading.as_uri())
    page.get_by_role("heading", name="Which table has to leave the house?").wait_for()
    assert not leading.exists()
    assert page.url == f"{studio.base}/"
    page.reload()
    page.get_by_role("heading", name="Which table has to leave the house?").wait_for()
    context.close()
