"""Nothing that was published is lost: by publishing again, by a kill, by an earlier version, by deleting something."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose import InputError, steps
from tclose.studio import publication, register, work
from tclose.studio.jobs import Process, Stream
from tclose.studio.project import Project, held
from tclose.studio.register import PRIVATE, REGISTER, UNPUBLISHED, recover, releases

from .client import Browser
from .conftest import Running, readable_by_others, start, stop, wait_for
from .cut_off import states
from .finished import KEY, silent
from .test_robust import workers

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
ASKED: dict[str, Any] = {"format": "csv"}
FORM = {"candidate": "2", "format": "csv"}
FORMER = Path(__file__).parent / "former"


def project_of(home: Path) -> Project:
    return Project(home / ".tclose" / "studio" / KEY)


def tclose(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Run the real command line."""
    command = [sys.executable, "-c", "from tclose.cli import main; main()", *words]
    return subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)


def verifies(release: register.Release, at: Path) -> str:
    folder = Path(release["folder"])
    (table,) = [name for name in release["files"] if not name.endswith(".json")]
    done = tclose("verify", str(folder / table), "--certificate", str(folder / release["certificate"]), at=at)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files but parts of files that a kill cut off, which have hidden names."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def killed(studio: Running) -> None:
    for number in (*workers(studio), studio.process.pid):
        os.kill(number, signal.SIGKILL)
    studio.process.communicate(timeout=1800)


def test_three_publications_keep_three_releases(finished_home: Path, tmp_path: Path) -> None:
    """One is signed, and the studio is killed after each."""
    pytest.importorskip("cryptography", reason="install it with: pip install 'tclose[sign]'")
    project, first = project_of(finished_home), tree(project_of(finished_home).folder / "releases")
    for recipient, signer in (("The registry", "steward"), ("A <b>university</b>", "")):
        studio = start(finished_home)
        browser = Browser(studio)
        browser.post(f"/p/{KEY}/publish/key", key_name="steward")
        form = {"recipient": recipient, "purpose": f"For {recipient}", "signer": signer, "name": "visits"}
        browser.post(f"/p/{KEY}/publish/run", **FORM, **form)
        assert wait_for(studio, KEY)["state"] == "done"
        killed(studio)
    third, second, oldest = found = releases(project)
    assert [each["number"] for each in found] == [3, 2, 1]
    assert [each["follows"] for each in found] == [2, 1, None]
    assert [each["recipient"] for each in found] == ["A <b>university</b>", "The registry", ""]
    assert [each["date"] for each in found] == sorted((each["date"] for each in found), reverse=True)
    assert (third["key"], oldest["key"]) == (None, None)
    assert second["key"]["file"] == "steward.pub"
    assert second["key"]["fingerprint"].startswith("SHA256:")
    after = tree(project.folder / "releases")
    assert {name: after[name] for name in first} == first
    for each in found:
        verifies(each, tmp_path)
        folder = Path(each["folder"])
        assert each["sha256"] == hashlib.sha256((folder / each["certificate"]).read_bytes()).hexdigest()
        assert each["verified"] == "The finished files hold what their certificate says."
        assert set(tree(folder)) == {*each["files"], REGISTER, f"{PRIVATE}/record.json", f"{PRIVATE}/policy.toml"}
    assert readable_by_others(finished_home) == []
    studio = start(finished_home)
    page = Browser(studio).page(f"/p/{KEY}/publish")
    archive = Browser(studio).ask("GET", f"/p/{KEY}/publish?release=2&file=register.json")
    stop(studio)
    at = [page.index(f'id="release-{3}"'), *(page.index(f"<strong>Release {number}</strong>") for number in (2, 1))]
    assert at == sorted(at), "the newest comes first"
    assert all(each["folder"] in page and shlex.split(each["command"])[-1] in page for each in found)
    assert "to A &lt;b&gt;university&lt;/b&gt;" in page
    assert (second["key"]["fingerprint"] in page, archive.status) == (True, 404)


