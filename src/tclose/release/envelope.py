"""DSSE envelopes: bytes with a type, and signatures of both.

A signature is made of the pre-authentication encoding (PAE) of type and payload, so nobody has to agree on how JSON is
laid out. What a `keyid` says is a hint that nobody vouches for: every signature is tried with every key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from tclose.errors import InputError
from tclose.release.certificate_files import Unreadable
from tclose.release.keys import PublicKey, SigningKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENDING = ".dsse.json"
MOST_SIGNATURES = 100
SIGNATURE_BYTES = 64  # of Ed25519


def envelope_path(certificate: Path) -> Path:
    """Return where the signatures of a certificate lie.

    >>> envelope_path(Path("out/release.json")).name, envelope_path(Path("proof")).name
    ('release.dsse.json', 'proof.dsse.json')
    """
    if not certificate.name:
        raise InputError("a certificate needs the name of a file")
    return certificate.with_name(certificate.name.removesuffix(".json") + ENDING)


def forms_of(certificate: Path) -> tuple[Path, Path]:
    """Return a certificate, plain or with signatures, and where the other of the two lies.

    >>> [path.name for path in forms_of(Path("c.json"))], [path.name for path in forms_of(Path("c.dsse.json"))]
    (['c.json', 'c.dsse.json'], ['c.dsse.json', 'c.json'])
    """
    if not certificate.name.endswith(ENDING):
        return certificate, envelope_path(certificate)
    return certificate, certificate.with_name(certificate.name.removesuffix(ENDING) + ".json")


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed.

    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    name = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: people might read one of them, and tclose the other."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice")
    return content


def strict_json(data: bytes) -> Any:
    """Read JSON in which no key stands twice and every number is a number."""
    return json.loads(data, object_pairs_hook=once, parse_constant=_no_number)


def _no_number(_: str) -> NoReturn:
    raise ValueError("not a number")


@dataclass(frozen=True)
class Signature:
    """One signature, and whose it says it is."""

    keyid: str
    value: bytes

    @classmethod
    def from_dict(cls, given: Any) -> Signature:
        """Read a signature; `Unreadable` where it is none."""
        if not isinstance(given, Mapping) or not isinstance(given.get("keyid", ""), str | None):
            raise Unreadable("a signature in it is not readable")
        return cls(given.get("keyid") or "", _decoded(given.get("sig"), "a signature in it"))


@dataclass(frozen=True)
class Envelope:
    """A payload and its signatures."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Envelope:
        """Read an envelope; `Unreadable` where it is none. Keys that the specification does not have are ignored."""
        signatures = content.get("signatures")
        if content.get("payloadType") != PAYLOAD_TYPE:
            raise Unreadable(f"its payload type is not {PAYLOAD_TYPE}")
        if not isinstance(signatures, list):
            raise Unreadable("it has no list of signatures")
        if len(signatures) > MOST_SIGNATURES:
            raise Unreadable(f"it has more than {MOST_SIGNATURES} signatures")
        return cls(_decoded(content.get("payload"), "its payload"), tuple(map(Signature.from_dict, signatures)))

    @property
    def message(self) -> bytes:
        """Return the bytes that are signed."""
        return pae(PAYLOAD_TYPE, self.payload)

    def signed_by(self, key: PublicKey) -> list[int]:
        """Return which signatures were made with a key."""
        return [
            number
            for number, signature in enumerate(self.signatures)
            if len(signature.value) == SIGNATURE_BYTES and key.verifies(signature.value, self.message)
        ]

    def signed_with(self, key: SigningKey) -> Envelope:
        """Return the envelope with one more signature; with the same ones if this key has signed already."""
        if self.signed_by(key.public):
            return self
        added = Signature(key.public.fingerprint, key.sign(self.message))
        return replace(self, signatures=(*self.signatures, added))

    def to_bytes(self) -> bytes:
        """Return the file's bytes."""
        content = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": [
                {"keyid": signature.keyid, "sig": base64.b64encode(signature.value).decode()}
                for signature in self.signatures
            ],
        }
        return (json.dumps(content, indent=2) + "\n").encode()


def _decoded(given: Any, what: str) -> bytes:
    """Decode base64, standard or URL-safe, in its one spelling: with padding, and without spaces or spare bits."""
    try:
        data = base64.b64decode(given.translate(str.maketrans("-_", "+/")), validate=True)
        if given not in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
            raise ValueError("another spelling")
    except (ValueError, AttributeError):
        raise Unreadable(f"{what} is not base64") from None
    return data
