"""The secret key of pseudonyms: its file, its fingerprint, and the pseudonym that it gives to an identifier's text."""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import stat
from pathlib import Path

from tclose.errors import InputError
from tclose.policy.paths import check_name

BYTES = 32  # of a key, at least
MOST_BYTES = 1 << 16
FEWEST_KINDS = 8  # of different bytes: 32 random bytes all but never have fewer than 20, hexadecimal text about 14
LENGTH = 32  # letters of a pseudonym, of 5 bits each
BITS = 5 * LENGTH
SHOWN = 32  # hexadecimal digits of a fingerprint
LETTERS = "a-z2-7"
OF_IDENTIFIERS, OF_THE_KEY = b"tclose pseudonym 1\0", b"tclose pseudonym key fingerprint 1\0"


class PseudonymKey:
    """A secret key; it shows itself nowhere, and what it makes tells nothing about it."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "<PseudonymKey>"

    @classmethod
    def load(cls, path: Path) -> PseudonymKey:
        """Read a key; refuse one that others can read, or that anyone could guess."""
        check_name(path)
        try:
            _check_kind(path, path.stat())  # a pipe would be empty when the key is read again
            with path.open("rb") as file:
                _check_mode(path, os.fstat(file.fileno()))
                secret = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            raise InputError(f"there is no key file {path}: make one with tclose pseudonym-key {path}") from None
        except OSError as error:
            raise InputError(f"the key file {path} cannot be read: {error.strerror}") from None
        if not BYTES <= len(secret) <= MOST_BYTES:
            raise InputError(f"a key has {BYTES} to {MOST_BYTES:,} random bytes, and {path} has not")
        if len(set(secret)) < FEWEST_KINDS:
            raise InputError(f"the bytes of {path} are not random: make a key with tclose pseudonym-key")
        return cls(secret)

    @property
    def fingerprint(self) -> str:
        """What tells two keys apart without telling anything about them: 128 bits, hexadecimal."""
        return hmac.digest(self._secret, OF_THE_KEY, "sha256").hex()[:SHOWN]

    def pseudonym(self, text: str) -> str:
        """Return the first 160 bits of the HMAC-SHA-256 of an identifier's text, in base32."""
        code = hmac.digest(self._secret, OF_IDENTIFIERS + text.encode(), "sha256")
        return base64.b32encode(code[: BITS // 8]).decode().lower()


def new_secret() -> bytes:
    """Return the bytes of a new key."""
    return secrets.token_bytes(BYTES)


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"the key file {path} is no ordinary file")


def _check_mode(path: Path, found: os.stat_result) -> None:
    """Refuse a key that others can read or change; Windows has no such modes."""
    if os.name != "nt" and stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(f"others than you may read or change the key file {path}: chmod 600 {path}")
