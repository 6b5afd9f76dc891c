"""Commitments: what a certificate says of the original table and the seed without telling anything about them.

Each is an HMAC-SHA-256 with a random key of its own, which stands in the steward's record. Anyone who gets a table and
its key can check that this table was published. Anyone who has the certificate alone cannot tell a right guess from a
wrong one. A plain fingerprint of a raw table would confirm guesses of its cells, so there is none.

The steward also adds until when a certificate is valid, and which one came before it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.messages import say
from tclose.policy.settings import check_readable
from tclose.release.certificate_format import Unreadable
from tclose.table.sources import is_folder
from tclose.table.sources.folder import parts_of
from tclose.types import Beat, still

# Commitments and their keys


SCHEME = "HMAC-SHA-256"
HEX = re.compile("[0-9a-f]{64}")
IN_RECORD = "commitment_keys"
BLOCK = 1 << 22


@dataclass(frozen=True, repr=False)
class Commitments:
    """What a certificate commits to: the seed, and the table unless it was no file."""

    seed: str
    source: str | None = None

    @classmethod
    def from_dict(cls, given: Any) -> Commitments:
        """Read commitments; `Unreadable` where they are none."""
        if not isinstance(given, Mapping) or given.get("scheme") != SCHEME:
            raise Unreadable(f"its commitments are not by {SCHEME}")
        if not all(is_hex(given.get(name)) for name in given.keys() & {"source"} | {"seed"}):
            raise Unreadable("its commitments are not readable")
        return cls(given["seed"], given.get("source"))

    def to_dict(self) -> dict[str, str]:
        """Return the commitments as JSON has them."""
        return {"scheme": SCHEME, **({} if self.source is None else {"source": self.source}), "seed": self.seed}


@dataclass(frozen=True)
class CommitmentKeys:
    """The keys of the commitments: two, so that the steward can show one without the other."""

    source: bytes = field(repr=False)
    seed: bytes = field(repr=False)

    @classmethod
    def new(cls) -> CommitmentKeys:
        """Draw keys."""
        return cls(secrets.token_bytes(32), secrets.token_bytes(32))

    def of_seed(self, seed: int) -> str:
        """Commit to a seed."""
        return _committed(self.seed, "seed", [str(seed).encode()])

    def of_source(self, table: str | Path, beat: Beat = still) -> str:
        """Commit to the bytes of a table: one file, or the names and the fingerprints of a folder's files."""
        return _committed(self.source, "source", _source(file_of(table), beat))

    def in_record(self, record: bytes) -> bytes:
        """Add the keys to a record."""
        keys = {"source": self.source.hex(), "seed": self.seed.hex()}
        return (json.dumps({**json.loads(record), IN_RECORD: keys}) + "\n").encode()


@dataclass(frozen=True)
class OpenedRecord:
    """A record that was read again: the seed, and the keys of the commitments."""

    seed: int = field(repr=False)
    keys: CommitmentKeys

    @classmethod
    def load(cls, path: str | Path) -> OpenedRecord:
        """Read a record; no message repeats what stands in it."""
        try:
            check_readable(path)
            content = json.loads(Path(path).read_bytes())
            seed, keys = content["seed"], content.get(IN_RECORD)
        except OSError as error:
            raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError("{path} is not a record of tclose", path=path) from None
        if keys is None:
            raise InputError("the record {path} has no keys of commitments", path=path)
        if isinstance(seed, bool) or not isinstance(seed, int) or not isinstance(keys, Mapping):
            raise InputError("{path} is not a record of tclose", path=path)
        if not all(is_hex(keys.get(name)) for name in ("source", "seed")):
            raise InputError("{path} is not a record of tclose", path=path)
        return cls(seed, CommitmentKeys(bytes.fromhex(keys["source"]), bytes.fromhex(keys["seed"])))


def file_of(table: str | Path) -> Path:
    """Return the file or folder that a table lies in; a part that is named behind # belongs to its file."""
    path = Path(table)
    if is_file_or_folder(path):
        return path
    whole, part, _ = str(table).rpartition("#")
    if part and Path(whole).is_file():
        return Path(whole)
    raise InputError("there is no file {table} that could be compared", table=table)


