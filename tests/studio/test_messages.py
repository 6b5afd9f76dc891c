"""Sentences on pages: German ones show no English, numbers and names are written as the language does."""

from __future__ import annotations

import html
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tclose.errors import PolicyError
from tclose.measure.attack.results import ATTACKS
from tclose.messages import say
from tclose.policy import Policy
from tclose.policy.draft.patterns import IDENTIFYING, SHAPES
from tclose.policy.source import SourceSettings
from tclose.privacy.registry import MODELS as REQUIREMENTS
from tclose.release.verification import WORDS
from tclose.studio.pages import LANGUAGES, Texts, in_address
from tclose.studio.project import Project
from tclose.studio.register import releases
from tclose.words import columns, compiling, exposure_cure, exposure_sentence, legible, nothing_exposed, rows_in_classes

from .client import Browser
from .conftest import Running


def test_numbers_and_names_are_written_as_the_language_does() -> None:
    told = exposure_sentence("rare_value", 1200, 4000, ["pay", "a b", "c", "d"], crowd=5, counted_as="rows")
    german = Texts("de").say(told)
    assert german.startswith("1.200 Zeilen (30,0 %) zeigen einen Wert von „pay“, „a b“, „c“ oder 1 weitere,")
    assert Texts("de").percent(0.125) == "12,5 %"
    assert Texts("en").percent(0.125) == "12.5 %"
    assert Texts("de").figure(1234.5, ",.1f") == "1.234,5"


def test_sentences_that_are_put_together_are_said_part_by_part() -> None:
    texts = Texts("de")
    cure = exposure_cure("known_value", {"pay": "bin", "job": "other"}, several_tables=False)
    assert texts.say(cure).startswith("breitere Gruppen für „pay“; oder die Methode projections")
    assert texts.say(compiling(11.7)).startswith("übersetzt Programmteile, einmal")
    said = SourceSettings(encoding="windows-1252", separator=";", decimal=",", dates=("dd.mm.yyyy",)).words
    assert texts.say(said) == "Windows-1252, Trennzeichen ;, Dezimalkomma, Datumsangaben dd.mm.yyyy"


def test_what_a_policy_lacks_names_the_column() -> None:
    settings = {"k": 5, "quasi": {"age": {}}, "sensitive": {"blood: pressure": {}, "ldl": {"t": 2}}}
    with pytest.raises(PolicyError) as error:
        Policy.from_dict(settings)
    said = [Texts("de").say(str(each)) for each in error.value.mistakes]
    assert said == [
        "„blood: pressure“: Wählen Sie t oder eine andere Anforderung",
        "„ldl“, t: 2 liegt nicht zwischen 0 und 1",
    ]
    bins = PolicyError("expected at least two numbers that rise", place="sensitive.ldl.bins.edges")
    assert Texts("en").say(bins.sentence).startswith("'ldl', ends of bins: expected")


HOSTILE = (
    "a' and 'b",
    "a'; no partition was found; 'b",
    "pay: anyone who knows the class learns it. Nothing was found",
    "{rows} {names} {part}",
    "<script>alert(1)</script>",
    "rows\n3 rows",
    "1,200 rows",
    "number",
    "w" * 3000,
)
KINDS_OF_EXPOSURE = ("same_value", "rare_value", "known_value")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_column_name_passes_through_unchanged(language: str, name: str) -> None:
    texts, shown = Texts(language), legible(name)
    told = [
        *(exposure_sentence(kind, 3, 9, [name, "pay"], crowd=5, counted_as="rows") for kind in KINDS_OF_EXPOSURE),
        *(exposure_cure(kind, {name: "bin", "pay": "number"}, several_tables=False) for kind in KINDS_OF_EXPOSURE),
        columns([name]),
    ]
    for sentence in told:
        assert texts.say(sentence).count(shown) == sentence.count(shown)
        assert language == "en" or texts.say(sentence) != sentence


def test_declared_words_of_the_engine_are_german() -> None:
    declared = {attack.title for attack in ATTACKS} | {attack.cure for attack in ATTACKS} | set(WORDS.values())
    declared |= {SHAPES[shape] for shape in IDENTIFYING} - {"UUIDs"}
    declared |= {entry.title for entry in REQUIREMENTS.values() if not entry.name.startswith("presence")}
    declared |= {nothing_exposed([number], crowd=5, counted_as="rows") for number in (0, 1, 2)}
    declared |= {rows_in_classes(9, 3, smallest=1), rows_in_classes(9, 3, smallest=1, withheld=2)}
    assert [text for text in declared if Texts("de").say(text) == text] == []


def test_german_pages_show_no_sentence_of_the_engine(running: Running) -> None:
    project = Project(running.home / ".tclose" / "studio" / "done")
    browser = Browser(running)
    pages = {
        screen: html.unescape(browser.ask("GET", f"/p/done/{screen}", Accept_Language="de-DE").text)
        for screen in ("columns", "risk", "try", "attack", "publish", "verify")
    }
    assert all('lang="de"' in page for page in pages.values())
    told = _told(project)
    assert len(told) > 50
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
    told += [text for column in look["columns"] for text in (column["why"], *column["remarks"])]
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
    said = browser.ask("GET", "/p/done/risk?said=choose+a+file+first", Accept_Language="de").text
    assert "Wählen Sie zuerst eine Datei." in said
    address = f"/p/done/risk?{urlencode({'said': in_address(say('there is no candidate {number}', number=7))})}"
    assert "Den Kandidaten 7 gibt es nicht." in browser.ask("GET", address, Accept_Language="de").text
    assert "Diese Seite gibt es nicht." in browser.ask("GET", "/nowhere", Accept_Language="de").text
