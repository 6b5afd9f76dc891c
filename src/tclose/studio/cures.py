"""Where the setting is that cures a finding: the field of a column, or the size of classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

FIELD_OF_KIND = {"same_value": "t", "rare_value": "bins"}  # of "known_value" and others: the column's role
FIELD_OF_CURE = (("l = ", "l"), ("bins", "bins"), ("smaller t", "t"))  # the first that a cure begins with or names
MOST_LINKS = 6
QUOTED = re.compile(r"'([^']+)'")


class Cure(NamedTuple):
    """A link to a setting: the screen, the field on it, and the column that it belongs to, if any."""

    screen: str
    anchor: str
    column: str


def of_exposure(found: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Cure]:
    """Return where to cure rows that remain exposed; nothing where no setting is known to help."""
    if not found.get("cures", True):
        return []
    return _fields(list(found["attributes"]), FIELD_OF_KIND.get(found["kind"], "column"), settings)


def of_attack(found: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Cure]:
    """Return where to cure what an attack found; nothing where no setting of these screens does."""
    if not found["release"]["rows"]:
        return []
    if "larger k" in found["cure"].partition(",")[0]:
        return [Cure("quasi", "k", "")]
    field = next((field for words, field in FIELD_OF_CURE if words in found["cure"]), None)
    if field is None:
        return []
    named = [each["attribute"] for each in found["classes"]] or QUOTED.findall(found["release"]["sentence"])
    return _fields(list(dict.fromkeys(named)), field, settings)


def _fields(columns: list[str], field: str, settings: Mapping[str, Any]) -> list[Cure]:
    places = {name: place for place, name in enumerate(settings.get("sensitive", {}))}
    return [Cure("sensitive", f"{field}-{places[name]}", name) for name in columns if name in places][:MOST_LINKS]
