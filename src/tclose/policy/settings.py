"""Settings: how each is declared, read and written, and what it takes in JSON Schema.

A reader takes a raw value and its place, and returns it checked and exact. Every refusal names the place
(`sensitive.ldl.t`), what was given and what is expected instead. Readers of tables go on after a mistake, so that all
mistakes of a policy are reported at once. A key is declared once, by the `Setting` of a field; `tclose schema`, the
table in the guide and the studio's forms are made from it, or checked against it. Paths that a user names are checked
here, too: no name that no file can have, and no file that has no end.
"""

from __future__ import annotations

import operator
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from numbers import Rational, Real
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from tclose.errors import InputError, Mistakes, PolicyError, did_you_mean
from tclose.messages import say
from tclose.words import legible

# Paths that a user names


def check_name(path: str | Path) -> None:
    """Refuse a path that no file can have."""
    if "\0" in str(path):
        raise InputError("no file can be called {path}: it holds a NUL character", path=path)


def without_password(text: str) -> str:
    """Return the name of a table as it may be shown: a URL without its password.

    >>> without_password("postgresql://ann:secret@db/clinic#visits")
    'postgresql://ann:…@db/clinic#visits'
    """
    hidden = re.sub(r"^(\w+:/+[^/@:]*):.*@", r"\1:…@", text)
    return re.sub(r"([?&]password=)[^&#]*", r"\1…", hidden)


def check_readable(path: str | Path) -> None:
    """Refuse a device that never ends, such as /dev/zero; pipes, terminals and /dev/null are read like files."""
    check_name(path)
    try:
        found = Path(path).stat()
        endless = stat.S_ISBLK(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not _ends(path, found))
    except (OSError, ValueError):  # whoever reads it says why it cannot be read
        return
    if endless:
        raise InputError("{path} is a device, not a file", path=path)


def _ends(path: str | Path, found: os.stat_result) -> bool:
    if found.st_rdev == Path(os.devnull).stat().st_rdev:
        return True
    with Path(path).open("rb", buffering=0) as device:
        return device.isatty()


# Readers of settings


T = TypeVar("T")
Schema = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SettingReader(Generic[T]):
    """How a setting is read, and what it takes, as JSON Schema says it; the rules that remain are its `$comment`."""

    read: Callable[[object, str], T]
    schema: Schema

    def __call__(self, value: object, place: str) -> T:
        """Read a setting at its place."""
        return self.read(value, place)


def takes(schema: Schema, but: str = "") -> Callable[[Callable[[object, str], T]], SettingReader[T]]:
    """Declare what a reader takes; `but` says the rules that a schema has no words for."""
    declared = {**schema, "$comment": but} if but else schema
    return lambda read: SettingReader(read, declared)


MOST_DIGITS = 300  # of a level, before the point, and twice as many after it; floats hold no larger ones
MOST_WEIGHT = 1_000_000  # and the reciprocal at least
CELL_DIGITS = 2000  # of a number made of cells, which have an exponent of 999 at most; Python spells up to 4,300


def exact(value: object, *, digits: int = MOST_DIGITS) -> Fraction:
    """Return a number as an exact fraction; a float stands for its shortest decimal.

    A number that takes more digits is a typing slip: the fraction of 1e999999999 would fill the memory.

    >>> exact(0.1), exact("1/3"), exact(Decimal("0.30"))
    (Fraction(1, 10), Fraction(1, 3), Fraction(3, 10))
    """
    if isinstance(value, bool) or not isinstance(value, Real | str | Decimal):
        raise ValueError("not a number")
    if isinstance(value, Rational):  # NumPy's integers, too
        number = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, str) and "/" in value:
        number = Fraction(value)
    else:
        decimal = Decimal(str(value))
        if not decimal.is_finite() or abs(decimal.adjusted()) > digits:
            raise ValueError("not a finite number of a reasonable size")
        number = Fraction(decimal)
    if abs(number) > 10**digits or number.denominator > 100**digits:
        raise ValueError("not a number of a reasonable length")
    return number


def number(value: object, place: str, *, digits: int = MOST_DIGITS) -> Fraction:
    """Read any number of a reasonable size."""
    try:
        return exact(value, digits=digits)
    except (ValueError, ArithmeticError):
        raise PolicyError(
            'expected a number such as 0.15 or "1/3", not {shown}', shown=shown(value), place=place
        ) from None


