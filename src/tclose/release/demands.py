"""What a verifier asks beyond the claims: who must have signed, by which day, and what the record opens."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tclose.errors import InputError
from tclose.release.certificate import Certificate, LoadedCertificate, load
from tclose.release.commitments import Commitments, OpenedRecord
from tclose.release.envelope import Envelope, envelope_path
from tclose.release.keys import PublicKey
from tclose.release.signatures import SignatureFindings
from tclose.words import counted

OTHER = "the certificate is not the one that was signed: it differs from the one in {}"


@dataclass(frozen=True)
class Demands:
    """Everything that is asked of a certificate besides its claims."""

    signers: tuple[PublicKey, ...] = ()
    required: int | None = None  # keys that must have signed; None for all that are given
    on: date | None = None  # the day by which `valid_until` is judged; None for today
    record: Path | None = None  # the steward's, which opens the commitments
    original: str | Path | None = None  # the table that was published

    def __post_init__(self) -> None:
        """Refuse what can never be met, or would say nothing."""
        keys, required = len(set(self.signers)), self.required
        whole = isinstance(required, int) and not isinstance(required, bool)
        if required is not None and not (whole and required >= 1):
            raise InputError(
                "how many of the signers are required is a whole number of at least 1: leave it out to require all"
            )
        if required is not None and required > keys:
            needed = f"{counted(required, 'key')} must have signed"
            given = f"only {counted(keys, 'different key')} given" if keys else "no key is given"
            raise InputError(f"{needed}, and {given}: add --signer PUB")
        if self.original is not None and self.record is None:
            raise InputError("the original table is compared with the help of the record: add --record FILE")

    def examined(self, loaded: LoadedCertificate, path: Path) -> ExaminedCertificate:
        """Look at everything that is asked."""
        problems = loaded.certificate.steward.problems(self.on)
        envelope = loaded.envelope
        if self.signers and envelope is None:
            beside = envelope_path(path)
            envelope = self._beside(loaded, beside, problems)
        findings = None
        if self.signers or envelope is not None:
            findings = SignatureFindings.of(envelope, self.signers, self.required)
            problems += findings.problems()
        opened, wrong = self._opened(loaded.certificate)
        return ExaminedCertificate((*problems, *wrong), findings, opened)

    def _beside(self, loaded: LoadedCertificate, beside: Path, problems: list[str]) -> Envelope | None:
        """Return the signatures that lie beside a plain certificate, which must be the one that was signed."""
        if not beside.exists():
            problems.append(f"the certificate is not signed: there is no {beside.name} beside it")
            return None
        signed = load(beside)
        if signed.envelope is None or (signed.digest, signed.written_digest) != (loaded.digest, loaded.written_digest):
            problems.append(OTHER.format(beside.name))
        return signed.envelope

    def _opened(self, certificate: Certificate) -> tuple[tuple[str, ...], list[str]]:
        """Return the commitments that the record opens, and what is wrong about them."""
        if self.record is None:
            return (), []
        kept: Commitments | None = certificate.steward.commitments
        if kept is None:
            raise InputError("the certificate has no commitments, so no record is needed")
        record, opened, wrong = OpenedRecord.load(self.record), ["commitments.seed"], []
        if not hmac.compare_digest(record.keys.of_seed(record.seed), kept.seed):
            wrong.append("the record is not that of this release: its seed is not the one that was committed to")
        if self.original is not None:
            if kept.source is None:
                raise InputError("the certificate commits to no table: it was not made from a file")
            opened.append("commitments.source")
            if not hmac.compare_digest(record.keys.of_source(self.original), kept.source):
                wrong.append(f"{self.original} is not the table that the certificate commits to")
        return tuple(opened), wrong


@dataclass(frozen=True)
class ExaminedCertificate:
    """What was found about a certificate besides its claims."""

    problems: tuple[str, ...]
    signatures: SignatureFindings | None
    opened: tuple[str, ...]  # commitments


NO_DEMANDS = Demands()
