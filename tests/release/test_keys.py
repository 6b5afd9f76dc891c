"""Keys as people have them: what is read, what is refused, and that nobody can sign with a weak one."""

from __future__ import annotations

import base64
import os
import shutil
import stat
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import InputError, LeakWarning, MissingExtra

pytest.importorskip("cryptography", reason="signing is not installed: pip install 'tclose[sign]'")
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tclose import steps
from tclose.release.signatures import EDWARDS_D, PRIME, PublicKey, is_weak, load_public_key, load_signing_key

WORD = "correct horse battery"
SECRET = "S3CR3T"


def has_bcrypt() -> bool:
    try:
        import bcrypt  # noqa: F401
    except ImportError:
        return False
    return True


needs_bcrypt = pytest.mark.skipif(not has_bcrypt(), reason="bcrypt is not installed: pip install 'tclose[sign]'")
needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="apt-get install openssh-client")


@pytest.mark.parametrize("passphrase", [None, WORD])
@pytest.mark.parametrize("kind", ["pem", "openssh"])
def test_a_new_key_signs_and_verifies(tmp_path: Path, kind: str, passphrase: str | None) -> None:
    if kind == "openssh" and passphrase and not has_bcrypt():
        with pytest.raises(MissingExtra, match="needs bcrypt: pip install 'tclose"):
            steps.keygen(tmp_path / "key", key_format="openssh", passphrase=passphrase)
        assert not list(tmp_path.iterdir())
        return
    made = steps.keygen(tmp_path / "key", key_format=kind, passphrase=passphrase)
    if os.name == "posix":
        assert stat.S_IMODE(made.private.stat().st_mode) == 0o600
    asked: list[Path] = []
    key = load_signing_key(made.private, lambda path: asked.append(path) or WORD)
    public = load_public_key(made.public)
    assert public == key.public
    assert public.fingerprint == made.fingerprint
    assert len(asked) == bool(passphrase) == made.protected
    assert public.verifies(key.sign(b"text"), b"text")
    assert not public.verifies(key.sign(b"text"), b"Text")


@needs_ssh
@pytest.mark.parametrize("kind", ["pem", "openssh"])
def test_the_fingerprint_is_the_one_of_openssh(tmp_path: Path, kind: str) -> None:
    made = steps.keygen(tmp_path / "key", key_format=kind)
    line = tmp_path / "line.pub"
    line.write_text(load_public_key(made.public).line)
    said = subprocess.run(["ssh-keygen", "-lf", line], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == made.fingerprint


@needs_ssh
@pytest.mark.parametrize("word", ["", pytest.param(WORD, marks=needs_bcrypt)])
def test_keys_of_ssh_keygen(tmp_path: Path, word: str) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", word, "-C", "ann@clinic, officer", "-f", tmp_path / "id"]
    subprocess.run(command, check=True)
    key, public = load_signing_key(tmp_path / "id", lambda _: WORD), load_public_key(tmp_path / "id.pub")
    assert public == key.public
    assert (public.comment, public.file) == ("ann@clinic, officer", "id.pub")
    assert public.words == f"{public.fingerprint} (ann@clinic, officer, id.pub)"
    assert public.verifies(key.sign(b"text"), b"text")
    if word:
        with pytest.raises(InputError, match="the passphrase is wrong") as caught:
            load_signing_key(tmp_path / "id", lambda _: SECRET)
        assert SECRET not in str(caught.value)


def test_a_protected_key_asks_and_a_wrong_word_is_a_sentence(tmp_path: Path) -> None:
    steps.keygen(tmp_path / "key", passphrase=WORD)
    with pytest.raises(InputError, match="is protected by a passphrase, and none was given"):
        load_signing_key(tmp_path / "key")
    for wrong in (SECRET, "", "ü" * 2000):
        with pytest.raises(InputError, match="the passphrase is wrong, or the file is damaged") as caught:
            load_signing_key(tmp_path / "key", lambda _, wrong=wrong: wrong)
        assert SECRET not in f"{caught.value}{caught.value.__cause__}"


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    for existing in ("key", "key.pub"):
        (tmp_path / existing).write_text("mine")
        with pytest.raises(InputError, match="exists already, and a key is never overwritten"):
            steps.keygen(tmp_path / "key")
        assert [path.name for path in tmp_path.iterdir()] == [existing]
        (tmp_path / existing).unlink()
    (tmp_path / "key").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="never overwritten"):
        steps.keygen(tmp_path / "key")
    with pytest.raises(InputError, match=r"gets the ending \.pub by itself"):
        steps.keygen(tmp_path / "a.pub")
    with pytest.raises(InputError, match="there is no folder"):
        steps.keygen(tmp_path / "absent" / "key")
    for comment in ("a\nb", "x" * 201, "\x1b[2J"):
        with pytest.raises(InputError, match="a comment is one line"):
            steps.keygen(tmp_path / "new", key_format="openssh", comment=comment)
    with pytest.raises(InputError, match="no place for a comment"):
        steps.keygen(tmp_path / "new", comment="ann")


