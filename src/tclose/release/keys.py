"""Ed25519 keys in the files that people have: PEM, and OpenSSH as `ssh-keygen -t ed25519` writes it.

A key is known by its fingerprint, the one that `ssh-keygen -lf KEY.pub` prints, whatever format its file has: `SHA256:`
and the base64 of the SHA-256 of the public key in OpenSSH's wire encoding.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tclose.errors import InputError, LeakWarning, MissingExtra
from tclose.policy.paths import check_readable
from tclose.words import plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KeyFormat = Literal["pem", "openssh"]
KEY_FORMATS: tuple[KeyFormat, ...] = ("pem", "openssh")
Passphrase = Callable[[Path], str]  # asked only for a file that is protected

LARGEST = 1 << 16  # bytes of a file that may hold a key
LONGEST_COMMENT = 200
KIND = "ssh-ed25519"
WIRE = struct.pack(">I", len(KIND)) + KIND.encode() + struct.pack(">I", 32)  # what stands before the 32 bytes of a key
OTHER_KINDS = re.compile(r"(ssh-|ecdsa-|sk-)\S+\s")  # with which a public key of OpenSSH begins
OTHER_PEM = re.compile(rb"-----BEGIN (RSA|EC|DSA) PRIVATE KEY-----")
MAKE_ONE = "make one with tclose keygen or ssh-keygen -t ed25519"
NEEDS_BCRYPT = "a passphrase in OpenSSH's format"
PRIME = 2**255 - 19
EDWARDS_D = -121665 * pow(121666, -1, PRIME) % PRIME


@dataclass(frozen=True)
class PublicKey:
    """A key that signatures are checked with; where it came from does not matter when keys are compared."""

    raw: bytes = field(repr=False)
    comment: str = field(default="", compare=False)
    file: str = field(default="", compare=False)

    @property
    def fingerprint(self) -> str:
        """Return the name of the key, as OpenSSH prints it."""
        digest = hashlib.sha256(WIRE + self.raw).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"

    @property
    def line(self) -> str:
        """Return the key as a line of OpenSSH."""
        return " ".join([KIND, base64.b64encode(WIRE + self.raw).decode(), *([self.comment] if self.comment else [])])

    @property
    def words(self) -> str:
        """Return whose key it is, as far as its file says."""
        known = [plain(name) for name in (self.comment, self.file) if name]
        return self.fingerprint + (f" ({', '.join(known)})" if known else "")

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether a signature of a message was made with the private half of this key."""
        library()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey:
    """The private half of a key; nothing that is printed shows it."""

    def __init__(self, private: Ed25519PrivateKey, file: Path) -> None:
        self._private, self.file = private, file
        self.public = PublicKey(private.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.fingerprint}>"

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return self._private.sign(message)


