"""Commands without a terminal: anonymize, verify, bound and SQL; keys, signatures and pseudonym keys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Policy, PolicyLike
from tclose.policy.settings import check_name
from tclose.release.certificate import LoadedCertificate, Origin, load
from tclose.release.certificate_format import NEWEST
from tclose.release.files import check_new, check_targets, pending, put_in_place, write_whole
from tclose.release.lower_bound import BoundVerification, LowerBound, ProofFile
from tclose.release.output import Endorsement, sources_of
from tclose.release.release import Demonstration, Publication
from tclose.release.signatures import (
    Envelope,
    KeyFormat,
    Passphrase,
    envelope_path,
    load_public_key,
    load_signing_key,
    new_key_files,
    no_passphrase,
    statement_of,
)
from tclose.release.verification import Verification
from tclose.release.verify import NO_DEMANDS, Demands, verify_with
from tclose.run.check import check
from tclose.run.engines import Engine
from tclose.run.request import Request
from tclose.run.study import as_frame
from tclose.table.persons import PseudonymKey, new_secret
from tclose.types import Progress, silent, stretch


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    population: str | Path | None = None,
    demands: Demands = NO_DEMANDS,
    engine: Engine = "memory",
    progress: Progress = silent,
) -> Verification:
    """Judge a written release again, δ-presence by a `population`, and compare with its certificate.

    `demands` say who must have signed the certificate, and what else is asked of it.

    The engine `disk` judges a release of one table that need not fit into memory; `auto` chooses it for large files.
    """
    from tclose.run import disk, engines

    if engines.verified_on_disk(engine, release, certificate, has_population=population is not None):
        return disk.verify(release, certificate, digest=digest, demands=demands, progress=progress)
    return verify_with(
        None, release, certificate, digest=digest, population=population, demands=demands, progress=progress
    )


def bound(
    table: Any,
    policy: PolicyLike,
    *,
    seconds: float | None = None,
    certificate: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> LowerBound:
    """Search for a lower bound on the detail that any release of a table loses; `certificate` is a file for its proof.

    Without `force`, an existing file is refused.
    """
    from tclose.run import anonymization
    from tclose.run.bound_search import SECONDS

    asked = Policy.of(policy)
    if certificate is not None:
        check_targets([Path(certificate)], sources_of(table, policy, asked), force=force)
    frame = as_frame(table, asked)
    found = anonymization.bound(frame, asked, seconds=SECONDS if seconds is None else seconds, progress=progress)
    if certificate is not None:
        found.save(certificate, force=force)
    return found


def verify_bound(
    table: Any, policy: PolicyLike, proof: str | Path, *, progress: Progress = silent
) -> BoundVerification:
    """Check the proof of a lower bound against a table and a policy, independently of the search that found it."""
    from tclose.run import anonymization

    asked, loaded = Policy.of(policy), ProofFile.load(proof)
    return anonymization.verify_bound(as_frame(table, asked), asked, loaded, progress=progress)


def anonymize(table: Any, policy: PolicyLike, *, progress: Progress = silent, **asked: Any) -> Publication:
    """Publish a table so that it holds what a policy asks for; what may be `asked` are the fields of `Request`."""
    from tclose.run.pipeline import publish

    return publish(Request(table=table, policy=policy, **asked), progress)


def demo(
    *,
    folder: str | Path,
    rows: int,
    seed: int,
    method: str = DEFAULT_METHOD,
    force: bool = False,
    progress: Progress = silent,
) -> Demonstration:
    """Write the built-in example into a folder, check it, publish it and verify the release.

    Without `force`, existing files are refused.
    """
    from tclose.examples import NAMES, write_example

    check_name(folder)
    out, certificate = Path(folder) / "release.csv", Path(folder) / "release.json"
    if not force:
        check_new([*(Path(folder) / name for name in NAMES), out, certificate])
    table, policy = write_example(Path(folder), rows=rows, seed=seed)
    before = check(table, policy, progress=stretch(progress, 0.0, 0.2))
    rest = stretch(progress, 0.2, 1.0)
    publication = anonymize(table, policy, out=out, certificate=certificate, method=method, force=force, progress=rest)
    return Demonstration(table, policy, before, publication, verify(out, certificate))


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
        raise InputError("{taken} exists already, and a key is never overwritten: name another file", taken=taken[0])
    secret, key, shown = new_key_files(key_format, comment, passphrase)
    with pending({"private": private, "public": public}, private={"private"}, force=False) as files:
        files["private"].write_bytes(secret)
        files["public"].write_bytes(shown)
        put_in_place(files.values())
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
        beside = envelope_path(certificate)
    target = beside if out is None else Path(out)
    own = target == beside and beside.exists()  # an envelope that gets one more signature
    read = [Path(certificate)] if target != beside else []
    check_targets([target], [*read, *([Path(key)] if Path(key).is_file() else [])], force=force or own)
    envelope = _envelope(loaded, Path(certificate), beside)
    signer = load_signing_key(key, passphrase)
    signed = envelope.signed_with(signer)
    write_whole(target, signed.to_bytes(), force=force or own)
    origin, digest = loaded.certificate.origin, loaded.digest
    added = len(signed.signatures) > len(envelope.signatures)
    return SignedCertificate(target, origin, digest, signer.public.fingerprint, len(signed.signatures), added)


def _envelope(loaded: LoadedCertificate, certificate: Path, beside: Path) -> Envelope:
    """Return what is to be signed, with the signatures that it has already."""
    if loaded.digest != loaded.written_digest:
        raise InputError(
            "{certificate} was changed after it was made: its digest does not fit its content", certificate=certificate
        )
    if loaded.certificate.format != NEWEST:
        raise InputError(
            "{certificate} is of format 1, which is not signed: make the release again", certificate=certificate
        )
    if loaded.envelope is not None:
        return loaded.envelope
    if not beside.exists():
        try:
            return Envelope(statement_of({**loaded.content, "digest": loaded.digest}))
        except ValueError:
            raise InputError(
                "{certificate} has a number that is none: make the release again", certificate=certificate
            ) from None
    signed = load(beside)
    if signed.envelope is None or signed.digest != loaded.digest:
        raise InputError(
            "{beside} is of another certificate: remove it, or name another file with --out", beside=beside
        )
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
        raise InputError(
            "{certificate} was changed after it was made: its digest does not fit its content", certificate=certificate
        )
    return loaded.digest


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


def pseudonym_key(path: str | Path) -> str:
    """Write a new key, readable by its owner alone, and return its fingerprint; an existing file is refused."""
    target, secret = Path(path), new_secret()
    if os.path.lexists(target):
        raise InputError(
            "{target} exists already, and a key that was used must not get lost: name another file", target=target
        )
    check_targets([target])
    write_whole(target, secret, private=True, force=False)
    return PseudonymKey(secret).fingerprint
