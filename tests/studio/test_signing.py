"""Signatures: a key is made and used in the browser, and releases of others are verified without a project."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("cryptography", reason="install it with: pip install 'tclose[sign]'")

from tclose.errors import InputError
from tclose.studio.publication import SigningKeys
from tclose.studio.register import REGISTER

from .client import Browser
from .conftest import Running, wait_for
from .finished import KEY

PUBLISH = {"candidate": "2", "format": "csv"}


@pytest.fixture
def steward(running: Running) -> Browser:
    return Browser(running)


def said(answer: object) -> str:
    """Return the sentence that a refusal leads to."""
    return unquote(str(answer.getheader("location"))).replace("+", " ")  # type: ignore[attr-defined]


def release_of(steward: Browser) -> Path:
    """Return the folder of the newest release."""
    folders = (steward.studio.home / ".tclose" / "studio" / KEY / "releases").iterdir()
    return max(folders, key=lambda folder: int(folder.name))


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files for the recipient."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file() and file.name != REGISTER}


def test_a_key_is_made_once_and_is_the_stewards_own(tmp_path: Path) -> None:
    keys = SigningKeys(tmp_path / "keys")
    assert keys.names == []
    assert keys.make("steward", "").startswith("SHA256:")
    assert keys.names == ["steward"]
    assert keys.private("steward").stat().st_mode & 0o077 == 0
    assert keys.public("steward").read_text().startswith("ssh-ed25519 ")
    before = keys.private("steward").read_bytes()
    with pytest.raises(InputError, match="already"):
        keys.make("steward", "another")
    assert keys.private("steward").read_bytes() == before


@pytest.mark.parametrize("name", ["", "../k", "a/b", ".k", "a b", "k.pub", "k\0", "ü", "k" * 41])
def test_the_name_of_a_key_is_never_a_path(tmp_path: Path, name: str) -> None:
    keys = SigningKeys(tmp_path / "keys")
    with pytest.raises(InputError):
        keys.make(name, "")
    with pytest.raises(InputError):
        keys.public(name)
    assert list(tmp_path.rglob("*")) == []


def test_a_key_without_its_other_half_is_none(tmp_path: Path) -> None:
    keys = SigningKeys(tmp_path)
    (tmp_path / "lost.pub").write_text("ssh-ed25519 AAAA lost")
    assert keys.names == []


def test_passphrases_that_differ_make_no_key(steward: Browser) -> None:
    form = {"key_name": "steward", "new_passphrase": "one", "same_passphrase": "two"}
    assert "passphrases differ" in said(steward.post(f"/p/{KEY}/publish/key", **form))
    assert "steward.pub" not in steward.page(f"/p/{KEY}/publish")


def test_a_wrong_passphrase_publishes_nothing_and_changes_nothing(steward: Browser) -> None:
    form = {"key_name": "steward", "new_passphrase": "right", "same_passphrase": "right"}
    assert "SHA256:" in said(steward.post(f"/p/{KEY}/publish/key", **form))
    before = release_of(steward), files_of(release_of(steward))
    for passphrase, sentence in (("", "This key has a passphrase"), ("wrong", "the passphrase is wrong")):
        steward.post(f"/p/{KEY}/publish/run", **PUBLISH, signer="steward", passphrase=passphrase)
        assert sentence in wait_for(steward.studio, KEY)["error"]
    assert (release_of(steward), files_of(release_of(steward))) == before


def test_one_key_signs(steward: Browser) -> None:
    steward.post(f"/p/{KEY}/publish/key", key_name="steward")
    answer = steward.post(f"/p/{KEY}/publish/run", **PUBLISH, signer="steward", key="/etc/hostname")
    assert "choose one key" in said(answer)


def test_public_keys_are_handed_out_and_private_ones_are_not(steward: Browser) -> None:
    steward.post(f"/p/{KEY}/publish/key", key_name="steward")
    assert steward.ask("GET", f"/p/{KEY}/publish?public=steward").text.startswith("ssh-ed25519 ")
    for name in ("../.keys/steward", "steward.pub", "nobody", "%2e%2e/steward"):
        answer = steward.ask("GET", f"/p/{KEY}/publish?public={name}")
        assert answer.status == 404
        assert "PRIVATE" not in answer.text


def test_what_will_be_written_is_what_is_written(steward: Browser) -> None:
    steward.post(f"/p/{KEY}/publish/key", key_name="steward")
    asked = "name=visits&format=csv&signer=steward"
    planned = steward.page(f"/p/{KEY}/publish/plan?{asked}")
    steward.post(f"/p/{KEY}/publish/run", **PUBLISH, name="visits", signer="steward")
    assert wait_for(steward.studio, KEY)["state"] == "done"
    written = set(files_of(release_of(steward)))
    assert written == {"visits.csv", "visits-certificate.json", "visits-certificate.dsse.json"}
    assert all(f"<strong>{name}</strong>" in planned for name in written)
    assert planned.count("<strong>") == len(written)
    assert "A name has letters" in steward.page(f"/p/{KEY}/publish/plan?name=../x&format=csv")


def verified(steward: Browser, **files: tuple[str, bytes]) -> str:
    """Verify files on the page that needs no project, and return what it says."""
    to = str(steward.ask("GET", "/verify").getheader("location"))
    assert steward.send_files(f"{to}/run", **files).status == 303
    wait_for(steward.studio, to.split("/")[2])
    return steward.page(to)


def test_releases_of_others_are_verified_without_a_project(steward: Browser) -> None:
    steward.post(f"/p/{KEY}/publish/key", key_name="steward")
    steward.post(f"/p/{KEY}/publish/key", key_name="stranger")
    steward.post(f"/p/{KEY}/publish/run", **PUBLISH, signer="steward")
    assert wait_for(steward.studio, KEY)["state"] == "done"
    folder = release_of(steward)
    keys = SigningKeys(steward.studio.home / ".tclose" / "studio" / ".keys")
    release = ("release.csv", (folder / "release.csv").read_bytes())
    signed = ("c.dsse.json", (folder / "certificate.dsse.json").read_bytes())
    good, stranger = (("k.pub", keys.public(name).read_bytes()) for name in ("steward", "stranger"))
    page = verified(steward, release=release, certificate=signed, signer=good)
    assert "The release holds what its certificate says." in page
    assert "Signed by steward" in page
    assert "not checked" in verified(steward, release=release, certificate=signed)
    page = verified(steward, release=release, certificate=signed, signer=stranger)
    assert "The release does not hold what its certificate says." in page
    assert "Signed by" not in page
    changed = release[1].replace(b"male", b"MALE", 1)
    page = verified(steward, release=("release.csv", changed), certificate=signed, signer=good)
    assert "The release does not hold what its certificate says." in page
    envelope = json.loads(signed[1])
    envelope["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    page = verified(steward, release=release, certificate=("c.dsse.json", json.dumps(envelope).encode()), signer=good)
    assert "does not fit: it is forged" in page


def test_an_old_verdict_does_not_stand_beside_new_files(steward: Browser) -> None:
    folder = release_of(steward)
    release, certificate = ((name, (folder / name).read_bytes()) for name in ("release.csv", "certificate.json"))
    assert "The release holds what its certificate says." in verified(steward, release=release, certificate=certificate)
    page = verified(steward, release=release, certificate=("certificate.json", b"{}"))
    assert "The release holds" not in page
    assert 'role="alert"' in page


def test_the_place_of_verification_is_no_project(steward: Browser) -> None:
    to = str(steward.ask("GET", "/verify").getheader("location"))
    key = to.split("/")[2]
    assert f'href="/p/{key}/open"' not in steward.page("/")
    assert "<nav" not in steward.page(to)
    for screen in ("open", "columns", "try", "publish"):
        assert steward.ask("GET", f"/p/{key}/{screen}").status == 404
    assert "there is no table here" in said(steward.post(f"/p/{key}/open/again"))


def test_a_profile_says_before_the_button_what_it_lacks(steward: Browser) -> None:
    asked = "name=visits&format=csv&report=yes"
    assert "[context]" not in steward.page(f"/p/{KEY}/publish/plan?{asked}&profile=")
    planned = steward.page(f"/p/{KEY}/publish/plan?{asked}&profile=wp216&recipient=")
    assert "The page will be incomplete: the profile wp216" in planned
    assert "<code>[context] recipient</code>" in planned
    assert "visits.csv" in planned, "it can be published nevertheless"
    told = steward.page(f"/p/{KEY}/publish/plan?{asked}&profile=wp216&recipient=The+registry")
    assert "<code>[context] recipient</code>" not in told
    assert "<code>[context] controls</code>" in told
