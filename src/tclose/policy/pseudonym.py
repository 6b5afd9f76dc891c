"""Identifiers that are published as keyed pseudonyms: what a policy says of them, and what does not go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import Mistakes, PolicyError
from tclose.policy import settings
from tclose.policy.settings import join, kind_of

PLACE = "pseudonym"


@dataclass(frozen=True)
class Pseudonym:
    """How one identifier is published; `key` is the file of the secret key."""

    key: Path


def pseudonyms(value: object, place: str) -> dict[str, Pseudonym]:
    """Read one `[pseudonym.COLUMN]` table per identifier."""
    if not isinstance(value, Mapping):
        raise PolicyError(f"expected one [{place}.COLUMN] table per identifier, not {kind_of(value)}", place=place)
    read, mistakes = {}, Mistakes()
    for name, spec in value.items():
        with mistakes.collected():
            read[str(name)] = _pseudonym(spec, join(place, str(name)))
    mistakes.report()
    return read


def _pseudonym(value: object, place: str) -> Pseudonym:
    if isinstance(value, Pseudonym):
        return value
    read = settings.table({"key": settings.path})(value, place)
    if "key" not in read:
        raise PolicyError('say where the secret key is: key = "FILE"', place=place)
    return Pseudonym(read["key"])


def located(given: Mapping[str, Pseudonym], folder: Path) -> dict[str, Pseudonym]:
    """Return the same settings with paths that start at `folder`."""
    return {name: Pseudonym(folder / spec.key) for name, spec in given.items()}


def mistakes_of_pseudonyms(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about pseudonyms; `roles` holds the settings that can be read."""
    named = roles.get("pseudonym") or {}
    for name in named:
        if name not in roles.get("identifiers", ()):
            yield join(PLACE, name), f"only an identifier can get a pseudonym: list '{name}' in identifiers"
    if len(named) > 1:
        yield PLACE, "only one identifier can get a pseudonym: two would need one class for all rows that either links"
    elif named and roles.get("person") not in (None, *named):
        yield PLACE, "rows with the same pseudonym are rows of one person: name the same column as person, or none"
    if named:
        yield from _not_beside(roles)


def _not_beside(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not go with pseudonyms."""
    moves = "moves single rows between classes, but all rows of a pseudonym must stay in one class"
    reasons = {
        "temper": moves,
        "both": "publishes values apart from rows, but a pseudonym links the rows of a person",
        "presence": "counts rows against people, but rows of a pseudonym are one person's",
    }
    for name, why in reasons.items():
        if roles.get(name):
            yield name, f"{name} {why}: leave one of the two out"
    given = roles.get("sensitive")
    for column, spec in given.items() if isinstance(given, Mapping) else ():
        for name in ("n", "average_t"):
            if getattr(spec, name) is not None:
                why = "looks at several classes at once, which the search for classes of whole persons does not"
                yield join(join("sensitive", column), name), f"{name} {why}: leave {name} or the pseudonym out"
