"""The record of a release, for its steward's eyes only: what repeats the release, and what new rows need to join it.

Format 1 holds the seed, the method and the version. Format 2 adds the options, the policy with everything that its
files say, the cells and counts of every class, the batch that each published row came with, and the fingerprints of the
release and of its certificate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.policy.derived import with_levels
from tclose.policy.settings import exact
from tclose.policy.source import SourceSettings, same_reading
from tclose.release.certificate import CertifiedFile
from tclose.release.record_notes import FORMAT, UNNAMED_KEY, Notes, unrolled
from tclose.table.sources import read_bytes

PLAIN = ("temper", "presence")  # settings that play no role when classes are read again


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """A record that was read; of format 1, only the seed, the method and the version are known."""

    format: int
    seed: int
    method: str
    version: str
    content: Mapping[str, Any]

    def __repr__(self) -> str:
        """Say what it is; never the seed."""
        return f"<Record of format {self.format} by {self.method}>"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the method."""
        options: Mapping[str, Any] = self._given("options", Mapping)
        return options

    @property
    def engine(self) -> str:
        """Where the release was made."""
        return str(self.content.get("engine", "memory"))

    @property
    def part_rows(self) -> int | None:
        """How many rows a part has, where the release is a folder."""
        rows = self.content.get("part_rows")
        return rows if isinstance(rows, int) and not isinstance(rows, bool) else None

    @property
    def guard_formulas(self) -> bool:
        """Whether text that a spreadsheet would run has apostrophes in front."""
        return self.content.get("guard_formulas") is True

    @property
    def release_format(self) -> str:
        """Whether cells are text or typed columns."""
        return "columns" if self.content.get("release_format") == "columns" else "text"

    @property
    def source(self) -> SourceSettings | None:
        """How the file of the original table is written, if its policy said so."""
        return same_reading(self.content.get("source"))

    @cached_property
    def policy(self) -> Policy:
        """The policy that was asked for, with everything that its files say."""
        return _policy(self._given("policy", Mapping))

    @cached_property
    def judged_by(self) -> Policy:
        """The policy by which a reader judges the release; a first release may hold a smaller t, for later batches."""
        levels = {name: spec.t for name, spec in self.policy.required.items() if spec.t is not None}
        return with_levels(_policy(self._given("judged_by", Mapping)), levels)

    @property
    def room(self) -> Fraction:
        """The share of every t that the first release left unused."""
        return exact(self.content.get("room", 0))

    @property
    def files(self) -> list[CertifiedFile]:
        """The files of the release: name, rows and fingerprint."""
        entries = self._given("release", list)
        return [CertifiedFile(entry.get("name"), int(entry["rows"]), str(entry["sha256"])) for entry in entries]

    @property
    def certificate_digest(self) -> str:
        """The digest that stands in the certificate."""
        return str(self._given("certificate", Mapping)["digest"])

    @property
    def notes(self) -> Notes:
        """What no published file shows."""
        columns = self._given("columns", Mapping)
        table = self.content.get("table")
        return Notes(
            options=self.options,
            engine=self.engine,
            kinds=columns["kinds"],
            longest=columns["longest"],
            edges={name: tuple(map(exact, edges)) for name, edges in columns["edges"].items()},
            table_sha256=table.get("sha256") if isinstance(table, Mapping) else None,
            batches=unrolled(self._given("batches", list)),
            policy=self._given("policy", Mapping),
            room=self.room,
            source=self.content.get("source"),
        )

    def _given(self, name: str, kind: Any) -> Any:
        value = self.content.get(name)
        if not isinstance(value, kind):
            raise ValueError(name)
        return value


def load_record(path: str | Path) -> Record:
    """Read a record; one that is damaged is refused, and no message says what stands in it."""
    try:
        content = json.loads(read_bytes(path))
        number, seed = content.get("format", 1), content["seed"]
        if number not in (1, FORMAT) or isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError("format")
        record = Record(number, seed, str(content["method"]), str(content["version"]), content)
        if number == FORMAT:
            _ = record.notes, record.policy, record.judged_by, record.files, record.certificate_digest, record.source
        return record
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, PolicyError):
        _refuse(path)


def _refuse(path: str | Path) -> NoReturn:
    raise InputError(f"{path} is not a record of tclose, or of a later version")


def _policy(given: Mapping[str, Any]) -> Policy:
    policy = Policy.from_dict({name: value for name, value in given.items() if name not in PLAIN})
    if {*policy.files} - {UNNAMED_KEY.key}:
        raise ValueError("a record names no files")
    return policy


class RecordedSeed(int):
    """The seed of a record: as secret as it was, and whatever is made from it must be the recorded files."""

    expected: tuple[str, ...] = ()  # fingerprints; none where the record does not say
    version: str = ""

    @classmethod
    def of(cls, record: Record) -> RecordedSeed:
        """Take the seed of a record."""
        seed = cls(record.seed)
        seed.expected = () if record.format == 1 else tuple(str(file.sha256) for file in record.files)
        seed.version = record.version
        return seed

    def __repr__(self) -> str:
        """Do not show the seed."""
        return "<a recorded seed>"

    def confirm(self, digests: Sequence[str], version: str) -> None:
        """Refuse files that are not the recorded ones."""
        if self.expected and tuple(digests) != self.expected:
            other = f"; the record is of tclose {self.version}, this is {version}" if self.version != version else ""
            raise InputError(
                "the release was not repeated byte for byte, so nothing was written: the table or a library is not "
                f"the one of the record{other}"
            )


def confirm_replay(seed: int, digests: Sequence[str], version: str) -> None:
    """Refuse files that are made from a recorded seed and are not the recorded ones."""
    if isinstance(seed, RecordedSeed):
        seed.confirm(digests, version)
