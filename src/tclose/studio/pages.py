"""Pages from templates, in the visitor's language: the catalogue of texts, and the engine's sentences in its words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tclose import steps
from tclose.errors import TcloseError
from tclose.policy.toml import as_toml, toml_value
from tclose.studio.jobs import Job
from tclose.studio.project import Project
from tclose.studio.settings import KEYS, mark
from tclose.words import legible

if TYPE_CHECKING:
    from tclose.studio.server import Studio

# Sentences for people


SETTING = re.compile(r"\w+ = ")


def sentence(text: str) -> str:
    """Begin with a capital letter, unless a setting comes first (l = 2), and end with a full stop."""
    first = text[:1] if SETTING.match(text) else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def sentence_of(error: TcloseError | OSError) -> str:
    """Say what went wrong; of the system's own mistakes, such as a full disk, only their kind."""
    if isinstance(error, TcloseError):
        return sentence(error.sentence)
    return sentence(f"a file of the studio cannot be read or written: {error.strerror or type(error).__name__}")


# Phrases: the engine's sentences in the studio's words


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

Written = Callable[["Phrasebook", str, "LookUp"], str]


@dataclass(frozen=True)
class LookUp:
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
        found = self._found(hidden, LookUp(columns is not None), SEPARATORS)
        return sentence if found is None else _shown(found, names)

    def number(self, text: str) -> str:
        """Write the decimal points and thousands of a number, or of several, as the language does."""
        marks = {".": self.decimal, ",": self.thousands}
        return re.sub(r"(?<=[0-9])[.,](?=[0-9])", lambda mark: marks[mark[0]], text)

    def counted(self, text: str, known: LookUp | None = None) -> str:
        """Write numbers with the words beside them, such as `3 rows (under 0.1 %)`."""
        return re.sub(r"[a-z]+(?: [a-z]+)*", lambda word: self.words.get(word[0], word[0]), self.number(text))

    def quoted(self, name: str) -> str:
        """Put a name into quotation marks."""
        return f"{self.opening}{name}{self.closing}"

    def names(self, text: str, known: LookUp) -> str:
        """Write a list of names, each in quotation marks; only what stands between them is put into other words."""
        if not known.columns:
            return text
        between = [self.counted(part) for part in re.split(r"'[^']*'", text)]
        names = [*map(self.quoted, QUOTED.findall(text)), ""]
        return "".join(part + name for part, name in zip(between, names, strict=True))

    def part(self, text: str, known: LookUp) -> str:
        """Return a part of a sentence that has a phrase of its own; one that has none as it is."""
        if known.depth >= MOST_DEPTH:
            return text
        return self._found(text, LookUp(known.columns, known.depth + 1), SEPARATORS) or text

    def _found(self, text: str, known: LookUp, separators: Sequence[str]) -> str | None:
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

    def _phrase(self, text: str, known: LookUp) -> str | None:
        """Find the phrase of a whole sentence, whether it begins with a capital and ends with a full stop or not."""
        sentence = _bare(text)
        found = self._matched(sentence, known)
        if found is None and sentence[:1].isupper():
            found = self._matched(sentence[:1].lower() + sentence[1:], known)
            found = None if found is None else found[:1].upper() + found[1:]
        return None if found is None else found + text[len(sentence) :]

    def _matched(self, sentence: str, known: LookUp) -> str | None:
        if (found := self._sentences.get(sentence)) is not None:
            return found
        for phrase in self._phrases:
            if phrase.fixed in sentence and (match := phrase.pattern.fullmatch(sentence)) is not None:
                return self._filled(phrase, match.groups(), known)
        return None

    def _filled(self, phrase: Phrase, values: Sequence[str], known: LookUp) -> str:
        """Put what stood in the places of a sentence into the places of its phrase."""
        fillings = dict(zip(phrase.places, values, strict=True))

        def written(place: re.Match[str]) -> str:
            kind, value = KINDS.get(_base(place[1])), fillings[place[1]]
            return value if kind is None else kind.written(self, value, known)

        return PLACE.sub(written, phrase.text)


def _as_it_is(book: Phrasebook, text: str, known: LookUp) -> str:
    return text


def _as_number(book: Phrasebook, text: str, known: LookUp) -> str:
    return book.number(text)


def _as_column(book: Phrasebook, text: str, known: LookUp) -> str:
    return book.quoted(text.strip('"'))


