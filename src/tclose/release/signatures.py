"""A signed certificate: an in-toto Statement about the files of a release, in a DSSE envelope, and who signed it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclose.release.certificate_files import LISTED, NEWEST, Unreadable, format_of
from tclose.release.envelope import Envelope, once, strict_json
from tclose.release.keys import PublicKey
from tclose.words import counted

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
            return (
                f"the signature in the name of {self.key.words} does not fit: it is forged, or what was signed has "
                "been changed"
            )
        return f"{self.key.words} has not signed the certificate"


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
        needed = f"{counted(self.required, 'key')} must have signed, and {self.distinct:,} of those given {_have(self)}"
        return [needed, *(signer.problem for signer in self.signers if not signer.signed)]

    def sentences(self) -> list[str]:
        """Say for people who has signed."""
        if not self.signers:
            return [f"The certificate carries {counted(self.others, 'signature')}, not checked: give --signer PUB."]
        signed = [signer for signer in self.signers if signer.signed]
        have = f"Signed by {counted(len(signed), 'key')} of {len(self.signers):,} given ({self.required:,} required)"
        lines = [f"{have}:", *(f"  - {signer.key.words}" for signer in signed)] if signed else [f"{have}."]
        more = f"{counted(self.others, 'more signature')} in the envelope: by other keys, or forged; not counted."
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
