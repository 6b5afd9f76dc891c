"""Messages: templates in the code, German for all that the studio can show, and nothing lost between processes."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tclose
from tclose import errors
from tclose.errors import InputError, MissingExtra, PolicyError, TcloseError
from tclose.messages import catalogue, from_json, in_language, joined, say, sections, to_json
from tclose.policy.model import MODELS, NOTHING_ASKED_FOR
from tclose.words import columns, counted, figure, percent

SOURCES = Path(tclose.__file__).parent
LANGUAGES = ("de", "en")
PLACE = re.compile(r"\{([a-z]\w*)(?:![rs])?(?::[^{}]*)?\}")
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, TcloseError)}
SAID_BY = {
    "say": 0,
    "__init__": 0,
    "_number_within": 0,
    "by_name": 1,
    **dict.fromkeys(ERRORS - {"MissingExtra"}, 0),
}  # which argument
PROGRESS = {"progress", "report"}  # their phase is the second
NOUN = "counted"
INSIDE = {"InternalError", "NotInBatches"}  # what the pipeline catches, and what is a bug
ELSEWHERE = {  # what the studio neither runs nor shows: commands and places that are not its own
    "analysis", "cli", "comparison", "examples", "integrations", "pandas", "papers", "report", "sklearn", "spark",
    "sql", "lazy_imports.py", "types.py",
    "measure/presence.py", "measure/presence_claim.py", "partition/population.py",  # a population
    "release/continuation.py", "run/apply.py", "run/new_rows.py",  # tclose apply
    "release/description.py", "release/description_formats.py", "release/record.py", "run/request.py",  # options
    "partition/shared/compile_cache.py", "partition/warm.py", "run/installation.py",  # the installation
    "run/parts/file_rows.py", "run/rows.py", "run/engines.py", "run/disk.py",  # a run that is continued
    "run/evaluation.py", "measure/attack/composition.py", "table/persons.py",  # second releases, keys of pseudonyms
}  # fmt: skip
SETTINGS = "settings"  # the section with the names of a policy's keys, which stand in places


@cache
def trees() -> dict[str, ast.Module]:
    """Parse the sources, in a thread of its own: where Playwright's greenlets have run, Python miscounts its depth."""
    files = sorted(SOURCES.rglob("*.py"))
    with ThreadPoolExecutor(1) as thread:
        parsed = thread.map(lambda file: ast.parse(file.read_text(encoding="utf-8")), files)
        return {file.relative_to(SOURCES).as_posix(): tree for file, tree in zip(files, parsed, strict=True)}


@cache
def said_by() -> dict[str, int]:
    """Return what takes a template, and as which argument: subclasses of the errors, too."""
    made = {
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & ERRORS
    }
    return SAID_BY | dict.fromkeys(made - {"MissingExtra", "NotUtf8"}, 0)


def called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def literals(given: ast.expr, names: dict[str, list[ast.expr]], depth: int = 0) -> Iterator[str]:
    """Yield the texts that an argument can be: a literal, a choice of literals, or a name that is given literals."""
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        yield given.value
    elif isinstance(given, ast.IfExp):
        yield from literals(given.body, names, depth)
        yield from literals(given.orelse, names, depth)
    elif isinstance(given, ast.Name) and depth < 2:
        for value in names.get(given.id, ()):
            yield from literals(value, names, depth + 1)


