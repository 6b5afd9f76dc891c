"""Texts: both languages have the same ones, every template's text exists, and none is left unused."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import tclose.studio
from tclose.studio.pages import LANGUAGES, catalogue
from tclose.studio.publication import FIELDS
from tclose.studio.screens import SCREENS
from tclose.studio.settings import ROLES

FOLDER = Path(tclose.studio.__file__).parent
COMPUTED = (
    "orders.",
    "steps.",
    "kinds.",
    "roles.",
    "efforts.",
    "distances.",
    "missing.",
    "keys.",
    "source.",
    "worst.",
    "rules.",
    "bins.",
    "files.",
    "common.row",
    "lines.",
    "answers.",
)


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_has_every_text() -> None:
    first, *others = (catalogue(language) for language in LANGUAGES)
    for other in others:
        assert other.keys() == first.keys()
        assert {name: places(text) for name, text in other.items()} == {
            name: places(text) for name, text in first.items()
        }


def test_texts_are_used_and_used_texts_exist() -> None:
    templates = "".join(path.read_text() for path in (FOLDER / "templates").glob("*.html"))
    code = "".join(path.read_text() for path in (FOLDER / "screens").glob("*.py"))
    used = set(re.findall(r"\bt\(\"([a-z_]+\.[a-z_]+)\"", templates))
    used |= set(re.findall(r"texts_of\(request\)\(\"([a-z_]+\.[a-z_]+)\"", code))
    used |= {f"publish.{field.name}" for field in FIELDS}  # labels of the fields that a request declares
    used |= {f"publish.no_{field.name}" for field in FIELDS if not field.is_box}
    known = set(catalogue("en"))
    assert used <= known
    assert {name for name in known - used if not name.startswith(COMPUTED)} == set()


def test_screens_and_roles_have_their_words() -> None:
    known = catalogue("en")
    assert all(f"steps.{screen.name}" in known for screen in SCREENS)
    assert all(f"roles.{role}" in known and f"roles.{role}_means" in known for role in ROLES)


def test_every_screen_has_its_template() -> None:
    assert all((FOLDER / "templates" / f"{screen.name}.html").exists() for screen in SCREENS)
