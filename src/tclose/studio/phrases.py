"""The engine's sentences in the studio's words: a phrasebook per language, in the manner of gettext.

A phrase maps a sentence of the engine, with named places, to the studio's own sentence with the same places. The name
of a place says what fits into it, and how it is written in the other language (`KINDS`). A place of any other name
takes any text, which is never changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from tclose import steps
from tclose.policy.draft.spelling import toml
from tclose.words import legible

LONGEST = 1500  # letters of a sentence that is looked up
MOST_PARTS = 12  # of a sentence that is put together from several
MOST_DEPTH = 4  # of phrases within phrases
SEPARATORS = (". ", "; or ", "; ", ", ")  # between parts of a sentence that have phrases of their own
MARKS = {"en": (".", ",", "'", "'"), "de": (",", ".", "„", "“")}  # decimals, thousands, quotation
WORDS = "words"  # the section with the words inside of places
PLACE = re.compile(r"\{([a-z]+(?:_[a-z0-9]+)*)\}")
HIDDEN, SHOWN = "\ue000", "\ue001"  # around the number of a column's name
PLAIN_NAME = re.compile(r"[\w-]*")
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
SHARE = r"(?:under |over )?[0-9]+(?:\.[0-9]+)? %"
QUOTED = re.compile(r"'([^']*)'")
SEVERAL = rf"'[^']*'(?:, '[^']*')*(?: (?:and|or) (?:'[^']*'|{NUMBER} more))?"

Written = Callable[["Phrasebook", str, "Known"], str]


@dataclass(frozen=True)
class Known:
    """What is known while a sentence is looked up: whether its columns are, and how deep in other phrases it stands."""

    columns: bool
    depth: int = 0


@dataclass(frozen=True)
class Kind:
    """What fits into a place, and how it is written in the other language."""

    fits: str
    written: Written


@dataclass(frozen=True)
class Phrase:
    """A sentence with places, ready to be looked for."""

    pattern: re.Pattern[str]
    fixed: str  # its longest text between places: only sentences with it are matched
    places: tuple[str, ...]
    text: str


class Phrasebook:
    """The phrases of one language."""

    def __init__(self, language: str, words: Mapping[str, str], phrases: Mapping[str, str]) -> None:
        self.words = words
        self.decimal, self.thousands, self.opening, self.closing = MARKS[language]
        whole = {_bare(key): _bare(text) for key, text in phrases.items()}
        self._sentences = {key: text for key, text in whole.items() if not PLACE.search(key)}
        patterns = ((key, text) for key, text in whole.items() if PLACE.search(key))
        self._phrases = [_compiled(key, text) for key, text in sorted(patterns, key=lambda each: -_said(each[0]))]

    def say(self, sentence: str, columns: Sequence[str] | None = None) -> str:
        """Return a sentence in the studio's words; one that has no phrase as it is.

        Names of columns that could be mistaken for a part of a sentence are hidden before anything is looked up. Where
        the columns are not known, lists of names stay as they are.
        """
        if not sentence or len(sentence) > LONGEST or HIDDEN in sentence:
            return sentence
        hidden, names = _hidden(sentence, tuple(columns or ()))
        found = self._found(hidden, Known(columns is not None), SEPARATORS)
        return sentence if found is None else _shown(found, names)

    def number(self, text: str) -> str:
        """Write the decimal points and thousands of a number, or of several, as the language does."""
        marks = {".": self.decimal, ",": self.thousands}
        return re.sub(r"(?<=[0-9])[.,](?=[0-9])", lambda mark: marks[mark[0]], text)

    def counted(self, text: str, known: Known | None = None) -> str:
        """Write numbers with the words beside them, such as `3 rows (under 0.1 %)`."""
        return re.sub(r"[a-z]+(?: [a-z]+)*", lambda word: self.words.get(word[0], word[0]), self.number(text))

    def quoted(self, name: str) -> str:
        """Put a name into quotation marks."""
        return f"{self.opening}{name}{self.closing}"

    def names(self, text: str, known: Known) -> str:
        """Write a list of names, each in quotation marks; only what stands between them is put into other words."""
        if not known.columns:
            return text
        between = [self.counted(part) for part in re.split(r"'[^']*'", text)]
        names = [*map(self.quoted, QUOTED.findall(text)), ""]
        return "".join(part + name for part, name in zip(between, names, strict=True))

    def part(self, text: str, known: Known) -> str:
        """Return a part of a sentence that has a phrase of its own; one that has none as it is."""
        if known.depth >= MOST_DEPTH:
            return text
        return self._found(text, Known(known.columns, known.depth + 1), SEPARATORS) or text

    def _found(self, text: str, known: Known, separators: Sequence[str]) -> str | None:
        """Find the phrase of a sentence, or phrases for all of its parts."""
        if (found := self._phrase(text, known)) is not None:
            return found
        for place, separator in enumerate(separators):
            parts = text.split(separator)
            if 1 < len(parts) <= MOST_PARTS:
                each = [self._found(part, known, separators[place + 1 :]) for part in parts]
                if None not in each:
                    return self.words.get(separator, separator).join(part for part in each if part is not None)
        return None

    def _phrase(self, text: str, known: Known) -> str | None:
        """Find the phrase of a whole sentence, whether it begins with a capital and ends with a full stop or not."""
        sentence = _bare(text)
        found = self._matched(sentence, known)
        if found is None and sentence[:1].isupper():
            found = self._matched(sentence[:1].lower() + sentence[1:], known)
            found = None if found is None else found[:1].upper() + found[1:]
        return None if found is None else found + text[len(sentence) :]

    def _matched(self, sentence: str, known: Known) -> str | None:
        if (found := self._sentences.get(sentence)) is not None:
            return found
        for phrase in self._phrases:
            if phrase.fixed in sentence and (match := phrase.pattern.fullmatch(sentence)) is not None:
                return self._filled(phrase, match.groups(), known)
        return None

    def _filled(self, phrase: Phrase, values: Sequence[str], known: Known) -> str:
        """Put what stood in the places of a sentence into the places of its phrase."""
        given = dict(zip(phrase.places, values, strict=True))

        def written(place: re.Match[str]) -> str:
            kind, value = KINDS.get(_base(place[1])), given[place[1]]
            return value if kind is None else kind.written(self, value, known)

        return PLACE.sub(written, phrase.text)


def _as_it_is(book: Phrasebook, text: str, known: Known) -> str:
    return text


def _as_number(book: Phrasebook, text: str, known: Known) -> str:
    return book.number(text)


def _as_column(book: Phrasebook, text: str, known: Known) -> str:
    return book.quoted(text.strip('"'))


def _as_word(book: Phrasebook, text: str, known: Known) -> str:
    return book.words.get(text, text)


_COUNT = Kind(NUMBER, _as_number)
_COUNTED = Kind(rf"{NUMBER} [a-z]+(?: [a-z]+)?(?: \({SHARE}\))?", Phrasebook.counted)
KINDS = {
    "count": _COUNT,
    "figure": Kind(rf"(?:-?{NUMBER}(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|∞)", _as_number),
    "share": Kind(SHARE, Phrasebook.counted),
    "rows": _COUNTED,
    "classes": _COUNTED,
    "amount": _COUNTED,  # of anything else
    "numbers": Kind(rf"class(?:es)? {NUMBER}(?:, {NUMBER})*(?: and {NUMBER} more)?", Phrasebook.counted),
    "names": Kind(SEVERAL, Phrasebook.names),
    "name": Kind(r"[^']+", _as_it_is),  # between quotation marks
    "column": Kind(r'(?:"[^"]*"|[\w-]+)', _as_column),  # as a policy spells it
    "setting": Kind(r"[a-z_]+(?:\.[a-z_]+)*", _as_word),
    "noun": Kind(r"[a-z]+", _as_word),
    "method": Kind(rf"(?:{'|'.join(steps.methods())})(?::[a-z-]+)?", _as_it_is),
    "part": Kind(r".+", Phrasebook.part),
}


@cache
def phrasebook(language: str) -> Phrasebook:
    """Return the phrases of a language."""
    sections = phrases_of(language)
    words = sections.pop(WORDS, {})
    return Phrasebook(language, words, {key: text for phrases in sections.values() for key, text in phrases.items()})


def phrases_of(language: str) -> dict[str, dict[str, str]]:
    """Read the phrases of a language, by section."""
    text = files("tclose.studio").joinpath("texts", f"phrases.{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def places_of(text: str) -> list[str]:
    """Return the places of a phrase."""
    return PLACE.findall(text)


def _base(place: str) -> str:
    """Return the name that says what a place takes: a second place of the same kind is called `rows_2`."""
    return re.sub(r"_[0-9]+$", "", place)


def _bare(text: str) -> str:
    return text.removesuffix(".")


def _said(key: str) -> int:
    """Return how many letters a phrase has besides its places: of two that fit, the longer one is meant."""
    return len(PLACE.sub("", key))


def _compiled(key: str, text: str) -> Phrase:
    parts = PLACE.split(key)  # texts and names of places, in turns
    kinds = [KINDS[base].fits if (base := _base(place)) in KINDS else ".+?" for place in parts[1::2]]
    fixed = list(map(re.escape, parts[::2]))
    pattern = fixed[0] + "".join(f"({kind}){rest}" for kind, rest in zip(kinds, fixed[1:], strict=True))
    return Phrase(re.compile(pattern), max(parts[::2], key=len), tuple(parts[1::2]), text)


def _hidden(sentence: str, columns: tuple[str, ...]) -> tuple[str, Sequence[str]]:
    """Put numbers in the place of column names, so that none is mistaken for a part of the sentence."""
    spellings = _spellings(columns)
    names: list[str] = []

    def hide(match: re.Match[str]) -> str:
        names.append(match[0][1:-1])
        quote = match[0][0]
        return f"{quote}{HIDDEN}{len(names) - 1}{SHOWN}{quote}"

    return (sentence if spellings is None else spellings.sub(hide, sentence)), names


def _shown(text: str, names: Sequence[str]) -> str:
    return re.sub(f"{HIDDEN}([0-9]+){SHOWN}", lambda match: names[int(match[1])], text)


@lru_cache(maxsize=16)
def _spellings(columns: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds names in quotation marks, the longest first; names of letters and digits cannot mislead."""
    odd = [name for name in columns if not PLAIN_NAME.fullmatch(name)]
    spelled = {form for name in odd for form in (f"'{name}'", f"'{legible(name)}'", f'"{name}"', toml(name))}
    return re.compile("|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))) if odd else None