def library() -> None:
    """Say what is missing before a key is needed."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtra("cryptography", "sign", "signing") from None


def load_public_key(path: str | Path) -> PublicKey:
    """Read a public key, in PEM or as a line of OpenSSH."""
    library()
    data, name = _read(path), Path(path).name
    if b"PRIVATE KEY-----" in data:
        raise InputError(f"{path} holds a private key: give the public one, and keep this one to yourself")
    if b"-----BEGIN" in data:
        return PublicKey(_checked(_from_pem(data, path), path), file=name)
    try:
        lines = [line for line in data.decode().splitlines() if line.strip()]
    except UnicodeDecodeError:
        lines = []
    if len(lines) != 1:
        raise InputError(f"{path} does not hold one public key, in PEM or in OpenSSH's format")
    return _from_line(lines[0].strip(), path)


def _from_line(line: str, path: str | Path) -> PublicKey:
    kind, _, rest = line.partition(" ")
    if kind != KIND:
        raise _other_kind(path) if OTHER_KINDS.match(line) else _no_key(path)
    encoded, _, comment = rest.strip().partition(" ")
    try:
        wire = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise _no_key(path) from None
    if len(wire) != len(WIRE) + 32 or not wire.startswith(WIRE):
        raise _no_key(path)
    return PublicKey(_checked(wire[len(WIRE) :], path), comment.strip()[:LONGEST_COMMENT], Path(path).name)


def _from_pem(data: bytes, path: str | Path) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise _no_key(path) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _other_kind(path)
    return key.public_bytes_raw()


def _checked(raw: bytes, path: str | Path) -> bytes:
    """Refuse a key for which anybody can make signatures."""
    if is_weak(raw):
        raise InputError(f"{path} holds a weak key, for which anybody can make signatures: do not trust it")
    return raw


def is_weak(raw: bytes) -> bool:
    """Tell whether a public key is a point of small order, or no coordinate at all.

    The order divides 8 if y is 0, 1 or -1, or if doubling gives y = 0. Then x² = -y², and -x² + y² = 1 + d·x²·y²
    becomes d·y⁴ + 2·y² - 1 = 0.
    """
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    return y >= PRIME or y in (0, 1, PRIME - 1) or (EDWARDS_D * y**4 + 2 * y * y - 1) % PRIME == 0


def no_passphrase(path: Path) -> str:
    """Refuse a protected file where nobody can be asked."""
    raise InputError(f"{path} is protected by a passphrase, and none was given")


def load_signing_key(path: str | Path, passphrase: Passphrase = no_passphrase) -> SigningKey:
    """Read a private key, in PEM or in OpenSSH's format; `passphrase` is asked if the file is protected."""
    library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _read(path)
    if OTHER_PEM.search(data):
        raise _other_kind(path)
    if b"PRIVATE KEY-----" not in data:
        public = data.lstrip().startswith((KIND.encode(), b"-----BEGIN PUBLIC KEY"))
        raise InputError(f"{path} holds a public key: sign with the private one") if public else _no_key(path)
    try:
        private = _private(data, Path(path), passphrase)
    except UnsupportedAlgorithm:
        raise (MissingExtra("bcrypt", "sign", NEEDS_BCRYPT) if b"BEGIN OPENSSH" in data else _no_key(path)) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise _other_kind(path)
    _warn_of_readers(Path(path))
    return SigningKey(private, Path(path))


def _private(data: bytes, path: Path, passphrase: Passphrase) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load: Any = load_ssh_private_key if b"BEGIN OPENSSH" in data else load_pem_private_key
    try:
        return load(data, password=None)
    except (ValueError, TypeError) as error:
        if not (isinstance(error, TypeError) or "password-protected" in str(error)):  # as old versions say it
            raise _no_key(path) from None
    given = passphrase(path)
    try:
        return load(data, password=given.encode())
    except (ValueError, TypeError):  # an empty one is none at all
        raise InputError(f"{path} cannot be opened: the passphrase is wrong, or the file is damaged") from None


def _warn_of_readers(path: Path) -> None:
    """Warn about a private key that others can read; Windows has no such modes."""
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        warnings.warn(f"others can read the private key {path}: chmod 600 {path}", LeakWarning, 4)


def new_key_files(kind: KeyFormat, comment: str, passphrase: str | None) -> tuple[bytes, PublicKey, bytes]:
    """Make a key; return the file of its private half, the public half, and the file of that."""
    library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if plain(comment) != comment or len(comment) > LONGEST_COMMENT:
        raise InputError(f"a comment is one line of at most {LONGEST_COMMENT} letters")
    if comment and kind != "openssh":
        raise InputError("a PEM file has no place for a comment: leave it out, or choose the format openssh")
    private = Ed25519PrivateKey.generate()
    lock = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
    shape = form.PrivateFormat.OpenSSH if kind == "openssh" else form.PrivateFormat.PKCS8
    public = PublicKey(private.public_key().public_bytes_raw(), comment)
    pem = private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    try:
        secret = private.private_bytes(form.Encoding.PEM, shape, lock)
    except UnsupportedAlgorithm:
        raise MissingExtra("bcrypt", "sign", NEEDS_BCRYPT) from None
    except ValueError:
        raise InputError("this passphrase cannot be used: choose one of at most 1,000 letters") from None
    return secret, public, f"{public.line}\n".encode() if kind == "openssh" else pem


def _read(path: str | Path) -> bytes:
    check_readable(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise InputError(f"{path} is too large for a key")
    return data


def _other_kind(path: str | Path) -> InputError:
    return InputError(f"{path} is not an Ed25519 key, and tclose signs with no other kind: {MAKE_ONE}")


def _no_key(path: str | Path) -> InputError:
    return InputError(f"{path} holds no key that can be read: {MAKE_ONE}")
