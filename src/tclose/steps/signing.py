"""Make keys, sign certificates, and say what is asked of a signed certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from tclose.errors import InputError
from tclose.release.certificate import LoadedCertificate, Origin, load
from tclose.release.certificate_files import NEWEST
from tclose.release.demands import Demands
from tclose.release.endorsement import Endorsement
from tclose.release.envelope import Envelope, envelope_path
from tclose.release.files import check_targets, pending, publish
from tclose.release.keys import (
    KEY_FORMATS,
    KeyFormat,
    Passphrase,
    load_public_key,
    load_signing_key,
    new_key_files,
    no_passphrase,
)
from tclose.release.signatures import statement_of

__all__ = ["KEY_FORMATS", "Passphrase", "demands", "endorsement", "keygen", "sign", "signature_file"]


@dataclass(frozen=True)
class NewKey:
    """A key that was made: its files and its fingerprint."""

    private: Path
    public: Path
    fingerprint: str
    protected: bool

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        files = {"key": str(self.private), "public": str(self.public)}
        return {**files, "fingerprint": self.fingerprint, "protected": self.protected}


@dataclass(frozen=True)
class SignedCertificate:
    """A certificate that somebody signed: where it is, who signed, and how many signatures there are."""

    file: Path
    origin: Origin
    digest: str
    fingerprint: str
    signatures: int
    added: bool  # whether the key had not signed before

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        shown = {"envelope": str(self.file), "certificate": self.origin.to_dict(), "digest": self.digest}
        return {**shown, "fingerprint": self.fingerprint, "signatures": self.signatures, "added": self.added}


def keygen(
    out: str | Path, *, key_format: KeyFormat = "pem", comment: str = "", passphrase: str | None = None
) -> NewKey:
    """Write a new key, readable by you alone, and its public half beside it; existing files are always refused."""
    private = Path(out)
    public = private.with_name(f"{private.name}.pub") if private.name else private
    if private.suffix == ".pub":
        raise InputError("the public key gets the ending .pub by itself: name the private key without it")
    check_targets([private, public])
    if taken := [path for path in (private, public) if path.exists() or path.is_symlink()]:
        raise InputError(f"{taken[0]} exists already, and a key is never overwritten: name another file")
    secret, key, shown = new_key_files(key_format, comment, passphrase)
    with pending({"private": private, "public": public}, private={"private"}, force=False) as files:
        files["private"].write(partial(_put, secret))
        files["public"].write(partial(_put, shown))
        publish(files.values())
    return NewKey(private, public, key.fingerprint, bool(passphrase))


def sign(
    certificate: str | Path,
    key: str | Path,
    *,
    out: str | Path | None = None,
    force: bool = False,
    passphrase: Passphrase = no_passphrase,
) -> SignedCertificate:
    """Sign a certificate, plain or signed already; the signatures lie beside it, or in `out`.

    An envelope that is there already gets one more signature.
    """
    loaded, beside = load(certificate), Path(certificate)
    if loaded.envelope is None:
        beside = envelope_path(Path(certificate))
    target = beside if out is None else Path(out)
    own = target == beside and beside.exists()  # an envelope that gets one more signature
    read = [Path(certificate)] if target != beside else []
    check_targets([target], [*read, *([Path(key)] if Path(key).is_file() else [])], force=force or own)
    envelope = _envelope(loaded, Path(certificate), beside)
    signer = load_signing_key(key, passphrase)
    signed = envelope.signed_with(signer)
    with pending({"envelope": target}, force=force or own) as files:
        files["envelope"].write(partial(_put, signed.to_bytes()))
        publish(files.values())
    origin, digest = loaded.certificate.origin, loaded.digest
    added = len(signed.signatures) > len(envelope.signatures)
    return SignedCertificate(target, origin, digest, signer.public.fingerprint, len(signed.signatures), added)


def _envelope(loaded: LoadedCertificate, certificate: Path, beside: Path) -> Envelope:
    """Return what is to be signed, with the signatures that it has already."""
    if loaded.digest != loaded.written_digest:
        raise InputError(f"{certificate} was changed after it was made: its digest does not fit its content")
    if loaded.certificate.format != NEWEST:
        raise InputError(f"{certificate} is of format 1, which is not signed: make the release again")
    if loaded.envelope is not None:
        return loaded.envelope
    if not beside.exists():
        try:
            return Envelope(statement_of({**loaded.content, "digest": loaded.digest}))
        except ValueError:
            raise InputError(f"{certificate} has a number that is none: make the release again") from None
    signed = load(beside)
    if signed.envelope is None or signed.digest != loaded.digest:
        raise InputError(f"{beside} is of another certificate: remove it, or name another file with --out")
    return signed.envelope


def endorsement(
    *,
    key: str | Path | None = None,
    passphrase: Passphrase = no_passphrase,
    valid_until: date | None = None,
    previous: Sequence[str | Path] = (),
    commit: bool = False,
) -> Endorsement:
    """Say what is added to a certificate: a signature by `key`, its last day, certificates before it, commitments.

    Commitments are made where they are asked for, and where somebody signs and keeps a record.
    """
    signing_key = None if key is None else load_signing_key(key, passphrase)
    read = [Path(path) for path in (*previous, *([] if key is None else [key]))]
    return Endorsement(valid_until, tuple(map(_digest, previous)), signing_key, commit, tuple(read))


def _digest(certificate: str | Path) -> str:
    loaded = load(certificate)
    if loaded.digest != loaded.written_digest:
        raise InputError(f"{certificate} was changed after it was made: its digest does not fit its content")
    return loaded.digest


def signature_file(certificate: str | Path) -> Path:
    """Return where the signatures of a certificate lie."""
    return envelope_path(Path(certificate))


def demands(
    *,
    signers: Sequence[str | Path] = (),
    required: int | None = None,
    on: date | None = None,
    record: str | Path | None = None,
    original: str | Path | None = None,
) -> Demands:
    """Say what `verify` asks of a certificate besides its claims; by default all `signers` must have signed."""
    keys = tuple(map(load_public_key, signers))
    return Demands(keys, required, on, None if record is None else Path(record), original)


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)