def test_the_command_of_each_release_writes_its_bytes(finished_home: Path, tmp_path: Path) -> None:
    project = project_of(finished_home)
    project.change({**project.settings, "context": {"recipient": "The registry"}})
    publication.publish(
        project.folder, silent, number=2, asked={"format": "parquet", "columns": "yes", "name": "visits"}
    )
    publication.publish(project.folder, silent, number=1, asked=ASKED)
    shutil.rmtree(project.folder / "candidates")
    for number, name in ((2, "visits.parquet"), (3, "release.csv")):
        release = register.release_of(project, number)
        done = tclose(*shlex.split(release["command"])[1:], at=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_bytes() == (Path(release["folder"]) / name).read_bytes()


def test_a_release_carries_the_hierarchies_of_its_policy(tmp_path: Path) -> None:
    """They are deleted with the copies of the table, and a policy without them cannot be read."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "tree.csv").write_text("f;*\n")
    (tmp_path / "sub" / "tree.csv").write_text("m;*\n")
    settings = {
        "k": 2,
        "quasi": {"a": {"hierarchy": "tree.csv"}, "b": {"hierarchy": "sub/tree.csv"}, "c": {"hierarchy": {"width": 5}}},
        "sensitive": {"d": {"matrix": "lost.csv"}},
        "pseudonym": {"id": {"key": "secret"}},
        "presence": {"population": "all.csv", "max": 0.5},
    }
    (tmp_path / "private").mkdir()
    (tmp_path / "secret").write_text("a secret")
    register.keep_policy(tmp_path / "private" / "policy.toml", settings, tmp_path)
    kept = publication.read_settings(tmp_path / "private" / "policy.toml")
    texts = [(tmp_path / "private" / kept["quasi"][name]["hierarchy"]).read_text() for name in "ab"]
    assert texts == ["f;*\n", "m;*\n"]
    assert (kept["quasi"]["c"], kept["sensitive"]["d"]) == (settings["quasi"]["c"], settings["sensitive"]["d"])  # type: ignore[index]
    assert kept["pseudonym"]["id"]["key"] == str(tmp_path / "secret")
    assert kept["presence"] == {"population": str(tmp_path / "all.csv"), "max": 0.5}
    assert len(list((tmp_path / "private").iterdir())) == 3


def test_a_kill_at_any_moment_of_a_publication_loses_no_release(finished_home: Path, tmp_path: Path) -> None:
    project = project_of(finished_home)
    before = tree(project.folder / "releases" / "1")
    found = states(
        project.folder, lambda: publication.publish(project.folder, silent, number=2, asked=ASKED), tmp_path / "states"
    )
    complete = tree(project.folder / "releases" / "2")
    assert len(found) > 10
    seen = []
    for folder in found:
        recover(Project(folder))
        assert tree(folder / "releases" / "1") == before
        numbers = sorted(each.name for each in (folder / "releases").iterdir())
        assert numbers in (["1"], ["1", "2"])
        assert "2" not in numbers or tree(folder / "releases" / "2") == complete
        seen.append(len(numbers))
    assert seen == sorted(seen)
    assert set(seen) == {1, 2}


def test_a_studio_that_is_killed_while_it_publishes_leaves_no_part(finished_home: Path, tmp_path: Path) -> None:
    project = project_of(finished_home)
    studio = start(finished_home)
    Browser(studio).post(f"/p/{KEY}/publish/run", **FORM, recipient="The registry")
    while not any((project.folder / "releases").glob(f"{UNPUBLISHED}*/*")):
        assert len(releases(project)) == 1, "it was published before anybody could look"
    killed(studio)
    assert len(releases(project)) == 1
    again = start(finished_home)
    page = Browser(again).page(f"/p/{KEY}/publish")
    assert [each.name for each in (project.folder / "releases").iterdir()] == ["1"]
    assert page.count('class="release"') == 1
    Browser(again).post(f"/p/{KEY}/publish/run", **FORM, recipient="The registry")
    assert wait_for(again, KEY)["state"] == "done"
    stop(again)
    assert [each["number"] for each in releases(project)] == [2, 1]
    verifies(releases(project)[0], tmp_path)


def test_publications_of_two_tabs_and_of_two_studios_get_numbers_of_their_own(finished_home: Path) -> None:
    """A second publication does not cancel the first, and each goes to the recipient of its own form."""
    project, first = project_of(finished_home), start(finished_home)
    assert first.entered, "before there is another studio to ask"
    studios = [first, start(finished_home, "--port", "0")]
    asked = [f"Recipient {number}" for number in range(4)]
    for number, recipient in enumerate(asked):
        Browser(studios[number % 2]).post(f"/p/{KEY}/publish/run", **FORM, recipient=recipient)
    for studio in studios:
        assert wait_for(studio, KEY)["state"] == "done"
        stop(studio)
    found = releases(project)
    assert [each["number"] for each in found] == [5, 4, 3, 2, 1]
    assert sorted(each["recipient"] for each in found) == ["", *asked]
    assert len({each["folder"] for each in found}) == 5


def test_other_work_waits_for_a_publication_and_a_button_pressed_twice_publishes_once(running: Running) -> None:
    project, browser = project_of(running.home), Browser(running)
    for _ in range(2):
        browser.post(f"/p/{KEY}/publish/run", **FORM, recipient="The registry")
    browser.post(f"/p/{KEY}/risk/judge")
    assert wait_for(running, KEY)["kind"] == "check"
    assert [each["number"] for each in releases(project)] == [2, 1]


def test_work_that_waits_is_cancelled_without_the_publication(finished_home: Path) -> None:
    folder = project_of(finished_home).folder
    process = Process(folder)
    published = process.start(1, "publish", {"number": 2, "asked": ASKED})
    waiting = process.start(2, "check", {})
    process.cancel(waiting)
    assert waiting.state == "cancelled"
    assert process.current is published
    while published.running:
        process.wait_for_news(published, published.seen, 1, Stream(process.wake))
    running = process._process
    assert running is not None
    assert running.stdin is not None
    process.close()
    while not running.stdin.closed:
        pass  # the thread that listened to it closes what led to it
    assert (published.state, published.result["release"]) == ("done", 2)
    assert "passphrase" not in published.given


def test_two_publications_never_take_one_number(finished_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one takes the number between the look at the register and the name."""
    project = project_of(finished_home)
    rename, taken = Path.rename, list[str]()

    def overtaken(path: Path, target: Path) -> Path:
        if not taken:
            taken.append(target.name)
            shutil.copytree(project.folder / "releases" / "1", target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", overtaken)
    with register.unpublished(project) as fresh:
        (fresh / "release.csv").write_text("new")
        assert register.put(project, fresh, lambda number, place: {"command": f"{place} {number}"}) == 3
    assert taken == ["2"]
    newest = releases(project)[0]
    assert (newest["number"], newest["follows"], newest["command"]) == (3, 2, f"{newest['folder']} 3")


def test_what_does_not_verify_is_not_published(finished_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, publish = project_of(finished_home), publication.steps.publish

    def damaged(request: steps.Request, progress: Any) -> Any:
        made, out = publish(request, progress), Path(request.out)
        out.write_text(out.read_text() + out.read_text().splitlines()[-1] + "\n")
        return made

    monkeypatch.setattr(publication.steps, "publish", damaged)
    with pytest.raises(InputError, match="nothing was published, because the finished files do not verify: "):
        publication.publish(project.folder, silent, number=2, asked=ASKED)
    assert [each.name for each in (project.folder / "releases").iterdir()] == ["1"]


def test_a_full_disk_publishes_nothing_and_loses_nothing(finished_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(finished_home)
    before = tree(project.folder / "releases")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(register, "_flush_all", full)
    with pytest.raises(OSError, match="No space left"):
        publication.publish(project.folder, silent, number=2, asked=ASKED)
    assert tree(project.folder / "releases") == before


def test_files_that_another_studio_is_publishing_stay(finished_home: Path) -> None:
    project = project_of(finished_home)
    with register.unpublished(project) as fresh:
        (fresh / "release.csv").write_text("new")
        recover(project)
        assert (fresh / "release.csv").exists()
        assert register.is_publishing(project)
    assert not fresh.exists()
    fresh.mkdir()
    assert not register.is_publishing(project)
    recover(project)
    assert not fresh.exists()


# A project of the version before, as its own code has written it: the folder `former`.


def former(at: Path) -> Path:
    """Copy it; the command that it shows names the folder in which it lies."""
    folder = Path(shutil.copytree(FORMER, at / "before"))
    told = folder / "results" / "published.json"
    told.write_text(told.read_text().replace("{folder}", str(folder)))
    return folder


def test_a_project_of_the_version_before_is_read(tmp_path: Path) -> None:
    folder = former(tmp_path)
    before = tree(folder / "release")
    project = Project(folder)
    recover(project)
    (release,) = releases(project)
    assert {name: data for name, data in tree(folder / "releases" / "1").items() if name in before} == before
    assert release["files"] == sorted(before)
    assert (release["number"], release["follows"], release["candidate"]) == (1, None, 1)
    assert (release["recipient"], release["purpose"]) == ("The registry", "A study")
    assert release["date"].startswith("20")
    assert release["key"]["file"] == "steward.pub"
    assert release["verified"] == "The finished files hold what their certificate says."
    words = shlex.split(release["command"])
    for option in ("--policy", "--replay"):
        assert Path(words[words.index(option) + 1]).parent == folder / "releases" / "1" / PRIVATE
    policy = publication.Policy.load(words[words.index("--policy") + 1])
    assert all(path.is_file() for path in policy.files)
    left = {path.name for path in folder.iterdir()}
    assert not [name for name in left if name.startswith(("published-", "release."))]
    assert "release" not in left
    done = tclose(
        "verify",
        f"{release['folder']}/visits.csv",
        "--certificate",
        f"{release['folder']}/{release['certificate']}",
        at=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    after = tree(folder)
    recover(project)
    assert tree(folder) == after


def test_a_project_of_the_version_before_opens_in_the_studio_and_publishes_again(
    finished_home: Path, tmp_path: Path
) -> None:
    folder = former(finished_home / ".tclose" / "studio")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    studio = start(finished_home)
    browser = Browser(studio)
    assert "to The registry" in browser.page("/p/before/publish")
    got = browser.ask("GET", "/p/before/publish?release=1&file=visits.csv")
    assert (got.status, got.text) == (200, (FORMER / "release" / "visits.csv").read_text())
    browser.post("/p/before/publish/run", candidate="1", format="csv", recipient="Another")
    assert wait_for(studio, "before")["state"] == "done"
    stop(studio)
    assert [(each["number"], each["recipient"]) for each in releases(Project(folder))] == [
        (2, "Another"),
        (1, "The registry"),
    ]


@pytest.mark.parametrize(
    "moment", ["complete", "being written", "between the names", "old ones left", "said too early"]
)
def test_a_kill_of_the_version_before_is_finished(tmp_path: Path, moment: str) -> None:
    """It wrote to `release.new`, moved `release` to `release.old`, and `release.new` to `release`."""
    folder = former(tmp_path)
    told = folder / "results" / "published.json"
    other = {"complete": "", "being written": "release.new", "said too early": "release.new"}.get(moment, "release.old")
    if other:
        (folder / other).mkdir()
        (folder / other / "visits.csv").write_text("other")
        if moment != "old ones left":
            (folder / other / "visits-certificate.json").write_text("{}")
    if moment == "between the names":
        (folder / "release").rename(folder / "release.new")
    if moment == "said too early":
        said = json.loads(told.read_text())
        digest = hashlib.sha256((folder / "release.new" / "visits-certificate.json").read_bytes()).hexdigest()
        told.write_text(json.dumps({**said, "sha256": digest}))
    found = states(folder, lambda: recover(Project(folder)), tmp_path / "states")
    for each in found:
        recover(Project(each))
        kept = [tree(each / "releases" / str(release["number"])) for release in reversed(releases(Project(each)))]
        own = [{name for name in files if not name.startswith(PRIVATE) and name != REGISTER} for files in kept]
        whole = {path.name for path in (FORMER / "release").iterdir()}
        assert own == ([{"visits.csv", "visits-certificate.json"}] if moment == "between the names" else []) + [whole]
        assert all(kept[-1][name] == (FORMER / "release" / name).read_bytes() for name in whole)
        records = [name for name in kept[-1] if "published-record" in name or "published-policy" in name]
        assert len(records) == 2
        assert not [path for path in each.iterdir() if path.name.startswith(("release.", "published-"))]
        newest = releases(Project(each))[0]
        assert (newest["command"] is None) == (moment == "said too early")
        assert newest["recipient"] == ("" if moment == "said too early" else "The registry")


def test_two_studios_number_a_former_release_once(tmp_path: Path) -> None:
    folder = former(tmp_path)
    with held(folder / "release"):  # another studio is doing it
        recover(Project(folder))
        assert releases(Project(folder)) == []
        assert (folder / "results" / "published.json").exists()
        assert list(folder.glob("published-*"))
    recover(Project(folder))
    assert len(releases(Project(folder))) == 1


# Deleting.


def said(answer: Any) -> str:
    return str(answer.getheader("location"))


def test_deleting_a_candidate_touches_no_release(running: Running) -> None:
    project, browser = project_of(running.home), Browser(running)
    before = tree(project.folder / "releases")
    for number in ("1", "2"):
        browser.post(f"/p/{KEY}/try/remove", number=number)
    assert project.candidates() == []
    assert tree(project.folder / "releases") == before
    page = browser.page(f"/p/{KEY}/publish")
    assert "release=1&amp;file=release.csv" in page


def test_one_release_is_deleted_by_a_confirmation_that_names_it(running: Running) -> None:
    project, browser = project_of(running.home), Browser(running)
    browser.post(f"/p/{KEY}/publish/run", **FORM, recipient="The registry")
    assert wait_for(running, KEY)["state"] == "done"
    before = tree(project.folder / "releases")
    page = browser.page(f"/p/{KEY}/publish")
    day = releases(project)[0]["date"][:10]
    assert f"Delete release 2 of {day}, which went to The registry" in page
    assert f"Delete release 1 of {releases(project)[1]['date'][:10]}, which went to nobody who was named" in page
    for wrong in ({}, {"sure": ""}, {"sure": "1"}, {"sure": "yes"}):
        assert "nothing+was+deleted" in said(browser.post(f"/p/{KEY}/publish/remove", number="2", **wrong))
    for number in ("", "9", "-1", "x", "02.0"):
        assert "there+is+no+such+release" in said(browser.post(f"/p/{KEY}/publish/remove", number=number, sure=number))
    assert tree(project.folder / "releases") == before
    browser.post(f"/p/{KEY}/publish/remove", number="2", sure="2")
    assert [each["number"] for each in releases(project)] == [1]
    assert list(tree(project.folder / "releases" / "2")) == [REGISTER]
    page = browser.page(f"/p/{KEY}/publish")
    assert "files deleted on" in page
    assert "to The registry" in page
    assert browser.ask("GET", f"/p/{KEY}/publish?release=2&file=release.csv").status == 404
    browser.post(f"/p/{KEY}/publish/run", **FORM, recipient="A third")
    assert wait_for(running, KEY)["state"] == "done"
    newest = releases(project)[0]
    assert (newest["number"], newest["follows"]) == (3, 1), "no number is given again"


def test_a_deletion_that_is_cut_off_is_finished_or_has_not_begun(finished_home: Path, tmp_path: Path) -> None:
    project = project_of(finished_home)
    before = tree(project.folder / "releases" / "1")
    for folder in states(project.folder, lambda: register.remove(project, 1), tmp_path / "states"):
        recover(Project(folder))
        after = tree(folder / "releases" / "1")
        assert after == before or list(after) == [REGISTER]
        assert len(releases(Project(folder))) == (after == before)


def test_a_damaged_register_hides_no_release(finished_home: Path) -> None:
    project = project_of(finished_home)
    for damage in (lambda path: path.write_text("{"), lambda path: path.unlink()):
        damage(project.folder / "releases" / "1" / REGISTER)
        (release,) = releases(project)
        assert (release["number"], release["files"]) == (1, ["certificate.json", "release.csv"])
    studio = start(finished_home)
    pages = [Browser(studio).page(f"/p/{KEY}/{name}") for name in ("publish", "delete")]
    stop(studio)
    assert all("Release 1" in page and "release.csv" in page for page in pages)


def test_deleting_a_project_names_what_goes_and_to_whom(running: Running) -> None:
    project, browser = project_of(running.home), Browser(running)
    browser.post(f"/p/{KEY}/publish/run", **FORM, recipient="The <i>registry</i>", purpose="A study")
    assert wait_for(running, KEY)["state"] == "done"
    newest, oldest = releases(project)
    page = browser.page(f"/p/{KEY}/delete")
    told = f"{newest['date'][:10]}, to The &lt;i&gt;registry&lt;/i&gt;, for: A study: certificate.json, release.csv"
    assert told in page
    assert f"{oldest['date'][:10]}, without a recipient: certificate.json, release.csv" in page
    assert "Candidates: 2." in page
    assert "copy of the table, patients.csv" in page
    assert "all of them: 2" in page
    before = tree(project.folder)
    for form in (
        {},
        {"stays": "nothing"},
        {"stays": "nothing", "sure": "1"},
        {"sure": "yes"},
        {"stays": "x", "sure": "3"},
    ):
        assert "nothing+was+deleted" in said(browser.post("/delete", project=KEY, **form))
    with register.unpublished(project):  # as another studio does
        assert "another+studio" in said(browser.post("/delete", project=KEY, stays="nothing", sure="2"))
        assert "another+studio" in said(browser.post("/delete", project=KEY, stays="releases"))
    assert tree(project.folder) == before
    assert said(browser.post("/delete", project=KEY, stays="nothing", sure="2")) == "/"
    assert not project.folder.exists()


def test_releases_are_kept_when_the_copies_of_the_table_go(running: Running, tmp_path: Path) -> None:
    project, browser = project_of(running.home), Browser(running)
    before = tree(project.folder / "releases")
    assert said(browser.post("/delete", project=KEY, stays="releases")) == f"/p/{KEY}/publish"
    assert tree(project.folder / "releases") == before
    left = {name for name in tree(project.folder) if not name.startswith("releases/")}
    assert left == {"project.json"}
    page = browser.page(f"/p/{KEY}/publish")
    assert "Its releases were kept." in page
    assert "release=1&amp;file=release.csv" in page
    assert f'href="/p/{KEY}/publish"' in browser.page("/")
    for screen in ("open", "columns", "try", "verify"):
        assert browser.ask("GET", f"/p/{KEY}/{screen}").status == 404
    verifies(releases(project)[0], tmp_path)
    page = browser.page(f"/p/{KEY}/delete")
    assert "Delete the copies" not in page
    assert "all of them: 1" in page
    browser.post("/delete", project=KEY, stays="nothing", sure="1")
    assert not project.folder.exists()


def test_a_project_that_is_being_reduced_to_its_releases_loses_none(finished_home: Path, tmp_path: Path) -> None:
    project = project_of(finished_home)
    before = tree(project.folder)
    for folder in states(project.folder, project.close, tmp_path / "states"):
        recover(Project(folder))
        after = tree(folder)
        kept = {name for name in after if name.startswith("releases/")}
        assert after == before or set(after) == kept | {"project.json"}
        assert [each["number"] for each in releases(Project(folder))] == [1]


def test_a_project_whose_deletion_was_cut_off_can_be_deleted(finished_home: Path, tmp_path: Path) -> None:
    """Otherwise raw data would lie in a folder that no screen shows."""
    project = project_of(finished_home)
    work.look(project.folder, silent)
    for number, folder in enumerate(states(project.folder, project.remove, tmp_path / "states")):
        if folder.exists() and (folder / "project.json").exists():
            recover(Project(folder))
            Project(folder).remove()
        assert not (folder / "source").exists(), number
