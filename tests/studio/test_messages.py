"""Phrases: each is of a sentence that the code can make, none changes a name, and German pages show no English one."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.errors import PolicyError
from tclose.measure.attack.results import ATTACKS
from tclose.policy import Policy
from tclose.policy.draft.patterns import IDENTIFYING, SHAPES
from tclose.policy.model import MODELS
from tclose.policy.source import SourceSettings
from tclose.policy.toml import toml_value
from tclose.privacy.registry import MODELS as REQUIREMENTS
from tclose.release.verification import WORDS
from tclose.studio.pages import KINDS, LANGUAGES, LONGEST, PLACE, Texts, phrasebook, phrases_of, places_of
from tclose.studio.project import Project
from tclose.studio.register import releases
from tclose.studio.settings import ROOT
from tclose.words import columns, compiling, exposure_cure, exposure_sentence, legible, nothing_exposed, rows_in_classes

from .client import Browser
from .conftest import Running

SOURCES = Path(tclose.__file__).parent
SAMPLES = {  # of what fits into each kind of place
    "count": "1,200",
    "figure": "0.25",
    "share": "12.5 %",
    "rows": "1,200 rows (12.5 %)",
    "classes": "3 classes",
    "amount": "5 rows",
    "numbers": "classes 1, 1,200 and 2 more",
    "names": "'ldl', 'age' and 2 more",
    "name": "ldl",
    "column": "ldl",
    "setting": "t",
    "noun": "number",
    "method": "mondrian:strict",
    "part": "reading",
}
RARE = (  # mistakes that a steward at a browser hardly makes stay English
    "there is no role",
    "bins are made by",
    "the name ",
    "the folder of a project",
    " is no project of the studio",
    " exists and is no project",
    "cannot be used: name another one",
    " is no folder of this user",
)


def keys(language: str) -> dict[str, str]:
    return {
        key: text for part, phrases in phrases_of(language).items() if part != "words" for key, text in phrases.items()
    }


def parsed(file: Path) -> ast.AST:
    """Parse a file in a thread of its own: where Playwright's greenlets have run, Python miscounts its depth."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ast.parse, file.read_text()).result()


@cache
def fragments() -> frozenset[str]:
    """Return every text in the sources that stands between two places, or alone."""
    found = {", ".join(MODELS[1:]), "k: "}  # the place of a mistake
    for file in SOURCES.rglob("*.py"):
        for text in texts_in(parsed(file)):
            found |= {part for piece in re.split(r"\{[^{}]*\}|; |(?<=\.) ", text) for part in _spelled(piece)}
            found.add(text)
    short = {text for text in found if len(text) < 3 and any(letter.isalpha() for letter in text)} - {"is"}
    return frozenset(text for text in found - short if text and len(text) < 400)


def _spelled(piece: str) -> set[str]:
    return {piece, piece.removesuffix("."), piece.strip()}


def texts_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def longest() -> int:
    return max(map(len, fragments()))


def can_be_said(text: str) -> bool:
    """Tell whether a text is a chain of whole texts from the sources."""
    if text in fragments():
        return True
    reached = {0}
    for end in range(1, len(text) + 1):
        if any(start in reached and text[start:end] in fragments() for start in range(max(0, end - longest()), end)):
            reached.add(end)
    return len(text) in reached


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_is_of_a_sentence_that_the_code_can_make(language: str) -> None:
    unknown = [
        key
        for key in keys(language)
        if not all(map(can_be_said, filter(None, PLACE.sub("\0", key).removesuffix(".").split("\0"))))
    ]
    assert unknown == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_agree_and_few_take_any_text(language: str) -> None:
    for key, text in keys(language).items():
        assert sorted(places_of(key)) == sorted(places_of(text)), key
        assert len(set(places_of(key))) == len(places_of(key)), key
        free = [place for place in places_of(key) if re.sub(r"_[0-9]+$", "", place) not in KINDS]
        assert len(free) + places_of(key).count("part") <= 2, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_is_found_by_its_own_sentence(language: str) -> None:
    """No longer phrase takes a sentence away from a phrase: each says its own words."""
    texts = Texts(language, [])
    for key, text in keys(language).items():
        filled = PLACE.sub(lambda place: SAMPLES.get(re.sub(r"_[0-9]+$", "", place[1]), "xyz"), key)
        words = [part for part in PLACE.sub("\0", text).removesuffix(".").split("\0") if part.strip(" .,:;")]
        assert all(part in texts.say(filled) for part in words), (key, texts.say(filled))


def test_sections_have_no_phrase_twice() -> None:
    for language in LANGUAGES:
        said = [key for part, phrases in phrases_of(language).items() if part != "words" for key in phrases]
        assert len(said) == len(set(said))


