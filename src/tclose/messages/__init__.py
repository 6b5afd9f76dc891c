"""Sentences for people: English templates with places where they are said, other languages where they are shown.

A `Message` is the finished English sentence, so whoever logs, prints or compares it needs to know nothing. It also
keeps its template and what stands in its places, so that another language is one look-up by the template (`de.toml`).
A sentence without places is its own template, and may be a plain text. `en.toml` has what the studio says in other
words, because a browser has neither a command line nor a policy file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Number
from string import Formatter
from typing import Any

MARKS = {"en": (".", ","), "de": (",", ".")}  # before decimals, between thousands
FIRST = "en"
BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
JSON_KEYS = {"template", "places", "text"}

Places = Mapping[str, Any] | Sequence[Any]


class Message(str):
    """A finished English sentence with its template and its places; several that are joined have a separator."""

    __slots__ = ("places", "template")
    template: str
    places: Places  # of a template: by name; of joined messages: its parts

    def __new__(cls, text: str, template: str, places: Places) -> Message:
        """Use `say` or `joined`."""
        made = super().__new__(cls, text)
        made.template, made.places = template, places
        return made

    def __str__(self) -> Message:
        return self

    def __add__(self, other: str) -> Message:
        return joined("", (self, other)) if other else self

    def __radd__(self, other: str) -> Message:
        return joined("", (other, self)) if other else self

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (str.__str__(self), self.template, self.places)


def say(template: str, /, **places: object) -> Message:
    """Say a sentence; its places are numbers, names and other given texts, or messages.

    >>> say("{rows:,} rows have no {name!r}", rows=1200, name="age")
    "1,200 rows have no 'age'"
    """
    if not places:
        return template if isinstance(template, Message) else Message(template, template, {})
    if all(isinstance(value, str | int | float) for value in places.values()):
        return Message(template.format(**places), template, places)
    forms = {name: (conversion, spec) for _, name, spec, conversion in Formatter().parse(template) if name}
    kept = {name: _plain(value, *forms[name]) for name, value in places.items() if name in forms}
    return Message(template.format(**places), template, kept)


def joined(separator: str, parts: Iterable[str], *, last: str | None = None) -> Message:
    """Put messages together; `last` stands before the last of several. What is no message stays as it is.

    >>> joined(", ", ["a", "b", "c"], last=" and ")
    'a, b and c'
    """
    listed = tuple(parts)
    if last is not None and len(listed) > 1:
        return joined(last, (joined(separator, listed[:-1]), listed[-1]))
    return Message(separator.join(listed), separator, listed)


def in_language(message: str, language: str) -> str:
    """Return a sentence in another language; one without a translation stays as it is.

    >>> in_language(say("{count:,} rows", count=1200), "de")
    '1.200 Zeilen'
    """
    if not isinstance(message, Message):
        return catalogue(language).get(message, message)
    return _written(message, language)


def to_json(value: Any) -> Any:
    """Replace messages in what is written as JSON, so that `from_json` finds them again."""
    if isinstance(value, Message) and value.places:
        return _packed(value)
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    return [to_json(each) for each in value] if isinstance(value, list | tuple) else value


def _packed(value: Any) -> Any:
    """Return a message as JSON has it; what stands in its places is one only if it was one."""
    if not isinstance(value, Message):
        return value
    places = value.places
    if isinstance(places, Mapping):
        kept: Any = {name: _packed(each) for name, each in places.items()}
    else:
        kept = [_packed(each) for each in places]
    return {"template": value.template, "places": kept, "text": str.__str__(value)}


def from_json(value: Any) -> Any:
    """Return what was written as JSON, with its messages.

    It may come from a process that read a hostile file, so only known templates count; other sentences are plain texts.
    """
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) != JSON_KEYS or not isinstance(value["template"], str):
        return {name: from_json(each) for name, each in value.items()}
    places = from_json(value["places"])
    if isinstance(places, list) and all(isinstance(each, str) for each in places):
        return joined(value["template"], places)
    return _known(value["template"], places) or str(value["text"])


def number_in(text: str, language: str) -> str:
    """Write the marks of a number as a language does."""
    decimal, thousands = MARKS[language]
    return BETWEEN_DIGITS.sub(lambda mark: decimal if mark[0] == "." else thousands, text)


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the sentences of a language by their English templates."""
    return {template: text for section in sections(language).values() for template, text in section.items()}


def sections(language: str) -> dict[str, dict[str, str]]:
    """Read the catalogue of a language, by section."""
    import tomllib  # only where sentences are shown in another language
    from importlib.resources import files

    return tomllib.loads(files("tclose.messages").joinpath(f"{language}.toml").read_text(encoding="utf-8"))


class _Writer(Formatter):
    """Fills a template in a language: numbers get its marks, messages are looked up, other texts stay.

    Without a language, it says again what was said.
    """

    def __init__(self, language: str | None = None) -> None:
        self.language = language

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value if isinstance(value, Message) else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Message):
            return _written(value, self.language) if self.language else str.__str__(value)
        written: str = super().format_field(value, format_spec)
        given = isinstance(value, str) and format_spec != "s"  # which marks a number that was spelled before
        return written if given or not self.language else number_in(written, self.language)


def _written(message: Message, language: str) -> str:
    known, template, places = catalogue(language), message.template, message.places
    if not isinstance(places, Mapping):
        parts = [_written(each, language) if isinstance(each, Message) else each for each in places]
        return known.get(template, template).join(parts)
    text = known.get(template, template if language == FIRST else None)
    if text is None or not places:
        return str.__str__(message) if text is None else text
    return _Writer(language).vformat(text, (), places)


def _known(template: str, places: Any) -> Message | None:
    """Return the message of a known template; None where it is unknown, or its places are others."""
    if template not in catalogue("de") or not isinstance(places, dict):
        return None
    if not places:
        return say(template)
    if not all(isinstance(value, str | int | float) for value in places.values()):
        return None
    try:
        return say(template, **places)
    except (ValueError, KeyError):  # formats and places that do not fit
        return None


def _plain(value: object, conversion: str | None, spec: str | None) -> str | int | float:
    """Return what stands in a place as JSON can keep it; what Python alone can spell is spelled."""
    if isinstance(value, str | int | float):
        return value
    if conversion:
        return say("{given}", given=repr(value) if conversion == "r" else str(value))
    if isinstance(value, Number) and spec:
        return int(value) if isinstance(value, Integral) else float(value)  # type: ignore[arg-type]
    return int(value) if isinstance(value, Integral) else str(value)
