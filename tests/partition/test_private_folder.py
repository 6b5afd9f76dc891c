"""Folders that nobody else can put files into: modes, owners and links, of the folder and of everything on the way."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tclose.partition.shared.compile_cache import make_private, objection_to_content

NEEDS_ROOT = "only root can give files to another user"


def given_to_nobody(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    os.chown(path, pwd.getpwnam("nobody").pw_uid, -1, follow_symlinks=False)


def objection(folder: Path) -> str | None:
    _, found = make_private(folder)
    return None if found is None else found.why


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the usual mode, in one that only this user can enter."""
    (tmp_path / "place").mkdir(mode=0o755)
    return tmp_path / "place"


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o722, 0o1777])
def test_a_folder_that_others_can_write_to(place: Path, mode: int) -> None:
    assert objection(place) is None
    place.chmod(mode)
    found = make_private(place)[1]
    assert found is not None
    assert (found.why, found.cure) == (f"others can write to {place}", f"chmod go-w {place}")


def test_new_folders_are_closed(place: Path) -> None:
    """Also those on the way to the last."""
    mask = os.umask(0)
    try:
        assert make_private(place / "a" / "b") == (place / "a" / "b", None)
    finally:
        os.umask(mask)
    assert {(place / name).stat().st_mode & 0o7777 for name in ("a", "a/b")} == {0o700}


def test_a_way_on_which_others_can_rename(place: Path) -> None:
    """A folder like /tmp is fine: there, nobody can rename what belongs to others."""
    (place / "own").mkdir(mode=0o700)
    place.chmod(0o777)
    assert objection(place / "own") == f"others can write to {place}"
    assert objection(place / "new") == f"others can write to {place}"
    assert not (place / "new").exists()
    place.chmod(0o1777)
    assert objection(place / "own") is None
    assert objection(place / "new") is None


def test_links(place: Path) -> None:
    """A link of one's own is followed; all folders on the way to it and behind it count."""
    (place / "real").mkdir(mode=0o700)
    (place / "link").symlink_to("../place/real")
    assert make_private(place / "link" / "new") == (place / "real" / "new", None)
    (place / "away").symlink_to(place / "open" / "real")
    (place / "open" / "real").mkdir(parents=True, mode=0o700)
    (place / "open").chmod(0o777)
    assert objection(place / "away") == f"others can write to {place / 'open'}"
    (place / "back").symlink_to("open/../real")
    assert objection(place / "back") == f"others can write to {place / 'open'}"
    (place / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="too many links"):
        make_private(place / "circle")


def test_what_is_no_folder(place: Path) -> None:
    """It is not looked at for who can write to it: /dev/null is for everybody."""
    (place / "link").symlink_to(os.devnull)
    for folder in (Path(os.devnull), Path(os.devnull, "new"), place / "link", place / "link" / "new"):
        with pytest.raises(NotADirectoryError):
            make_private(folder)


def test_a_relative_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert make_private(Path("new/../own")) == (place / "own", None)


def test_what_belongs_to_another_user(place: Path) -> None:
    place.chmod(0o1777)
    (place / "theirs").mkdir(mode=0o755)
    (place / "theirs" / "own").mkdir(mode=0o700)
    (place / "link").symlink_to("own")
    (place / "own").mkdir(mode=0o700)
    given_to_nobody(place / "theirs")
    given_to_nobody(place / "link")
    assert objection(place / "theirs") == f"{place / 'theirs'} belongs to nobody"
    assert objection(place / "theirs" / "own") == f"{place / 'theirs'} belongs to nobody"
    assert objection(place / "theirs" / "new") == f"{place / 'theirs'} belongs to nobody"
    assert objection(place / "link") == f"the link {place / 'link'} belongs to nobody"


def why(folder: Path) -> str | None:
    found = objection_to_content(folder)
    return None if found is None else found.why


def test_files_from_when_the_folder_was_open(place: Path) -> None:
    file = place / "sub" / "kernel.nbi"
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"")
    file.chmod(0o600)
    assert why(place) is None
    for path, mode in ((file, 0o600), (file.parent, 0o700)):
        for open_mode in (mode | 0o020, mode | 0o002):
            path.chmod(open_mode)
            assert why(place) == f"others can write to {path}"
        path.chmod(mode)
    assert why(place) is None
    (place / "link").symlink_to(file)
    assert why(place) == f"{place / 'link'} is a link"
    (place / "link").unlink()
    given_to_nobody(file)
    assert why(place) == f"{file} belongs to nobody"
