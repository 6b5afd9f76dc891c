"""Reading settings: each reader takes a raw value and its place, and returns it checked and exact.

Every refusal names the place (`sensitive.ldl.t`), what was given and what is expected instead. Readers of tables go on
after a mistake, so that all mistakes of a policy are reported at once. Paths that a user names are checked here, too:
no name that no file can have, and no file that has no end.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from pathlib import Path
from typing import Any, TypeVar

from tclose.errors import InputError, Mistakes, PolicyError, did_you_mean
from tclose.words import legible

# Paths that a user names


def check_name(path: str | Path) -> None:
    """Refuse a path that no file can have."""
    if "\0" in str(path):
        raise InputError(f"no file can be called {path}: it holds a NUL character")


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
        raise InputError(f"{path} is a device, not a file")


def _ends(path: str | Path, found: os.stat_result) -> bool:
    if found.st_rdev == Path(os.devnull).stat().st_rdev:
        return True
    with Path(path).open("rb", buffering=0) as device:
        return device.isatty()


# Readers of settings


T = TypeVar("T")
SettingReader = Callable[[object, str], T]

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
        raise PolicyError(f'expected a number such as 0.15 or "1/3", not {shown(value)}', place=place) from None


def _number_that(fits: Callable[[Fraction], bool], expected: str) -> SettingReader[Fraction]:
    """Return the reader of a number that fits; `expected` says which numbers do."""

    def read(value: object, place: str) -> Fraction:
        given = number(value, place)
        if not fits(given):
            raise PolicyError(expected.format(value=value), place=place)
        return given

    return read


def between(low: int, high: int) -> SettingReader[Fraction]:
    """Return the reader of a number in [low, high]."""
    return _number_that(lambda given: low <= given <= high, f"{{value}} is outside [{low}, {high}]")


def above(low: int) -> SettingReader[Fraction]:
    """Return the reader of a number above `low`."""
    return _number_that(lambda given: given > low, f"expected a number above {low}, not {{value}}")


def weight(value: object, place: str) -> Fraction:
    """Read how much something counts: a number above 0; one beyond a million is a typing slip."""
    given = number(value, place)
    if not Fraction(1, MOST_WEIGHT) <= given <= MOST_WEIGHT:
        raise PolicyError(f"expected a number above 0, up to {MOST_WEIGHT:,}, not {value}", place=place)
    return given


def above_up_to(low: int, high: int) -> SettingReader[Fraction]:
    """Return the reader of a number above `low` and at most `high`."""
    expected = f"expected a number above {low} and at most {high}, not {{value}}"
    return _number_that(lambda given: low < given <= high, expected)


def at_least(low: int) -> SettingReader[Fraction]:
    """Return the reader of a number of at least `low`."""
    return _number_that(lambda given: given >= low, f"expected a number of at least {low}, not {{value}}")


def whole(least: int) -> SettingReader[int]:
    """Return the reader of a whole number of at least `least`."""

    def read(value: object, place: str) -> int:
        given = number(value, place)
        if given.denominator != 1 or given < least:
            raise PolicyError(f"expected a whole number of at least {least}, not {value}", place=place)
        return int(given)

    return read


def one_of(*choices: str) -> SettingReader[str]:
    """Return the reader of one of a few words."""

    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in choices:
            hint = did_you_mean(str(value), choices)
            raise PolicyError(f"expected one of {', '.join(choices)}, not {shown(value)}{hint}", place=place)
        return value

    return read


def text(value: object, place: str) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise PolicyError(f"expected text, not {kind_of(value)}", place=place)
    return value


def path(value: object, place: str) -> Path:
    """Read the path of a file."""
    if not isinstance(value, str | Path):
        raise PolicyError(f"expected the path of a file, not {kind_of(value)}", place=place)
    check_name(value)
    return Path(value)


def values(value: object, place: str) -> tuple[Any, ...]:
    """Read a list of different values."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError(f"expected a list of values, not {kind_of(value)}", place=place)
    if not value:
        raise PolicyError("expected at least one value in the list", place=place)
    if any(isinstance(item, list | tuple | dict) for item in value):
        raise PolicyError("expected plain values in the list, not a list or a table in it", place=place)
    if len({str(item) for item in value}) < len(value):
        raise PolicyError("a value stands in the list twice: name it once", place=place)
    return tuple(value)


def listed(value: object, place: str) -> tuple[Any, ...]:
    """Read a list of anything."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError(f"expected a list, not {kind_of(value)}", place=place)
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


def names(value: object, place: str) -> tuple[str, ...]:
    """Read a list of names, each named once."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PolicyError('expected a list, as in ["name", "ssn"]', place=place)
    mistakes = Mistakes()
    if others := [name for name in value if not isinstance(name, str)]:
        mistakes.add(PolicyError(f"expected text in the list, not {kind_of(others[0])}", place=place))
    for name, times in Counter(name for name in value if isinstance(name, str)).items():
        if times > 1:
            mistakes.add(PolicyError(f"'{name}' is named twice: name it once", place=place))
    mistakes.report()
    return tuple(value)


def rising(value: object, place: str) -> tuple[Fraction, ...]:
    """Read at least two numbers that rise; they are as large or small as the cells of a table can be."""
    numbers = tuple(number(item, place, digits=CELL_DIGITS) for item in values(value, place))
    if len(numbers) < 2 or any(b <= a for a, b in pairwise(numbers)):
        raise PolicyError("expected at least two numbers that rise", place=place)
    return numbers


def table(readers: Mapping[str, SettingReader[Any]]) -> SettingReader[dict[str, Any]]:
    """Return the reader of a table of settings, each with the reader of its name; unknown names are refused."""

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
        raise PolicyError(f"expected a table of settings, not {kind_of(value)}", place=place)
    read = {}
    for name, inner in value.items():
        with mistakes.collected():
            if name not in readers:
                hint = did_you_mean(str(name), readers) or f"; known are {', '.join(readers)}"
                raise PolicyError(f"unknown key '{name}'{hint}", place=place)
            if inner is not None:
                read[name] = readers[name](inner, join(place, name))
    return read


def choice(readers: Mapping[str, SettingReader[Any]], example: str) -> SettingReader[tuple[str, Any]]:
    """Return the reader of a table with exactly one of several keys, as in { width = 5 }."""

    def read(value: object, place: str) -> tuple[str, Any]:
        if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in readers:
            unknown = [str(name) for name in value if name not in readers] if isinstance(value, Mapping) else []
            hint = did_you_mean(unknown[0], readers) if unknown else ""
            raise PolicyError(f"expected one of {example}{hint}", place=place)
        ((name, inner),) = value.items()
        return name, readers[name](inner, join(place, name))

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