def _as_word(book: Phrasebook, text: str, known: LookUp) -> str:
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
    spelled = {form for name in odd for form in (f"'{name}'", f"'{legible(name)}'", f'"{name}"', toml_value(name))}
    return re.compile("|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))) if odd else None


# The catalogue


LANGUAGES = {"en": "English", "de": "Deutsch"}
FIRST = "en"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the texts of a language by their names, such as `columns.title`; those of policy keys are declared."""
    text = files("tclose.studio").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    labels = {name: key.label for keys in KEYS.values() for name, key in keys.items() if key.label}
    parts = {**tomllib.loads(text), **({"keys": labels} if language == FIRST else {})}
    return {f"{part}.{name}": value for part, texts in parts.items() for name, value in texts.items()}


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


LANGUAGE = "tclose-language"  # the cookie
QUIET = {"preview"}  # jobs that a part of a page follows by itself


def environment() -> Environment:
    """Return the templates; every value is escaped."""
    loader = PackageLoader("tclose.studio", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["sentence"] = sentence
    made.filters["mark"] = mark
    return made


def texts_of(request: Request, project: Project | None = None) -> Texts:
    """Return the texts in the language that the user chose, or else the browser asks for; a project has columns."""
    asked = request.cookies.get(LANGUAGE) or request.headers.get("accept-language", "")[:2].lower()
    look = None if project is None else project.result("look")
    return Texts(asked, None if look is None else [column["name"] for column in look["columns"]])


def page(request: Request, template: str, *, status: int = 200, **given: Any) -> HTMLResponse:
    """Make a page."""
    return _rendered(request, template, given, status)


def _rendered(request: Request, template: str, given: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    studio: Studio = request.app.state.studio
    texts = texts_of(request, given.get("project"))
    common = {
        "t": texts,
        "languages": LANGUAGES,
        "form_token": studio.keys.form,
        "root": studio.keys.root,
        "alive": studio.keys.alive,
        "screens": studio.screens,
        "project": None,
        "screen": None,
        "message": request.query_params.get("said", "")[:400],
        "path": request.url.path,
    }
    made = studio.templates.get_template(template).render({**common, **given})
    return HTMLResponse(made, status)


def project_page(
    request: Request, project: Project, screen: str, *, template: str | None = None, **given: Any
) -> HTMLResponse:
    """Make a page of a project: what it shows, and what all of them show; its template has the screen's name."""
    studio: Studio = request.app.state.studio
    current = studio.jobs.of(project.folder).current
    job = None if current is None or current.kind in QUIET else current
    shown = {
        "project": project,
        "screen": screen,
        "look": project.look,
        "settings": project.settings,
        "policy_text": as_toml(project.settings),
        "left": project.left_to_do if project.position else [],
        "job": job if job is not None and job.running else None,
        "failed": job if job is not None and job.failed_for(project.fingerprint) else None,
        "notes": job.notes if job is not None and job.warns_of(project.fingerprint) else [],
        "command": command(project),
        **given,
    }
    return _rendered(request, f"{template or screen}.html", shown)


def back(request: Request, screen: str, *, said: str = "", anchor: str = "", **asked: str) -> Response:
    """Send the browser back to a screen after a change, so that reloading repeats nothing; empty texts are left out."""
    given = {name: value for name, value in (asked | {"said": said}).items() if value}
    query = f"?{urlencode(given)}" if given else ""
    to = f"/p/{request.path_params['project']}/{screen}{query}{f'#{anchor}' if anchor else ''}"
    return RedirectResponse(to, 303)


def command(project: Project) -> str:
    """Return the command that does the same as the studio."""
    policy = project.folder / "policy.toml"
    asked = steps.Request(table=project.table, policy=policy, out="release.csv", certificate="c.json", engine="auto")
    return steps.command_line(asked)


# What a screen declares: its name in addresses and templates, how it is shown, and what can be done on it


Show = Callable[[Request, Project], Response]
Action = Callable[[Request, Project, FormData], Response]


@dataclass(frozen=True)
class Screen:
    """One screen."""

    name: str
    show: Show
    actions: Mapping[str, Action] = field(default_factory=dict)
    parts: Mapping[str, Show] = field(default_factory=dict)  # of a page, which follow what the user does


def text_of(form: FormData, name: str) -> str:
    """Return what a form says, as text."""
    given = form.get(name, "")
    return given if isinstance(given, str) else ""


def whole_of(form: FormData, name: str) -> int | None:
    """Return what a form says, as a count; None where it is none."""
    return count_of(text_of(form, name))


def count_of(text: str) -> int | None:
    """Read a count; None where the text is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def start(
    request: Request, project: Project, kind: str, *, after: Callable[[], None] | None = None, **given: Any
) -> Job:
    """Start a job of a project; `after` is called when it is over, however it ends."""
    fingerprint = project.fingerprint
    job: Job = request.app.state.studio.jobs.start(project.folder, kind, after=after, **given)
    job.fingerprint = fingerprint
    return job
