"""Repeat a release from its record: the method, its options, the seed and the engine are those of the first time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.policy.settings import exact
from tclose.release.certificate import ReleaseFormat
from tclose.release.record import Record, RecordedSeed, load_record
from tclose.release.record_notes import file_digest, policy_digest, written_down
from tclose.steps.engines import PublishingEngine

GIVEN = (
    "--replay takes the method, its options, the seed, --room, --format, --part-rows and --guard-formulas from the "
    "record"
)


@dataclass(frozen=True)
class Replay:
    """What a record says about how a release was made."""

    method: str
    options: Mapping[str, Any]
    seed: RecordedSeed
    engine: PublishingEngine
    part_rows: int | None
    guard_formulas: bool
    release_format: ReleaseFormat
    room: Fraction = Fraction(0)

    @classmethod
    def of(cls, path: str | Path, table: Any, policy: Policy, out: Path, asked: Mapping[str, Any]) -> Replay:
        """Read a record; refuse another table or policy than those of the release, and settings beside the record's.

        `asked` are the settings of the command, which a record of format 1 says nothing about.
        """
        record = load_record(path)
        if asked["seed"] is not None:
            raise InputError(GIVEN)
        seed = RecordedSeed.of(record)
        if record.format == 1:
            rest = {
                name: asked[name] for name in ("options", "engine", "part_rows", "guard_formulas", "release_format")
            }
            return cls(method=record.method, seed=seed, room=asked["room"], **rest)
        if asked["options"] or asked["part_rows"] is not None or asked["guard_formulas"] or asked["room"]:
            raise InputError(GIVEN)
        release_format: ReleaseFormat = "columns" if record.release_format == "columns" else "text"
        if asked["release_format"] not in ("text", release_format):
            raise InputError(GIVEN)
        _check(record, table, policy, out)
        engine: PublishingEngine = "disk" if record.engine == "disk" else "memory"
        made = (record.method, record.options, seed, engine, record.part_rows, record.guard_formulas, release_format)
        return cls(*made, record.room)


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


def checked_room(room: Any) -> Fraction:
    """Read the share of every t that is left unused."""
    try:
        share = exact(room)
    except (ValueError, ArithmeticError, TypeError):
        share = Fraction(-1)
    if not 0 <= share < 1:
        raise InputError("the room for new rows is a share of every t: from 0 to less than 1")
    return share
