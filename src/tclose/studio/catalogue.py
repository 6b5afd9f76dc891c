"""All texts of the studio, in one catalogue per language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

LANGUAGES = {"en": "English", "de": "Deutsch"}
FIRST = "en"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the texts of a language by their names, such as `columns.title`."""
    text = files("tclose.studio").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    return {f"{part}.{name}": value for part, texts in tomllib.loads(text).items() for name, value in texts.items()}


class Texts:
    """The texts of one language; templates call it with a text's name and what is put into it."""

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else FIRST

    def __call__(self, key: str, /, **given: object) -> str:
        """Return a text."""
        text = catalogue(self.language)[key]
        return text.format(**given) if given else text

    def rows(self, count: int) -> str:
        """Say how many rows."""
        return self("common.row") if count == 1 else self("common.rows", count=self.number(count))

    def number(self, value: int) -> str:
        """Write a count as people do."""
        return f"{value:,}" if self.language == "en" else f"{value:,}".replace(",", ".")