def said_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield every template of a module, and what says it."""
    names: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    names.setdefault(target.id, []).append(node.value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        place = 1 if name in PROGRESS or name == NOUN else said_by().get(name)
        if place is not None and len(node.args) > place:
            for text in filter(None, literals(node.args[place], names)):
                if name == NOUN:
                    ending = "es" if text.endswith("s") else "s"
                    yield from ((f"{{count:,}} {text}", name), (f"{{count:,}} {text}{ending}", name))
                else:
                    yield text, name


@cache
def templates() -> dict[str, set[str]]:
    """Return every template, with the modules that say it where the studio can show it."""
    found: dict[str, set[str]] = {}
    for module, tree in trees().items():
        shown = module not in ELSEWHERE and module.partition("/")[0] not in ELSEWHERE
        for template, by in said_in(tree):
            found.setdefault(template, set()).update({module} if shown and by not in INSIDE else ())
    return found


@cache
def constants() -> frozenset[str]:
    """Return every text in the sources: titles, cures and reasons are declared as such, and are their own templates."""
    nodes = (node for tree in trees().values() for node in ast.walk(tree))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_german_has_every_sentence_that_the_studio_can_show() -> None:
    assert len(templates()) > 900
    assert sorted(text for text, modules in templates().items() if modules and text not in catalogue("de")) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_translation_is_of_a_sentence_that_the_code_says(language: str) -> None:
    known = {text for name, section in sections(language).items() if name != SETTINGS for text in section}
    assert sorted(known - templates().keys() - constants()) == []
    listed = [text for section in sections(language).values() for text in section]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_places(language: str) -> None:
    for template, text in catalogue(language).items():
        if template in templates():
            assert set(PLACE.findall(template)) == set(PLACE.findall(text)), template


def test_counts_have_both_forms() -> None:
    for template in catalogue("de"):
        if template.startswith("{count:,} ") and template.endswith("s") and template.removesuffix("s") in templates():
            assert template.removesuffix("s") in catalogue("de"), template
    assert [in_language(counted(number, "class"), "de") for number in (1, 2000)] == ["1 Klasse", "2.000 Klassen"]


def test_no_error_is_given_a_finished_text() -> None:
    """What is put together with f-strings cannot be said in another language: give a template and its places."""
    finished = [
        f"{module}:{node.lineno}"
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in {*said_by(), "warn"} and node.args
        for part in (node.args[0], *(getattr(node.args[0], name, None) for name in ("body", "orelse", "left", "right")))
        if isinstance(part, ast.JoinedStr) and any(isinstance(each, ast.FormattedValue) for each in part.values)
    ]
    assert finished in ([], [f"words.py:{_line_of_counted()}"])


def _line_of_counted() -> int:
    """The one template that is made: of a noun, which stands where it is counted."""
    lines = (SOURCES / "words.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if "{{count:,}}" in line)


# What a message keeps


def test_a_message_is_its_english_text() -> None:
    message = say("column '{name}' has {rows}", name="pay", rows=counted(1200, "row"))
    assert message == "column 'pay' has 1,200 rows"
    assert f"{message}" == str(message) == message
    assert json.loads(json.dumps({"says": message})) == {"says": "column 'pay' has 1,200 rows"}


@pytest.mark.parametrize("number", [1200, np.int64(1200), 1200.0, np.float64(1200), Decimal(1200)], ids=repr)
def test_numbers_of_all_kinds_get_the_marks_of_the_language(number: object) -> None:
    message = say("{figure:,.0f}", figure=number)
    assert message == f"{number:,.0f}"
    assert in_language(message, "de") == "1.200"


def test_a_number_that_was_spelled_before_gets_its_marks_too() -> None:
    assert [in_language(figure(text), "de") for text in ("0.25", "1/3", "1,200.5")] == ["0,25", "1/3", "1.200,5"]


def test_names_and_given_texts_are_never_translated() -> None:
    for name in ("number", "1,200", "{rows}", "no level can be", "a' and 'b"):
        assert in_language(columns([name, "pay"]), "de") == f"„{name}“ und „pay“"


def test_a_sentence_of_parts_keeps_them() -> None:
    cures = joined("; or ", [say("wider bins for {columns}", columns=columns(["pay"])), say("a smaller t")])
    assert cures == "wider bins for 'pay'; or a smaller t"
    assert in_language(cures, "de") == "breitere Gruppen für „pay“; oder ein kleineres t"
    assert in_language(say("a smaller t") + ".", "de") == "ein kleineres t."


def test_an_unknown_sentence_stays_english() -> None:
    assert in_language(say("nobody says {share} of this", share=percent(0.125)), "de") == "nobody says 12.5 % of this"
    assert in_language("nobody says this", "de") == "nobody says this"


MESSAGES = (
    say("there is no file {path}", path=Path("a/b.csv")),
    columns(["pay", "a' b", "c"]),
    joined("\n", [counted(3, "row"), say("reading")]),
    say("{value} is outside [{minimum}, {maximum}]", value=Fraction(1, 3), minimum=0, maximum=1),
    say("'{name}' is named twice: name it once", name={"a": 1}),
    say(
        "the workbook has {sheets}: {listed}; name one{example}",
        sheets=counted(2, "sheet"),
        listed="'A', 'B'",
        example=say(", as in FILE#{sheet}", sheet="A"),  # of which the studio has other English words
    ),
)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_lost_in_json_and_pickles(language: str, message: str) -> None:
    for again in (from_json(json.loads(json.dumps(to_json(message)))), pickle.loads(pickle.dumps(message))):
        assert again == message
        assert in_language(again, language) == in_language(message, language)


def test_what_comes_back_says_what_the_command_line_says() -> None:
    example = say(", as in FILE#{sheet}", sheet="a")  # the studio says it in other words, in English as well
    message = say("the workbook has {sheets}: {listed}; name one{example}", sheets=2, listed="x", example=example)
    again = from_json(json.loads(json.dumps(to_json(message))))
    assert again == message == "the workbook has 2: x; name one, as in FILE#a"
    assert in_language(again, "en") == "the workbook has 2: x; choose one below, such as a"


HOSTILE = (
    {"template": "{x.__class__}", "places": {"x": 1}, "text": "plain"},
    {"template": "{x:9999999999}", "places": {"x": 1}, "text": "plain"},
    {"template": "there is no file {path}", "places": {"paths": "a"}, "text": "plain"},
    {"template": "there is no file {path}", "places": {"path": {"a": 1}}, "text": "plain"},
    {"template": "{count:,} rows", "places": {"count": "many"}, "text": "plain"},
    {"template": "{count:,} rows", "places": None, "text": "plain"},
)


@pytest.mark.parametrize("packed", HOSTILE)
def test_only_known_templates_with_their_places_come_back(packed: dict[str, object]) -> None:
    assert from_json(packed) == "plain"


def test_what_is_no_message_comes_back_as_it_is() -> None:
    for content in ({"template": 1, "places": {}, "text": ""}, {"template": "x"}, [1, {"a": [None, "b"]}], "text", 2.5):
        assert from_json(json.loads(json.dumps(to_json(content)))) == content


# What errors keep


def test_errors_keep_their_messages() -> None:
    with pytest.raises(InputError) as refused:
        raise InputError("there is no file {path}", path=Path("x.csv"), detail="a cell")
    assert (str(refused.value), refused.value.detail) == ("there is no file x.csv", "a cell")
    assert in_language(refused.value.sentence, "de") == "Die Datei x.csv gibt es nicht"
    again = pickle.loads(pickle.dumps(refused.value))
    assert in_language(again.sentence, "de") == "Die Datei x.csv gibt es nicht"


def test_mistakes_keep_their_places_and_messages() -> None:
    mistakes = errors.Mistakes()
    for column in ("pay", "blood: pressure"):
        with mistakes.collected("sensitive"):
            raise PolicyError(
                "{value} is outside [{minimum}, {maximum}]", value=2, minimum=0, maximum=1, place=f'"{column}".t'
            )
    with pytest.raises(PolicyError) as error:
        mistakes.report()
    assert str(error.value).count("\n") == 1
    assert in_language(error.value.sentence, "de") == (
        "„pay“, t: 2 liegt nicht zwischen 0 und 1; „blood: pressure“, t: 2 liegt nicht zwischen 0 und 1"
    )


def test_a_missing_package_is_said_with_its_line() -> None:
    assert str(MissingExtra("pyarrow", "arrow", "reading")) == "reading needs pyarrow: pip install 'tclose[arrow]'"


def test_the_sentence_that_lists_the_models_lists_them_all() -> None:
    assert f"({', '.join(MODELS[1:])})" in NOTHING_ASKED_FOR
