"""Signatures of a certificate: an in-toto Statement about the files of a release, in a DSSE envelope, and its keys.

Ed25519 keys are read in the files that people have: PEM, and OpenSSH as `ssh-keygen -t ed25519` writes it. A key is
known by its fingerprint, the one that `ssh-keygen -lf KEY.pub` prints, whatever format its file has: `SHA256:` and the
base64 of the SHA-256 of the public key in OpenSSH's wire encoding.

DSSE envelopes are bytes with a type, and signatures of both. A signature is made of the pre-authentication encoding
(PAE) of type and payload, so nobody has to agree on how JSON is laid out. What a `keyid` says is a hint that nobody
vouches for: every signature is tried with every key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
import struct
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tclose.errors import InputError, LeakWarning, MissingExtra
from tclose.messages import say
from tclose.policy.settings import check_readable
from tclose.release.certificate_format import LISTED, NEWEST, Unreadable, format_of
from tclose.words import counted, plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# Keys


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
        raise InputError("{path} holds a private key: give the public one, and keep this one to yourself", path=path)
    if b"-----BEGIN" in data:
        return PublicKey(_checked(_from_pem(data, path), path), file=name)
    try:
        lines = [line for line in data.decode().splitlines() if line.strip()]
    except UnicodeDecodeError:
        lines = []
    if len(lines) != 1:
        raise InputError("{path} does not hold one public key, in PEM or in OpenSSH's format", path=path)
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
        raise InputError("{path} holds a weak key, for which anybody can make signatures: do not trust it", path=path)
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
    raise InputError("{path} is protected by a passphrase, and none was given", path=path)


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
        raise InputError("{path} holds a public key: sign with the private one", path=path) if public else _no_key(path)
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
        raise InputError(
            "{path} cannot be opened: the passphrase is wrong, or the file is damaged", path=path
        ) from None


def _warn_of_readers(path: Path) -> None:
    """Warn about a private key that others can read; Windows has no such modes."""
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        warnings.warn(say("others can read the private key {path}: chmod 600 {path}", path=path), LeakWarning, 4)


def new_key_files(kind: KeyFormat, comment: str, passphrase: str | None) -> tuple[bytes, PublicKey, bytes]:
    """Make a key; return the file of its private half, the public half, and the file of that."""
    library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if plain(comment) != comment or len(comment) > LONGEST_COMMENT:
        raise InputError("a comment is one line of at most {longest_comment} letters", longest_comment=LONGEST_COMMENT)
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
        raise InputError("there is no file {path}", path=path) from None
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None
    if len(data) > LARGEST:
        raise InputError("{path} is too large for a key", path=path)
    return data


def _other_kind(path: str | Path) -> InputError:
    return InputError(
        "{path} is not an Ed25519 key, and tclose signs with no other kind: {make_one}",
        path=path,
        make_one=say(MAKE_ONE),
    )


def _no_key(path: str | Path) -> InputError:
    return InputError("{path} holds no key that can be read: {make_one}", path=path, make_one=say(MAKE_ONE))


# Envelopes


PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENDING = ".dsse.json"
MOST_SIGNATURES = 100
SIGNATURE_BYTES = 64  # of Ed25519


def envelope_path(certificate: str | Path) -> Path:
    """Return where the signatures of a certificate lie.

    >>> envelope_path("out/release.json").name, envelope_path(Path("proof")).name
    ('release.dsse.json', 'proof.dsse.json')
    """
    path = Path(certificate)
    if not path.name:
        raise InputError("a certificate needs the name of a file")
    return path.with_name(path.name.removesuffix(".json") + ENDING)


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
            raise Unreadable(say("its payload type is not {payload_type}", payload_type=PAYLOAD_TYPE))
        if not isinstance(signatures, list):
            raise Unreadable("it has no list of signatures")
        if len(signatures) > MOST_SIGNATURES:
            raise Unreadable(say("it has more than {most_signatures} signatures", most_signatures=MOST_SIGNATURES))
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
        raise Unreadable(say("{what} is not base64", what=what)) from None
    return data


# The statement that is signed, and who signed it


STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:tclose:certificate:2"
KEYS = {"_type", "subject", "predicateType", "predicate"}


def statement_of(certificate: Mapping[str, Any]) -> bytes:
    """Return the statement about a certificate's files that is signed; the certificate is all that JSON has of it."""
    content = {
        "_type": STATEMENT,
        "subject": _subjects(certificate["files"]),
        "predicateType": PREDICATE,
        "predicate": dict(certificate),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def _subjects(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one subject per file; a file that was never written has no name."""
    name, _, sha256 = LISTED
    return [
        {**({} if file[name] is None else {"name": file[name]}), "digest": {"sha256": file[sha256]}} for file in files
    ]


def unwrapped(data: bytes) -> tuple[Any, Envelope | None]:
    """Return the JSON of a certificate, and its envelope, if there is one; `Unreadable` says what is wrong."""
    content = json.loads(data, object_pairs_hook=once)
    if not isinstance(content, dict) or "payloadType" not in content:
        return content, None
    envelope = Envelope.from_dict(content)
    try:
        statement = strict_json(envelope.payload)
    except (ValueError, RecursionError):
        raise Unreadable("what is signed is no JSON, or has a key twice") from None
    return _predicate(statement), envelope


def _predicate(statement: Any) -> dict[str, Any]:
    """Return the certificate in a statement; the statement must say nothing else than the certificate does."""
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT:
        raise Unreadable("what is signed is no in-toto Statement of version 1")
    predicate = statement.get("predicate")
    if statement.get("predicateType") != PREDICATE or not isinstance(predicate, dict):
        raise Unreadable("what is signed is no certificate of tclose")
    if set(statement) != KEYS:
        raise Unreadable("what is signed has keys beside the certificate")
    if format_of(predicate) != NEWEST:
        raise Unreadable("what is signed is no certificate of format 2")
    try:
        subjects = _subjects(predicate["files"])
    except (KeyError, TypeError):
        raise Unreadable("it does not list the files of the release") from None
    if statement["subject"] != subjects:
        raise Unreadable("the files that are signed are not those that the certificate lists")
    return predicate


@dataclass(frozen=True)
class Signer:
    """A key that was asked for, and whether it has signed."""

    key: PublicKey
    signed: bool
    named: bool = False  # by a signature that does not fit

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        known = {"comment": self.key.comment, "file": self.key.file}
        named = {name: value for name, value in known.items() if value}
        return {"fingerprint": self.key.fingerprint, **named, "signed": self.signed}

    @property
    def problem(self) -> str:
        """Say what is wrong about a key that has not signed."""
        if self.named:
            return say(
                "the signature in the name of {words} does not fit: it is forged, or what was signed has been changed",
                words=self.key.words,
            )
        return say("{words} has not signed the certificate", words=self.key.words)


@dataclass(frozen=True)
class SignatureFindings:
    """Who has signed a certificate, of the keys that were asked for."""

    signers: tuple[Signer, ...]
    required: int
    others: int = 0  # signatures that none of these keys made

    @classmethod
    def of(cls, envelope: Envelope | None, keys: Sequence[PublicKey], required: int | None) -> SignatureFindings:
        """Try every signature with every key; two files of one key are one key, and by default all must have signed."""
        distinct, tried = tuple(dict.fromkeys(keys)), envelope or Envelope(b"")
        made = {key: tried.signed_by(key) for key in distinct}
        claimed = {signature.keyid for signature in tried.signatures}
        signers = tuple(Signer(key, bool(made[key]), key.fingerprint in claimed) for key in distinct)
        others = len(tried.signatures) - len({number for numbers in made.values() for number in numbers})
        return cls(signers, len(distinct) if required is None else required, others)

    @property
    def distinct(self) -> int:
        """How many of the keys have signed."""
        return sum(signer.signed for signer in self.signers)

    def problems(self) -> list[str]:
        """Say who is missing, unless enough keys have signed."""
        if not self.signers or self.distinct >= self.required:
            return []
        needed = say(
            "{keys} must have signed, and {distinct:,} of those given {have}",
            keys=counted(self.required, "key"),
            distinct=self.distinct,
            have=_have(self),
        )
        return [needed, *(signer.problem for signer in self.signers if not signer.signed)]

    def sentences(self) -> list[str]:
        """Say for people who has signed."""
        if not self.signers:
            return [
                say(
                    "The certificate carries {signatures}, not checked: give --signer PUB.",
                    signatures=counted(self.others, "signature"),
                )
            ]
        signed = [signer for signer in self.signers if signer.signed]
        have = say(
            "Signed by {keys} of {count:,} given ({required:,} required)",
            keys=counted(len(signed), "key"),
            count=len(self.signers),
            required=self.required,
        )
        lines = [f"{have}:", *(f"  - {signer.key.words}" for signer in signed)] if signed else [f"{have}."]
        more = say(
            "{signatures} in the envelope: by other keys, or forged; not counted.",
            signatures=counted(self.others, "more signature"),
        )
        return [*lines, *([more] if self.others else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        if not self.signers:
            return {"checked": False, "signatures": self.others}
        signers = [signer.to_dict() for signer in self.signers]
        return {
            "checked": True,
            "required": self.required,
            "distinct": self.distinct,
            "signers": signers,
            "others": self.others,
        }


def _have(found: SignatureFindings) -> str:
    return "has" if found.distinct == 1 else "have"