AS_TEXT = "^[^A-DF-Za-df-z]+$"  # a number that is written as text has no letter but the e of an exponent
NUMBER: Schema = {"type": ["number", "string"], "pattern": AS_TEXT}
LIMITS = {"minimum": operator.ge, "exclusiveMinimum": operator.gt, "maximum": operator.le}
any_number = takes(NUMBER)(number)


def _number_within(expected: str, **limits: Fraction | int) -> SettingReader[Fraction]:
    """Return the reader of a number within limits, named as in JSON Schema; `expected` says which numbers are."""

    @takes({**NUMBER, **{name: spelled(Fraction(limit)) for name, limit in limits.items()}})
    def read(value: object, place: str) -> Fraction:
        given = number(value, place)
        if not all(LIMITS[name](given, limit) for name, limit in limits.items()):
            raise PolicyError(say(expected, value=value, **limits), place=place)
        return given

    return read


def between(low: int, high: int) -> SettingReader[Fraction]:
    """Return the reader of a number in [low, high]."""
    return _number_within("{value} is outside [{minimum}, {maximum}]", minimum=low, maximum=high)


def above(low: int) -> SettingReader[Fraction]:
    """Return the reader of a number above `low`."""
    return _number_within("expected a number above {exclusiveMinimum}, not {value}", exclusiveMinimum=low)


def above_up_to(low: int, high: int) -> SettingReader[Fraction]:
    """Return the reader of a number above `low` and at most `high`."""
    expected = "expected a number above {exclusiveMinimum} and at most {maximum}, not {value}"
    return _number_within(expected, exclusiveMinimum=low, maximum=high)


def at_least(low: int) -> SettingReader[Fraction]:
    """Return the reader of a number of at least `low`."""
    return _number_within("expected a number of at least {minimum}, not {value}", minimum=low)


def whole(least: int) -> SettingReader[int]:
    """Return the reader of a whole number of at least `least`."""

    @takes({"type": ["integer", "string"], "minimum": least, "pattern": AS_TEXT})
    def read(value: object, place: str) -> int:
        given = number(value, place)
        if given.denominator != 1 or given < least:
            raise PolicyError(
                "expected a whole number of at least {least}, not {value}", least=least, value=value, place=place
            )
        return int(given)

    return read


def one_of(*choices: str) -> SettingReader[str]:
    """Return the reader of one of a few words."""

    @takes({"enum": list(choices)})
    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in choices:
            hint = did_you_mean(str(value), choices)
            raise PolicyError(
                "expected one of {choices}, not {shown}{hint}",
                choices=", ".join(choices),
                shown=shown(value),
                hint=hint,
                place=place,
            )
        return value

    return read


@takes({"type": "string"})
def text(value: object, place: str) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise PolicyError("expected text, not {kind_of}", kind_of=kind_of(value), place=place)
    return value


@takes({"type": "string", "pattern": r"^[^\u0000]*$"})
def path(value: object, place: str) -> Path:
    """Read the path of a file."""
    if not isinstance(value, str | Path):
        raise PolicyError("expected the path of a file, not {kind_of}", kind_of=kind_of(value), place=place)
    check_name(value)
    return Path(value)


VALUES: Schema = {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}


@takes(VALUES, "no value stands in the list twice")
def values(value: object, place: str) -> tuple[Any, ...]:
    """Read a list of different values."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError("expected a list of values, not {kind_of}", kind_of=kind_of(value), place=place)
    if not value:
        raise PolicyError("expected at least one value in the list", place=place)
    if any(isinstance(item, list | tuple | dict) for item in value):
        raise PolicyError("expected plain values in the list, not a list or a table in it", place=place)
    if len({str(item) for item in value}) < len(value):
        raise PolicyError("a value stands in the list twice: name it once", place=place)
    return tuple(value)


@takes({"type": "array"})
def listed(value: object, place: str) -> tuple[Any, ...]:
    """Read a list of anything."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError("expected a list, not {kind_of}", kind_of=kind_of(value), place=place)
    return tuple(value)


def spelled(value: Fraction | Decimal) -> int | float | str:
    """Return a number as JSON or TOML would have it where that is exact, else as text such as "1/3".

    >>> spelled(Fraction(3, 20)), spelled(Fraction(5)), spelled(Fraction(1, 3))
    (0.15, 5, '1/3')
    """
    number = Fraction(value)
    if number.denominator == 1:
        return int(number)
    try:
        figure = float(number)
    except OverflowError:
        return str(number)
    return figure if Fraction(repr(figure)) == number else str(number)


