"""What a steward asks to be added to a certificate, and how it gets there: the claims, the commitments, a signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.release.certificate import Certificate
from tclose.release.commitments import CommitmentKeys, Commitments, is_committable, states_of
from tclose.release.envelope import Envelope, envelope_path
from tclose.release.keys import SigningKey
from tclose.release.signatures import statement_of
from tclose.release.steward import StewardClaims
from tclose.table.batches import changed
from tclose.types import Beat, still


@dataclass(frozen=True)
class CommittedTable:
    """A table to which a certificate will commit, as it was before the work began."""

    table: str | Path
    source: str
    states: list[tuple[str, int, int]] = field(repr=False)

    def unchanged(self) -> str:
        """Return the commitment; refuse a table that was changed meanwhile."""
        if states_of(self.table) != self.states:
            raise InputError(changed("the table"))
        return self.source


@dataclass(frozen=True)
class Endorsement:
    """What is added to a certificate that was found to be true; without anything, the certificate stays as it is."""

    valid_until: date | None = None
    previous: tuple[str, ...] = ()
    signing_key: SigningKey | None = None
    commit: bool = False  # asked for; who signs and keeps a record commits, too
    sources: tuple[Path, ...] = ()  # files that were read for it
    keys: CommitmentKeys | None = field(default=None, repr=False)
    committed: CommittedTable | None = None

    def files(self, certificate: str | Path | None) -> dict[str, Path]:
        """Return the files to write beside the certificate, by name; without a certificate, nothing can be added."""
        asked = self.valid_until is not None or self.previous or self.signing_key is not None or self.commit
        if asked and certificate is None:
            raise InputError(
                "signatures, last days, earlier certificates and commitments need a certificate: add --certificate FILE"
            )
        if certificate is None or self.signing_key is None:
            return {}
        return {"envelope": envelope_path(Path(certificate))}

    def begun(self, table: Any, *, record: bool, created: str, beat: Beat = still) -> Endorsement:
        """Commit to the table before it is read, where a record keeps the keys, and check the day."""
        if self.valid_until is not None and self.valid_until.isoformat() < created[:10]:
            raise InputError(f"the certificate would have expired already: {self.valid_until.isoformat()} is past")
        if self.commit and not record:
            raise InputError("only the record can open commitments later: add --record FILE")
        if self.commit and not is_committable(table):
            raise InputError("commitments need a table in a file: nobody could show standard input or a frame again")
        if not record or not (self.commit or self.signing_key):
            return self
        keys = CommitmentKeys.new()
        if not is_committable(table):
            return replace(self, keys=keys)
        states = states_of(table)
        return replace(self, keys=keys, committed=CommittedTable(table, keys.of_source(table, beat), states))

    def endorsed(self, certificate: Certificate, seed: int) -> Certificate:
        """Return the certificate with what is added to it."""
        kept = None
        if self.keys is not None:
            source = None if self.committed is None else self.committed.unchanged()
            kept = Commitments(self.keys.of_seed(seed), source)
        previous = (*certificate.steward.previous, *self.previous)  # a release that was continued names the one before
        added = StewardClaims(self.valid_until, previous, kept)
        return certificate if added == certificate.steward else replace(certificate, steward=added)

    def contents(self, certificate: Certificate, record: bytes) -> Mapping[str, bytes]:
        """Return the bytes of the certificate, of the record and, if somebody signs, of the envelope."""
        contents = {"certificate": certificate.to_bytes()}
        contents["record"] = record if self.keys is None else self.keys.in_record(record)
        if self.signing_key is not None:
            statement = statement_of({**certificate.to_dict(), "digest": certificate.digest})
            contents["envelope"] = Envelope(statement).signed_with(self.signing_key).to_bytes()
        return contents


NOTHING_ADDED = Endorsement()