def test_nothing_shows_a_private_key(tmp_path: Path) -> None:
    made = steps.keygen(tmp_path / "key")
    key = load_signing_key(made.private)
    raw = form.load_pem_private_key(made.private.read_bytes(), None).private_bytes_raw()  # type: ignore[union-attr]
    shown = f"{key!r} {key} {made!r} {made.to_dict()} {key.public!r}"
    body = made.private.read_text().splitlines()[1]
    assert raw.hex() not in shown
    assert body not in shown
    assert made.fingerprint in shown


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_a_key_that_others_can_read_is_warned_about(tmp_path: Path) -> None:
    made = steps.keygen(tmp_path / "key")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_signing_key(made.private)
    made.private.chmod(0o644)
    with pytest.warns(LeakWarning, match="others can read the private key"):
        load_signing_key(made.private)


# Other kinds of keys, and files that are none


def pem(private: object, shape: form.PrivateFormat = form.PrivateFormat.PKCS8) -> bytes:
    found: bytes = private.private_bytes(form.Encoding.PEM, shape, form.NoEncryption())  # type: ignore[attr-defined]
    return found


def test_other_kinds_of_keys_get_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "key"
    for private in (ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 1024)):
        for shape in (form.PrivateFormat.PKCS8, form.PrivateFormat.TraditionalOpenSSL, form.PrivateFormat.OpenSSH):
            file.write_bytes(pem(private, shape))
            file.chmod(0o600)
            with pytest.raises(InputError, match="is not an Ed25519 key, and tclose signs with no other"):
                load_signing_key(file)
        public = private.public_key()
        for encoding, shown in (
            (form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo),
            (form.Encoding.OpenSSH, form.PublicFormat.OpenSSH),
        ):
            file.write_bytes(public.public_bytes(encoding, shown))
            with pytest.raises(InputError, match="is not an Ed25519 key"):
                load_public_key(file)
    (tmp_path / "sk.pub").write_text("sk-ssh-ed25519@openssh.com AAAA ann\n")
    with pytest.raises(InputError, match="is not an Ed25519 key"):
        load_public_key(tmp_path / "sk.pub")


def test_halves_are_not_mixed_up(tmp_path: Path) -> None:
    for kind in ("pem", "openssh"):
        made = steps.keygen(tmp_path / kind, key_format=kind)
        with pytest.raises(InputError, match="holds a private key: give the public one"):
            load_public_key(made.private)
        with pytest.raises(InputError, match="holds a public key: sign with the private one"):
            load_signing_key(made.public)


