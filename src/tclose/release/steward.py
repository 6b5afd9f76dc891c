"""What the steward adds to a certificate: until when it is valid, which came before it, and commitments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from tclose.release.certificate_files import Unreadable
from tclose.release.commitments import Commitments, is_hex

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
        return [f"the certificate has expired: it was valid until {self.valid_until.isoformat()}"]


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