def test_numbers_and_names_are_written_as_the_language_does() -> None:
    told = exposure_sentence("rare_value", 1200, 4000, ["pay", "a b", "c", "d"], crowd=5, counted_as="rows")
    german = Texts("de", ["pay", "a b", "c", "d"]).say(told)
    assert german.startswith("1.200 Zeilen (30,0 %) zeigen einen Wert von „pay“, „a b“, „c“ oder 1 weitere,")
    assert Texts("de").say(told).count("'pay', 'a b', 'c' or 1 more") == 1  # columns that nobody knows stay
    assert Texts("de").percent(0.125) == "12,5 %"
    assert Texts("en").percent(0.125) == "12.5 %"
    assert Texts("de").figure(1234.5, ",.1f") == "1.234,5"


def test_sentences_that_are_put_together_are_said_part_by_part() -> None:
    texts = Texts("de", ["pay", "job"])
    cure = exposure_cure("known_value", {"pay": "bin", "job": "other"}, several_tables=False)
    assert texts.say(cure).startswith("breitere Gruppen für „pay“; oder die Methode projections")
    assert texts.say(f"lower bound, {compiling(11.7)}").startswith("untere Schranke: übersetzt Programmteile, einmal")
    assert texts.say("mondrian:strict, splitting") == "mondrian:strict: teilt die Tabelle in Klassen"
    said = SourceSettings(encoding="windows-1252", separator=";", decimal=",", dates=("dd.mm.yyyy",)).words
    assert texts.say(said) == "Windows-1252, Trennzeichen ;, Dezimalkomma, Datumsangaben dd.mm.yyyy"
    assert texts.say("Decimal comma, nonsense.") == "Decimal comma, nonsense."  # half a sentence is not put into words


def test_what_a_policy_lacks_names_the_column() -> None:
    settings = {"k": 5, "quasi": {"age": {}}, "sensitive": {"blood: pressure": {}, "ldl": {"t": 2}}}
    with pytest.raises(PolicyError) as error:
        Policy.from_dict(settings)
    said = [Texts("de", ["age", "blood: pressure", "ldl"]).say(str(each)) for each in error.value.mistakes]
    assert said == [
        "„blood: pressure“: Wählen Sie t oder eine andere Anforderung",
        "„ldl“, t: 2 liegt nicht zwischen 0 und 1",
    ]
    assert (
        Texts("en", ["ldl"])
        .say("sensitive.ldl.bins.edges: expected at least two numbers that rise")
        .startswith("'ldl', ends of bins: expected")
    )


HOSTILE = (
    "a' and 'b",
    "x' or 2 more",
    "a'; no partition was found; 'b",
    "y are in 3 classes where everyone has the same value of z",
    "pay: anyone who knows the class learns it. Nothing was found",
    "{rows} {names} {part}",
    "<script>alert(1)</script>",
    "\ue0000\ue001",
    "rows\n3 rows",
    "ldl' = 0.1 cannot be reached: no level can be",
    "Straße, 5 %",
    "'" * 50,
    "w" * 3000,
)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_column_name_passes_through_unchanged(language: str, name: str) -> None:
    texts, shown = Texts(language, ["pay", name]), legible(name)
    told = [
        *(exposure_sentence(kind, 3, 9, [name, "pay"], crowd=5, counted_as="rows") for kind in KINDS_OF_EXPOSURE),
        *(exposure_cure(kind, {name: "bin", "pay": "number"}, several_tables=False) for kind in KINDS_OF_EXPOSURE),
        f"3 rows (33.3 %) are in 2 classes where everyone has the same value of {columns([name])}.",
        f"t of '{shown}' = 0.1 cannot be reached: no level can be",
        f"column '{shown}' has bins, but its values are not numbers",
    ]
    for sentence in told:
        said = texts.say(sentence)
        assert said.count(shown) == sentence.count(shown) == 1
        if language == "de" and "\ue000" not in sentence:
            assert said != sentence