weight = _number_within(  # how much something counts: one beyond a million is a typing slip
    "expected a number above 0, up to {maximum:,}, not {value}",
    minimum=Fraction(1, MOST_WEIGHT),
    maximum=MOST_WEIGHT,
)


@takes({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
def names(value: object, place: str) -> tuple[str, ...]:
    """Read a list of names, each named once."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError('expected a list, as in ["name", "ssn"]', place=place)
    mistakes = Mistakes()
    if others := [name for name in value if not isinstance(name, str)]:
        mistakes.add(PolicyError("expected text in the list, not {kind_of}", kind_of=kind_of(others[0]), place=place))
    for name, times in Counter(name for name in value if isinstance(name, str)).items():
        if times > 1:
            mistakes.add(PolicyError("'{name}' is named twice: name it once", name=name, place=place))
    mistakes.report()
    return tuple(value)


@takes({"type": "array", "minItems": 2, "items": NUMBER}, "the numbers rise")
def rising(value: object, place: str) -> tuple[Fraction, ...]:
    """Read at least two numbers that rise; they are as large or small as the cells of a table can be."""
    numbers = tuple(number(item, place, digits=CELL_DIGITS) for item in values(value, place))
    if len(numbers) < 2 or any(b <= a for a, b in pairwise(numbers)):
        raise PolicyError("expected at least two numbers that rise", place=place)
    return numbers


def _table_schema(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), **needed, "additionalProperties": False}


def table(readers: Mapping[str, SettingReader[Any]], *required: str) -> SettingReader[dict[str, Any]]:
    """Return the reader of a table of settings, each with the reader of its name; unknown names are refused.

    Whoever reads it says what is wrong where a required one is absent.
    """

    @takes(_table_schema({name: reader.schema for name, reader in readers.items()}, required))
    def read(value: object, place: str) -> dict[str, Any]:
        mistakes = Mistakes()
        settings = readable(readers, value, place, mistakes)
        mistakes.report()
        return settings

    return read


def readable(
    readers: Mapping[str, SettingReader[Any]], value: object, place: str, mistakes: Mistakes
) -> dict[str, Any]:
    """Return the settings of a table that can be read, and collect the mistakes in all others."""
    if not isinstance(value, Mapping):
        raise PolicyError("expected a table of settings, not {kind_of}", kind_of=kind_of(value), place=place)
    read = {}
    for name, inner in value.items():
        with mistakes.collected():
            if name not in readers:
                hint = did_you_mean(str(name), readers) or say("; known are {known}", known=", ".join(readers))
                raise PolicyError("unknown key '{name}'{hint}", name=name, hint=hint, place=place)
            if inner is not None:
                read[name] = readers[name](inner, join(place, name))
    return read


def choice(readers: Mapping[str, SettingReader[Any]], example: str) -> SettingReader[tuple[str, Any]]:
    """Return the reader of a table with exactly one of several keys, as in { width = 5 }."""
    schema = _table_schema({name: reader.schema for name, reader in readers.items()})

    @takes({**schema, "minProperties": 1, "maxProperties": 1})
    def read(value: object, place: str) -> tuple[str, Any]:
        if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in readers:
            unknown = [str(name) for name in value if name not in readers] if isinstance(value, Mapping) else []
            hint = did_you_mean(unknown[0], readers) if unknown else ""
            raise PolicyError("expected one of {example}{hint}", example=example, hint=hint, place=place)
        ((name, inner),) = value.items()
        return name, readers[name](inner, join(place, name))

    return read


def by_name(reader: SettingReader[T], expected: str, least: int = 0) -> SettingReader[dict[str, T]]:
    """Return the reader of a table that has a setting for each of some names; `expected` says what it looks like."""

    @takes({"type": "object", "additionalProperties": reader.schema, **({"minProperties": least} if least else {})})
    def read(value: object, place: str) -> dict[str, T]:
        if not isinstance(value, Mapping) or len(value) < least:
            raise PolicyError(say(expected, place=place, kind=kind_of(value)), place=place)
        found, mistakes = {}, Mistakes()
        for name, inner in value.items():
            with mistakes.collected():
                found[str(name)] = reader(inner, join(place, str(name)))
        mistakes.report()
        return found

    return read


def join(place: str, name: str) -> str:
    """Return the place of a name inside a place, quoted as TOML would."""
    bare = name and all(letter.isalnum() or letter in "_-" for letter in name)
    key = name if bare else f'"{name}"'
    return f"{place}.{key}" if place else key


def shown(value: object) -> str:
    """Quote a setting that is a single word or number, else say what it is."""
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return kind_of(value)
    return f"'{legible(str(value))}'"


def kind_of(value: object) -> str:
    """Say in plain words what kind of value was given."""
    words = {bool: "true or false", str: "text", list: "a list", tuple: "a list", dict: "a table"}
    if type(value) not in words and isinstance(value, Real | Decimal):
        return "a number"
    return words.get(type(value), type(value).__name__)


# Declarations: the keys of a table are the fields of a class


@dataclass(frozen=True, eq=False)
class Setting:
    """What a field declares about its key: how it is read, what it means, and where else it is asked for or kept."""

    reader: SettingReader[Any]
    help: str  # one sentence, which stands in the schema and in the guide
    label: str = ""  # of its field in the studio, which has German for it in texts/de.toml
    model: bool = False  # whether it asks for a privacy model
    needs: str | None = None  # the key without which it says nothing
    judged: bool = False  # whether a reader judges a release by it as it stands
    in_house: bool = False  # whether no certificate shows it


@dataclass(frozen=True)
class GivenSettings:
    """The settings of one table as they were given, and those of them that can be read."""

    given: Mapping[str, Any]
    read: Mapping[str, Any]
    all_known: bool  # an unknown key may be a misspelt setting, so nothing is surely absent then

    def has(self, name: str) -> bool:
        """Tell whether a setting is given, readable or not."""
        return name in self.given

    def lacks(self, name: str) -> bool:
        """Tell whether a setting is surely absent."""
        return self.all_known and name not in self.given

    def is_empty(self, name: str) -> bool:
        """Tell whether a setting is absent or names nothing; an unreadable table may mean more than it says."""
        return self.given.keys() == self.read.keys() and not self.read.get(name)


@cache
def declared(kind: Any) -> dict[str, Setting]:
    """Return the settings that a class declares, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name].__metadata__[0] for each in fields(kind)}


