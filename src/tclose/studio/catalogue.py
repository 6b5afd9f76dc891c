"""All texts of the studio, in one catalogue per language."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from tclose.studio.phrases import phrasebook

LANGUAGES = {"en": "English", "de": "Deutsch"}
FIRST = "en"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the texts of a language by their names, such as `columns.title`."""
    text = files("tclose.studio").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    return {f"{part}.{name}": value for part, texts in tomllib.loads(text).items() for name, value in texts.items()}


class Texts:
    """The texts of one language; templates call it with a text's name and what is put into it.

    `columns` are the names of the table's columns, where there is one: they are never put into other words.
    """

    def __init__(self, language: str, columns: Sequence[str] | None = None) -> None:
        self.language = language if language in LANGUAGES else FIRST
        self.columns = columns
        self._phrases = phrasebook(self.language)

    def __call__(self, key: str, /, **given: object) -> str:
        """Return a text."""
        text = catalogue(self.language)[key]
        return text.format(**given) if given else text

    def rows(self, count: int) -> str:
        """Say how many rows."""
        return self("common.row") if count == 1 else self("common.rows", count=self.number(count))

    def number(self, value: int) -> str:
        """Write a count as people do."""
        return self._phrases.number(f"{value:,}")

    def figure(self, value: float, spelling: str = ".4f") -> str:
        """Write a figure with the decimal sign of the language."""
        return self._phrases.number(format(value, spelling))

    def percent(self, share: float) -> str:
        """Write a share as a percentage."""
        return f"{self.figure(100 * share, '.1f')} %"

    def say(self, sentence: str) -> str:
        """Put a sentence of the engine into the studio's words; one that has no phrase stays as it is."""
        return self._phrases.say(sentence, self.columns)