@pytest.mark.parametrize("cell", HOSTILE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_cell_passes_through_unchanged(language: str, cell: str) -> None:
    shown = toml_value(cell[:100])
    said = Texts(language, ["pay"]).say(f'{shown} counts as an answer here: if it means "no value", add it to missing')
    assert said.startswith(f"{shown} ")
    assert said.count(shown) == 1
    assert "add it to missing" not in said


KINDS_OF_EXPOSURE = ("same_value", "rare_value", "known_value")


@pytest.mark.parametrize(
    "text",
    [
        "'" * LONGEST,
        "'a', " * 250,
        "1," * 700,
        "1, " * 400,
        "lower bound, " * 100,
        "a; " * 400,
        "reading; " * 100,
        "x" * 10**6,
        "",
    ],
)
def test_long_and_odd_texts_stay(text: str) -> None:
    assert Texts("de", ["a"]).say(text) == text or text.startswith("lower bound")


def test_every_phase_of_the_engine_has_its_words() -> None:
    german = phrasebook("de")
    elsewhere = ("cli", "spark", "papers", "studio")  # and work that the studio does not do
    own = {"run/apply.py", "run/new_rows.py", "run/installation.py", "run/bound_search.py", "run/evaluation.py",
           "run/commands.py", "partition/warm.py", "measure/bound/search.py"}  # fmt: skip
    files = [
        file
        for file in SOURCES.rglob("*.py")
        if not set(file.parts) & set(elsewhere) and str(file.relative_to(SOURCES)) not in own
    ]
    phases = {phase for file in files for phase in _phases(parsed(file))}
    assert {"reading", "judging", "splitting", "exchanging rows"} <= phases
    assert [phase for phase in phases if german.say(phase) == phase] == []


def _phases(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "progress",
            "stretch",
            "report",
        ):
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            yield from (phase for phase in given if isinstance(phase, str) and phase)


def test_declared_words_of_the_engine_are_german() -> None:
    declared = {attack.title for attack in ATTACKS} | {attack.cure for attack in ATTACKS} | set(WORDS.values())
    declared |= {f"its values look like {SHAPES[shape]}" for shape in IDENTIFYING}
    declared |= {entry.title for entry in REQUIREMENTS.values() if not entry.name.startswith("presence")}
    declared |= {nothing_exposed([number], crowd=5, counted_as="rows") for number in (0, 1, 2)}
    declared |= {rows_in_classes(9, 3, smallest=1), rows_in_classes(9, 3, smallest=1, withheld=2)}
    declared |= {
        text
        for text in texts_in(_without_docs("policy/draft/roles.py"))
        if text.startswith("its ") and not text.endswith(" ")
    }
    assert [text for text in declared if Texts("de", []).say(text) == text] == []


def test_mistakes_of_the_studio_are_german() -> None:
    said = [text for file in (SOURCES / "studio").rglob("*.py") for text in _mistakes(parsed(file))]
    assert len(said) > 30
    assert [text for text in said if Texts("de", []).say(text) == text and not any(rare in text for rare in RARE)] == []


def _mistakes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "InputError" and node.args:
            given = node.args[0]
            if isinstance(given, ast.Constant):
                yield str(given.value)
            elif isinstance(given, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else _sample(part) for part in given.values
                )


def _sample(part: ast.AST) -> str:
    return ROOT if "ROOT" in ast.unparse(part) else "40"


def _without_docs(path: str) -> ast.AST:
    tree = ast.parse((SOURCES / path).read_text())
    tree.body = [node for node in tree.body if not isinstance(node, ast.Expr)]
    return tree


def test_german_pages_show_no_sentence_of_the_engine(running: Running) -> None:
    project = Project(running.home / ".tclose" / "studio" / "done")
    browser = Browser(running)
    pages = {
        screen: html.unescape(browser.ask("GET", f"/p/done/{screen}", Accept_Language="de-DE").text)
        for screen in ("columns", "risk", "try", "attack", "publish", "verify")
    }
    assert all('lang="de"' in page for page in pages.values())
    told = _told(project)
    assert len(told) > 60
    left = {sentence for page in pages.values() for sentence in told if sentence in page}
    assert left == set()
    assert "t-Nähe" in pages["risk"]
    assert "Was niemand" in pages["verify"]


def _told(project: Project) -> set[str]:
    """Return every sentence of the engine that the results of a project hold."""
    look, candidate = project.result("look"), project.candidates()[0]
    check = project.result(f"check-{project.fingerprint}")
    attacks = json.loads((project.candidate(candidate["number"]) / "attack.json").read_text())["attacks"]
    told = [check["sentence"], *check["notes"], candidate["nothing"]]
    told += [text for column in look["columns"] for text in (*column["why"].split("; "), *column["remarks"])]
    told += [finding["title"] for finding in check["models"]]
    told += [text for each in candidate["exposed"] for text in (each["sentence"], each["cure"])]
    told += [text for each in attacks for text in (each["title"], each["release"]["sentence"], each["cure"])]
    verified: list[dict[str, Any]] = [project.result("verified"), releases(project)[0]["verification"]]
    told += [releases(project)[0]["verified"]]
    told += [text for each in verified for text in (*each["problems"], *each["not_verifiable"])]
    return {text for text in told if " " in text}


def test_progress_and_messages_are_told_in_the_language_of_the_page(running: Running) -> None:
    browser = Browser(running)
    answer = browser.post("/p/done/risk/explain", attribute="ldl", number="100000")
    assert answer.status == 303
    events = browser.ask("GET", "/p/done/events", Accept_Language="de").text
    assert "Die Klasse 100.000 gibt es nicht" in json.loads(events.strip().rpartition("data: ")[2])["error"]
    assert "Die Klasse 100.000 gibt es nicht" in browser.ask("GET", "/p/done/job", Accept_Language="de").text
    said = browser.ask("GET", "/p/done/risk?said=Choose+a+file+first.", Accept_Language="de").text
    assert "Wählen Sie zuerst eine Datei." in said
    assert "Diese Seite gibt es nicht." in browser.ask("GET", "/nowhere", Accept_Language="de").text