def is_committable(table: Any) -> bool:
    """Tell whether a table lies in a file or a folder, to which one can commit."""
    if not isinstance(table, str | Path) or str(table) == "-":
        return False
    try:
        file_of(table)
    except InputError:
        return False
    return True


def states_of(table: str | Path) -> list[tuple[str, int, int]]:
    """Return what changes when somebody writes to a table: sizes and times."""
    found = [(str(path), path.stat()) for path in _files(file_of(table))]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in found]


def is_file_or_folder(path: Path) -> bool:
    """Tell whether a path leads to a file whose bytes stay, or to a folder; a pipe does not."""
    try:
        return path.is_file() or is_folder(path)
    except OSError:
        return False


def _files(path: Path) -> list[Path]:
    return parts_of(path) if path.is_dir() else [path]


def _source(path: Path, beat: Beat) -> Iterator[bytes]:
    """Yield what stands for a table, block by block."""
    if not path.is_dir():
        yield b"file\0"
        yield from _blocks(path, beat)
        return
    yield b"folder\0"
    for part in parts_of(path):
        name, digest = os.fsencode(part.name), hashlib.sha256()
        for block in _blocks(part, beat):
            digest.update(block)
        yield struct.pack(">I", len(name)) + name + digest.digest()


def _blocks(path: Path, beat: Beat) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                beat()
                yield block
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None


def _committed(key: bytes, what: str, blocks: Iterator[bytes] | list[bytes]) -> str:
    mac = hmac.new(key, f"tclose-commitment-1\0{what}\0".encode(), hashlib.sha256)
    for block in blocks:
        mac.update(block)
    return mac.hexdigest()


def is_hex(given: Any) -> bool:
    """Tell whether something is the text of 32 bytes, in small letters."""
    return isinstance(given, str) and HEX.fullmatch(given) is not None


# All that the steward adds to a certificate


DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class StewardClaims:
    """What stands in a certificate because its steward says so; no release shows any of it."""

    valid_until: date | None = None
    previous: tuple[str, ...] = ()  # digests of the certificates of earlier releases of the same table
    commitments: Commitments | None = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StewardClaims:
        """Read the keys of a certificate that are the steward's; `Unreadable` where one is wrong."""
        previous = content.get("previous", [])
        if not isinstance(previous, list) or not all(map(is_hex, previous)):
            raise Unreadable("the digests of the certificates before it are not readable")
        if "previous" in content and not previous:
            raise Unreadable("it lists no certificates before it")
        until = _day(content["valid_until"]) if "valid_until" in content else None
        kept = Commitments.from_dict(content["commitments"]) if "commitments" in content else None
        return cls(until, tuple(previous), kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that there are, as JSON has them."""
        until, kept = self.valid_until, self.commitments
        return {
            **({} if until is None else {"valid_until": until.isoformat()}),
            **({"previous": list(self.previous)} if self.previous else {}),
            **({} if kept is None else {"commitments": kept.to_dict()}),
        }

    def not_verifiable(self, opened: Iterable[str]) -> list[str]:
        """Return the keys that a release says nothing about, but those that were opened with the steward's record."""
        kept = {} if self.commitments is None else self.commitments.to_dict()
        names: list[str] = [name for name in ("valid_until", "previous") if name in self.to_dict()]
        names += [f"commitments.{name}" for name in ("source", "seed") if name in kept]
        return [name for name in names if name not in opened]

    def problems(self, on: date | None = None) -> list[str]:
        """Say that the certificate is no longer valid; without a day to judge by, the clock decides, in UTC."""
        if self.valid_until is None or (on or today()) <= self.valid_until:
            return []
        return [
            say(
                "the certificate has expired: it was valid until {valid_until}",
                valid_until=self.valid_until.isoformat(),
            )
        ]


def today() -> date:
    """Return the day by the clock, in UTC; no variable of the environment replaces it."""
    return datetime.now(UTC).date()


def _day(given: Any) -> date:
    try:
        if not isinstance(given, str) or not DAY.fullmatch(given):
            raise ValueError("not a day")
        return date.fromisoformat(given)
    except ValueError:
        raise Unreadable("valid_until is no day such as 2027-12-31") from None
