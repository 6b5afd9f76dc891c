"""Repeat a release from its record: the method, its options, the seed and the engine are those of the first time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.release.certificate import ReleaseFormat
from tclose.release.record import Record, RecordedSeed, load_record
from tclose.release.record_notes import file_digest, policy_digest, written_down
from tclose.run.request import Request

GIVEN = (
    "--replay takes the method, its options, the seed, --room, --format, --part-rows and --guard-formulas from the "
    "record"
)


def replayed(request: Request) -> Request:
    """Return a request with what its record says.

    Another table or policy than those of the release, and settings beside the record's, are refused. A record of
    format 1 says no more than the method and the seed.
    """
    if request.replay is None:
        return request
    record = load_record(request.replay)
    if request.seed is not None:
        raise InputError(GIVEN)
    made = replace(request, method=record.method, seed=RecordedSeed.of(record))
    if record.format == 1:
        return made
    spelled: ReleaseFormat = "columns" if record.release_format == "columns" else "text"
    given = request.options or request.part_rows is not None or request.guard_formulas or request.room
    if given or request.release_format not in ("text", spelled):
        raise InputError(GIVEN)
    _check(record, request.table, request.asked, Path(request.out))
    return replace(
        made,
        options=record.options,
        engine="disk" if record.engine == "disk" else "memory",
        part_rows=record.part_rows,
        guard_formulas=record.guard_formulas,
        release_format=spelled,
        room=record.room,
    )


def recorded_seed(path: str | Path) -> RecordedSeed:
    """Return the seed of a record, which nobody has chosen; what is made from it need not be the recorded files."""
    return RecordedSeed(load_record(path).seed)


def _check(record: Record, table: Any, policy: Policy, out: Path) -> None:
    """Refuse what cannot give the same bytes, before the work begins."""
    batches = record.notes.batches
    if batches is not None and len(batches) and batches.max() > 0:
        raise InputError("the record is of a release that new rows have joined (apply): only its first release repeats")
    if record.engine == "spark":
        raise InputError("the record is of a release that was made on Spark: it cannot be repeated here")
    if policy_digest(written_down(policy).to_dict()) != record.content["policy_sha256"]:
        raise InputError("the policy is not the one of the record, so the release cannot be repeated")
    known, found = record.notes.table_sha256, file_digest(table)
    if known is not None and found is not None and known != found:
        raise InputError(
            "the table is not the one of the record: its SHA-256 differs, so the release cannot be repeated"
        )
    name = record.files[0].name
    if record.part_rows is None and name is not None and Path(name).suffix.lower() != out.suffix.lower():
        raise InputError(f"the release was written as {Path(name).suffix}, so name --out a file of this ending")