def default_of(each: Field[Any]) -> Any:
    """Return the default of a field; `MISSING` where it has none."""
    return each.default if each.default_factory is MISSING else each.default_factory()


@cache
def table_of(kind: Any) -> SettingReader[dict[str, Any]]:
    """Return the reader of a table whose keys a class declares, and what contradicts what, if the class says so.

    Keys without a default are required: whoever reads the table says what is wrong where one is absent.
    """
    readers = {name: setting.reader for name, setting in declared(kind).items()}
    required = [each.name for each in fields(kind) if default_of(each) is MISSING]
    properties = {each.name: _described(each, declared(kind)[each.name]) for each in fields(kind)}

    @takes(_table_schema(properties, required))
    def read(value: object, place: str) -> dict[str, Any]:
        mistakes = Mistakes()
        found = readable(readers, value, place, mistakes)
        if hasattr(kind, "contradictions"):
            assert isinstance(value, Mapping)
            present = {name: inner for name, inner in value.items() if inner is not None}
            for own, why in kind.contradictions(GivenSettings(present, found, present.keys() <= readers.keys())):
                mistakes.add(PolicyError(why, place=f"{place}.{own}" if place and own else place or own))
        mistakes.report()
        return found

    return read


def normalise(given: Any) -> None:
    """Read every setting of a frozen object, so that Python code may write 0.15 where a fraction is kept."""
    kind: Any = type(given)
    read = table_of(kind)(vars(given), "")
    for each in fields(given):
        object.__setattr__(given, each.name, read.get(each.name, default_of(each)))


def _described(each: Field[Any], setting: Setting) -> dict[str, Any]:
    """Return the schema of a key, with what it means and its default."""
    default = default_of(each)
    said = {} if default is MISSING or default in (None, "", (), {}) else {"default": plain(default)}
    return {"description": setting.help, **setting.reader.schema, **said}


def plain(value: Any) -> Any:
    """Turn settings into what JSON and TOML have, exactly; keys at their default are left out."""
    if hasattr(value, "as_setting"):
        return plain(value.as_setting())
    if is_dataclass(value):
        given = ((each, getattr(value, each.name)) for each in fields(value))
        return {each.name: plain(part) for each, part in given if part not in (None, each.default)}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, Path):
        return value.name
    return spelled(value) if isinstance(value, Fraction | Decimal) else value
