"""Which role a column seems to play, and why; and the form of a guess. What is in doubt is not published.

An identifier is never published. A quasi-identifier is published for a class at a time: as a range, a label or a set. A
sensitive value is published row by row, so texts of which many belong to one row are identifiers; numbers are binned
(`guesses.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tclose.messages import joined, say
from tclose.policy.draft import patterns
from tclose.policy.draft.patterns import IDENTIFYING, SHAPES
from tclose.policy.draft.profile import FEWEST, ColumnProfile, Kind, is_named
from tclose.words import percent

Role = Literal["identifier", "quasi", "sensitive"]

MANY_NUMBERS = 0.1  # share of rows with a number of their own from which exact numbers are not published
MANY_TEXTS = 0.1  # the same for texts, where the set of a class would spell them out
MANY_ROWS = 10  # fewer rows than this are not many in a small table, whatever their share
MANY_PROSE = 0.05  # the same for free text
MEASUREMENT = 50  # different numbers: more look like a measurement
FEW_LEVELS = 5  # different values: no more are answers, not numbers of persons
FEW_IDS = 10  # different values: fewer hardly number persons
ROWS_PER_PERSON = 50  # more rows per value rather number groups of persons
LONG_NUMBER = 9  # digits: as phone numbers and accounts have
CARD_DIGITS = 12  # digits: no amount of money has so many
CODE_DIGITS = 7  # digits that nearly all numbers of a code have
LEAST_ROWS = 5  # so many rows show that numbers are consecutive, or rise
PERSONAL_CODES = frozenset({"email", "official", "uuid", "hash"})  # shapes of texts that stand for one person each
NAMES_PERSONS = 10**18  # how much more a name such as patient_id counts than the number of different values


class Reason(NamedTuple):
    """A role, why, and whether the name alone decided."""

    role: Role
    why: str
    by_name: bool


def role_of(column: ColumnProfile) -> Reason:
    """Return the role of a column."""
    name = patterns.words(column.name)
    if why := _identified_by_name(column, name):
        return Reason("identifier", why, True)
    if column.kind == "date":  # exact dates are never published: they go up a hierarchy
        return Reason("quasi", "others may know dates from a person's life", True)
    if patterns.POSTCODE.search(name):
        return Reason("quasi", "its name says that it is a postal code", True)
    if column.shape in IDENTIFYING:
        return Reason("identifier", say("its values look like {shape}", shape=say(SHAPES[column.shape])), False)
    if why := _identified_by_texts(column):
        return Reason("identifier", why, False)
    if _has_long_numbers(column, CARD_DIGITS):
        return Reason("identifier", "its whole numbers are as long as the numbers of cards and accounts", False)
    if patterns.SAMPLING_WEIGHT.search(name) and column.kind == "number":
        return Reason("sensitive", "its name says that it is a sampling weight", True)
    if _is_sensitive_by(name) and not (patterns.NAMED_CODE.search(name) and _is_surely_code(column)):
        return Reason("sensitive", "its name says something that nobody may learn about a person", True)
    if _is_code_without_ranges(column):
        return Reason("identifier", "codes of places or groups, which a class would spell out", True)
    if patterns.QUASI.search(name):
        return Reason("quasi", "its name is something that others may know about a person", True)
    if not patterns.COUNT.search(name) and (why := _identified_by_numbers(column)):
        return Reason("identifier", why, False)
    if column.code is not None and column.code.surely:
        why = joined("; ", [say("its numbers look like those of places or groups"), column.code.sentence])
        return Reason("quasi", why, False)
    if patterns.NUMBER_OF_GROUP.search(name) or (patterns.NUMBERING.search(name) and not _is_count(column, name)):
        return Reason("quasi", "its name says that it is a group, a code or a number, which others may know", True)
    return _role_by_values(column, name)


def _is_sensitive_by(name: str) -> bool:
    return patterns.SENSITIVE.search(name) is not None and not patterns.COUNT.search(name)


def _is_surely_code(column: ColumnProfile) -> bool:
    return column.code is not None and column.code.surely


def is_code(column: ColumnProfile) -> bool:
    """Tell whether whole numbers are, or may be, codes of places or groups, so that none is published exactly."""
    name, numbers = patterns.words(column.name), column.numbers
    if numbers is None or not numbers.whole or column.distinct < FEWEST or patterns.POSTCODE.search(name):
        return False
    return is_named(column.name, column.distinct) or _is_surely_code(column)


def _is_code_without_ranges(column: ColumnProfile) -> bool:
    """Tell whether codes of places or groups are texts, or numbers below 0, of which no range can be made."""
    if column.numbers is not None:
        return is_code(column) and column.numbers.as_ranges is None
    named = is_named(column.name, column.distinct) or patterns.NUMBER_OF_GROUP.search(patterns.words(column.name))
    return bool(named) and column.shape == "code" and column.distinct >= FEWEST


def _role_by_values(column: ColumnProfile, name: str) -> Reason:
    numbers = column.numbers
    if is_code(column):
        return Reason("quasi", "its name is that of the number of a place or a group", True)
    if (reason := _role_by_description(column)) is not None:
        return reason
    if numbers is not None and numbers.days:
        return Reason("quasi", "its numbers read as dates such as 20240331", False)
    if column.kind == "number" and column.distinct > MEASUREMENT:
        return Reason("sensitive", "a measurement by the look of its values", False)
    return Reason("quasi", "its meaning is unknown, and others may know its values", False)


def _role_by_description(column: ColumnProfile) -> Reason | None:
    """Return the role that a description tells, where the name does not."""
    words = patterns.words(column.described)
    if _is_sensitive_by(words):
        return Reason("sensitive", "its description says something that nobody may learn about a person", True)
    if patterns.QUASI.search(words):
        return Reason("quasi", "its description is something that others may know about a person", True)
    return None


def _identified_by_name(column: ColumnProfile, name: str) -> str | None:
    """Say why the name of a column points to one person or one row, with the counts where the name can mislead."""
    if not _holds_codes_or_texts(column):
        return None
    if patterns.PERSONAL.search(name) and not _has_yes_or_no(column) and not _is_count(column, name):
        return "its name points to one person"
    if patterns.OFFICIAL.search(name) and not _has_few_levels(column):
        return "its name says that it is an official number of one person"
    if patterns.ID.search(name) and not (
        patterns.NUMBER_OF_GROUP.search(name) and column.distinct < 0.2 * column.present
    ):
        return "its name says that it numbers rows or persons"
    return _numbered_by_name(column, name)


def _numbered_by_name(column: ColumnProfile, name: str) -> str | None:
    """Say why a name such as "case" or "number", which can also mean a count or a group, means a code."""
    if patterns.NUMBER_OF_GROUP.search(name) and column.nearly_unique and _is_code(column):
        return "its name and its many different numbers point to one row"
    numbering = patterns.NUMBERING.search(name) or patterns.NUMBER_OF_PERSON.search(name)
    if not numbering or patterns.POSTCODE.search(name) or _is_count(column, name):
        return None
    if column.distinct > 0.5 * column.present:
        return "its name and its many different values point to one row or person"
    if column.in_blocks:
        return "its name is a number or a code, and each value stands in a few rows, as the number of a person does"
    if column.distinct >= FEW_IDS and (
        patterns.NUMBER_OF_PERSON.search(name) or patterns.NUMBER_OF_FAMILY.search(name)
    ):
        return "its name says that it numbers persons or families"
    return None


def _is_count(column: ColumnProfile, name: str) -> bool:
    """Tell whether a name says how many there are; n_patient with many different numbers is rather a number."""
    if column.kind != "number" or not patterns.COUNT.search(name) or patterns.ID.search(name):
        return False
    return not (patterns.NUMBER_OF_PERSON.search(name) and column.distinct > 0.5 * column.present)


def _is_code(column: ColumnProfile) -> bool:
    return column.numbers is not None and column.numbers.whole


def _holds_codes_or_texts(column: ColumnProfile) -> bool:
    return _is_code(column) or column.kind in ("text", "mixed")


def _has_yes_or_no(column: ColumnProfile) -> bool:
    """Tell whether the values rather say if there is a phone than its number."""
    return column.shape == "answer" or (column.kind == "number" and column.distinct <= 2 and column.rows >= 20)


def _has_few_levels(column: ColumnProfile) -> bool:
    return _has_yes_or_no(column) or (column.distinct <= FEW_LEVELS and column.rows >= 20 * FEW_LEVELS)


def _identified_by_texts(column: ColumnProfile) -> str | None:
    """Say why texts identify rows: many stand in one row only, and a class would spell them out."""
    if column.kind not in ("text", "mixed") or not column.present:
        return None
    if patterns.FREE_TEXT.search(patterns.words(column.name)) and not _has_few_levels(column):
        return "free text can name people"
    if column.shape == "dates" and (column.distinct > MEASUREMENT or column.own_share > MANY_TEXTS):
        return "its dates are not written as 2024-03-31: rewrite them, and a class can publish a month or a year"
    if column.shape == "amounts" and column.own_share > MANY_TEXTS:
        return "its numbers are not written as 12.5: rewrite them, and they can be published in bins"
    if column.kind == "text" and column.shape == "prose" and column.own_share > MANY_PROSE:
        return "free text can name people"
    if column.nearly_unique:
        return "(nearly) every row has a text of its own"
    if column.in_blocks and (column.distinct > MEASUREMENT or column.shape == "code"):
        return "each of its texts stands in a few rows, as the code of a person does"
    if column.own_share > MANY_TEXTS and (column.own >= MANY_ROWS or column.rows >= 5 * MANY_ROWS):
        return say("{share} of the rows have a text of their own", share=percent(column.own_share))
    return None


def _has_long_numbers(column: ColumnProfile, digits: int) -> bool:
    return column.numbers is not None and column.numbers.digits >= digits and column.distinct >= FEW_IDS


def _identified_by_numbers(column: ColumnProfile) -> str | None:
    """Say why whole numbers look like a code and not like a measurement."""
    numbers = column.numbers
    if numbers is None or not numbers.whole or numbers.days or column.distinct < LEAST_ROWS:
        return None
    if _has_long_numbers(column, LONG_NUMBER):
        return say("its whole numbers have {count} digits, as phone numbers and accounts have", count=numbers.digits)
    if column.nearly_unique:
        if numbers.consecutive:
            return "its whole numbers are (nearly) all different and consecutive, as a running number is"
        if numbers.rising:
            return "its whole numbers are (nearly) all different and rise from row to row, as a running number does"
        if numbers.digits >= CODE_DIGITS:
            template = "its whole numbers are (nearly) all different and have {count} digits, as a code has"
            return say(template, count=numbers.digits)
    elif column.in_blocks and (numbers.consecutive or column.distinct > MEASUREMENT):
        return "each of its whole numbers stands in a few rows, as the number of a person does"
    return None


def is_known_by_others(name: str, kind: str) -> bool:
    """Tell whether others may know a column, by its name or kind: age, sex, a date, a place, education, a group.

    Of any other quasi-identifier the draft says that its meaning is unknown.
    """
    spelled = patterns.words(name)
    if kind == "date" or patterns.POSTCODE.search(spelled):
        return True
    if patterns.SENSITIVE.search(spelled) and not patterns.COUNT.search(spelled):
        return False
    return any(
        each.search(spelled) for each in (patterns.QUASI, patterns.NUMBER_OF_GROUP, patterns.NUMBERING, patterns.BIRTH)
    )


def fitness_as_person(column: ColumnProfile) -> int:
    """Tell how well an identifier can serve as `person`: 0 if it does not repeat, or numbers something else."""
    name = patterns.words(column.name)
    repeats = 0 < column.distinct < column.present
    named = patterns.NUMBER_OF_PERSON.search(name) is not None
    many = column.distinct >= FEW_IDS and (named or column.distinct * ROWS_PER_PERSON >= column.present)
    if not (_holds_codes_or_texts(column) and repeats and many) or _numbers_others(column, name):
        return 0
    if named:
        return NAMES_PERSONS + column.distinct
    if (
        patterns.ID.search(name)
        or patterns.OFFICIAL.search(name)
        or column.kind == "number"
        or column.shape in PERSONAL_CODES
    ):
        return column.distinct
    return 0


def _numbers_others(column: ColumnProfile, name: str) -> bool:
    """Tell whether equal values can belong to different persons: namesakes, a family, an address, a hospital."""
    if patterns.NUMBER_OF_GROUP.search(name) or patterns.HOUSEHOLD.search(name):
        return True
    shared = patterns.PERSONAL.search(name) and not patterns.ID.search(name) and column.shape != "email"
    return bool(shared) or column.shape in IDENTIFYING - PERSONAL_CODES


# Guess and draft


@dataclass(frozen=True)
class Guess:
    """The role that a column seems to play, why, what is set for it, and what its steward should know."""

    column: str
    role: Role
    kind: Kind
    why: str
    missing: int
    settings: Mapping[str, Any] = field(default_factory=dict)  # keys of its table in the policy
    remarks: tuple[str, ...] = ()
    by_name: bool = False  # whether the name alone decided
    person: int = 0  # how well it can serve as `person`; 0: it cannot

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "column": self.column,
            "role": self.role,
            "kind": self.kind,
            "why": self.why,
            "missing": self.missing,
            "settings": plain(self.settings),
            "remarks": list(self.remarks),
        }


def plain(value: Any) -> Any:
    """Return a setting as JSON has it."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, str | int | list):
        return value
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True)
class Draft:
    """A first draft of a policy, as TOML, and the guess about each column that it rests on."""

    policy: str
    columns: tuple[Guess, ...]
    person: str | None = None  # the identifier of a person, where it repeats

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the steward must decide, since no role settles it."""
        return tuple(filter(None, [self._without_sensitive()]))

    def _without_sensitive(self) -> str:
        if not self.columns or any(each.role == "sensitive" for each in self.columns):
            return ""
        return (
            "the draft has no sensitive column, so nothing limits what a class tells about a person: which column must "
            "nobody learn? Make it [sensitive.COLUMN] and give it a t"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "policy": self.policy,
            "columns": [guess.to_dict() for guess in self.columns],
            "person": self.person,
            "warnings": list(self.warnings),
        }