GOOD = PublicKey(Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw())
BROKEN = [
    b"",
    b"\xff\xfe",
    b"text",
    b"ssh-ed25519",
    b"ssh-ed25519 ",
    b"ssh-ed25519 AAAA",
    b"ssh-ed25519 " + GOOD.line.split()[1].encode()[:-4],
    b"ssh-ed25519 " + GOOD.line.split()[1].replace("A", "!", 1).encode(),
    GOOD.line.encode() + b"\n" + GOOD.line.encode(),
    b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    b"-----BEGIN PUBLIC KEY-----",
    b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    b"x" * 70_000,
]


@pytest.mark.parametrize("data", BROKEN)
def test_files_that_hold_no_key(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(data)
    file.chmod(0o600)
    for load in (load_public_key, load_signing_key):
        with pytest.raises(InputError, match="key"):
            load(file)
    for private in (b"OPENSSH PRIVATE KEY", b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY"):
        file.write_bytes(b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (private, data[:99], private))
        with pytest.raises(InputError):
            load_signing_key(file, lambda _: WORD)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for load in (load_public_key, load_signing_key):
        with pytest.raises(InputError, match="there is no file"):
            load(tmp_path / "absent")
        with pytest.raises(InputError, match="cannot be read"):
            load(tmp_path)
    if Path("/dev/zero").exists():
        with pytest.raises(InputError, match="is a device"):
            load_public_key("/dev/zero")


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_readers(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        for load in (load_public_key, load_signing_key):
            with pytest.raises(InputError):
                load(file.name)


# Points of small order: with such a key, one signature fits every message


def double(point: tuple[int, int]) -> tuple[int, int]:
    """Add a point of the curve to itself, by the formula of twisted Edwards curves."""
    x, y = point
    product = EDWARDS_D * x * x * y * y
    over = lambda top, below: top * pow(below, -1, PRIME) % PRIME  # noqa: E731
    return over(2 * x * y, 1 + product), over(y * y + x * x, 1 - product)


def decoded(raw: bytes) -> tuple[int, int] | None:
    """Return the point that 32 bytes mean, by trying square roots; None if there is none."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(EDWARDS_D * y * y + 1, -1, PRIME) % PRIME
    root = pow(square, (PRIME + 3) // 8, PRIME)
    for x in (root, root * pow(2, (PRIME - 1) // 4, PRIME) % PRIME):
        if x * x % PRIME == square:
            return x, y % PRIME
    return None


def has_small_order(raw: bytes) -> bool:
    point = decoded(raw)
    return point is not None and double(double(double(point))) == (0, 1)


WEAK = [  # published lists of these encodings have them, with and without the sign bit
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


@pytest.mark.parametrize("text", WEAK)
@pytest.mark.parametrize("sign", [0, 0x80])
def test_weak_keys_are_refused(tmp_path: Path, text: str, sign: int) -> None:
    raw = bytearray.fromhex(text)
    raw[31] |= sign
    assert is_weak(bytes(raw))
    assert has_small_order(bytes(raw))
    key = PublicKey(bytes(raw))
    (tmp_path / "weak.pub").write_text(key.line)
    der = bytes.fromhex("302a300506032b6570032100") + raw
    (tmp_path / "weak.pem").write_text(
        f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"
    )
    with pytest.raises(InputError, match="holds a weak key, for which anybody can make signatures"):
        load_public_key(tmp_path / "weak.pub")
    with pytest.raises(InputError, match="key"):
        load_public_key(tmp_path / "weak.pem")


def test_anybody_could_sign_with_a_weak_key() -> None:
    """The library takes the neutral point as a key, and this signature for every message: so we must refuse it."""
    neutral = bytes.fromhex(WEAK[1])
    for message in (b"one", b"another"):
        Ed25519PublicKey.from_public_bytes(neutral).verify(neutral + bytes(32), message)


@given(st.binary(min_size=32, max_size=32))
def test_true_keys_are_not_weak(secret: bytes) -> None:
    raw = Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    assert not is_weak(raw)
    assert not has_small_order(raw)
