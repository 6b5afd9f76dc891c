"""The 18 identifiers in published columns: a corpus of planted ones, known false answers, and single columns."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tclose.report.profiles.columns import PublishedColumn, is_understood, meaning_of
from tclose.report.profiles.safe_harbor import IDENTIFIERS, findings_of, safe_harbor

from .identifier_corpus import PlantedTable, families_made_after, held_back, identifiers, open_tables

YEAR = 2026


def answers(table: PlantedTable) -> dict[str, str]:
    columns = [PublishedColumn(name, tuple(dict.fromkeys(cells))) for name, cells in table.columns.items()]
    return {finding.identifier.letter: finding.answer for finding in safe_harbor(columns, YEAR)}


def rates(tables: list[PlantedTable]) -> Counter[str]:
    """Count the answers, apart for identifiers that are in the table, that are not, and that are doubtful."""
    found: Counter[str] = Counter()
    for table in tables:
        for letter, answer in answers(table).items():
            kind = "planted" if letter in table.planted else "doubtful" if letter in table.doubtful else "absent"
            found[f"{kind} {answer}"] += 1
    return found


@pytest.mark.parametrize("tables", [open_tables, held_back, families_made_after])
def test_no_planted_identifier_is_called_met(tables: object) -> None:
    """0 false "met" is the promise; the other two rates are said in docs/profiles.md and must not grow unseen."""
    found = rates(tables())  # type: ignore[operator]
    assert found["planted yes"] == found["doubtful yes"] == 0
    absent = found["absent no"] + found["absent undecided"] + found["absent yes"]
    assert found["absent no"] <= 0.01 * absent
    assert found["absent undecided"] <= 0.6 * absent


def test_tables_of_columns_that_say_what_they_are_are_decided() -> None:
    harmless = [table for table in open_tables() + held_back() if not table.planted and not table.doubtful]
    assert len(harmless) >= 20
    assert rates(harmless).keys() == {"absent yes"}


def test_the_corpus_has_every_identifier_and_ordinary_tables() -> None:
    for half in (open_tables(), held_back()):
        assert {letter for table in half for letter in table.planted} == {each.letter for each in IDENTIFIERS}
        assert any(not table.planted and not table.doubtful for table in half)
    assert len(open_tables()) + len(held_back()) >= 40


def test_there_are_eighteen_identifiers() -> None:
    assert "".join(each.letter for each in IDENTIFIERS) == "ABCDEFGHIJKLMNOPQR"


@pytest.mark.parametrize(
    ("name", "texts", "letter"),
    [
        ("zip", ["02139"], "B"),
        ("zip", ["02139", "02141"], "B"),
        ("age", ["91", "97"], "C"),
        ("age", ["91", "93", "97", "unknown"], "C"),
        ("birth_year", ["1931", "1935"], "C"),
        ("year_of_birth", ["1950", "1936"], "C"),
    ],
)
def test_what_was_called_met_and_is_not(name: str, texts: list[str], letter: str) -> None:
    """One or two different values, or one cell `unknown`, let a column of numbers pass for an answer or for text."""
    assert findings_of(PublishedColumn(name, texts), YEAR)[letter].answer == "no"


@pytest.mark.parametrize("name", ["weight", "ldl", "charges", "income"])
@pytest.mark.parametrize("texts", [["02139", "02141"], ["[02139, 02141]"], ["0042"]])
def test_numbers_with_leading_zeros_are_codes_whatever_the_name(name: str, texts: list[str]) -> None:
    findings = findings_of(PublishedColumn(name, texts), YEAR)
    assert {findings[letter].answer for letter in "BCMR"} == {"undecided"}
    assert {each.answer for each in findings_of(PublishedColumn(name, ["0", "0.5", "12"]), YEAR).values()} == {"yes"}


@pytest.mark.parametrize(
    ("name", "texts", "present", "unclear"),
    [
        ("name", ["*"], "", ""),
        ("first_name", ["Ann", "Bob"], "A", ""),
        ("zip", ["*", "021"], "", "B"),
        ("zip", ["{01050, 01060}"], "B", ""),
        ("plz", ["D-53113"], "B", ""),
        ("city", ["Bonn", "Paris"], "B", ""),
        ("city", ["0", "1"], "", "B"),
        ("state", ["CA", "NY"], "", ""),
        ("country", ["Germany", "fr"], "", ""),
        ("region", ["north", "south"], "", "B"),
        ("home", ["1 Main Street", "2 Main Street"], "B", ""),
        ("admission_date", ["2024-03-01", "2024-03-02"], "C", ""),
        ("admission_date", ["2024-03", "2024-04"], "C", ""),
        ("admission_year", ["2024", "[2019, 2023]"], "", ""),
        ("birth_year", ["1980", "[1937, 1940]", "≤1936"], "", ""),
        ("birth_year", ["[1930, 1940]"], "C", ""),
        ("seen", ["31.12.2024", "30.12.2024"], "C", ""),
        ("age", ["[20, 89]", "5"], "", ""),
        ("age", ["[20, 90]"], "C", ""),
        ("age", ["[85, ≥90]", "≥90 or missing", "90+"], "", ""),
        ("age", ["[85, ≥95]"], "C", ""),
        ("age", ["89.5", "3"], "C", ""),
        ("age", ["adult", "child"], "", "C"),
        ("weight_kg", ["91", "97"], "", ""),
        ("ldl", ["100", "[101, 120]"], "", ""),
        ("diagnosis", ["flu", "cold"], "", ""),
        ("diagnosis", ["flu", "Mrs. Smith's leg"], "", "A"),
        ("phone", ["yes", "no"], "", ""),
        ("phone", ["+49 228 1234567"], "D", "E"),
        ("contact", ["a@b.de", "none given"], "F", "A"),
        ("ssn", ["123-45-6789"], "G", ""),
        ("patient_id", ["12", "13"], "H", ""),
        ("ip", ["10.0.0.1"], "O", ""),
        ("v4", ["91", "97"], "", "C"),
        ("v4", ["02139"], "", "B"),
        ("remarks", ["seen at night by the nurse"], "", "R"),
    ],
)  # fmt: skip
def test_single_columns(name: str, texts: list[str], present: str, unclear: str) -> None:
    findings = findings_of(PublishedColumn(name, texts), YEAR)
    assert "".join(letter for letter, each in findings.items() if each.answer == "no") == present
    undecided = {letter for letter, each in findings.items() if each.answer == "undecided"}
    assert set(unclear) <= undecided
    assert present or unclear or not undecided


def test_a_pseudonym_is_a_code() -> None:
    findings = findings_of(PublishedColumn("name", ["a1b2"], pseudonym=True), YEAR)
    assert {letter for letter, each in findings.items() if each.answer != "yes"} == {"R"}


@pytest.mark.parametrize("name", ["x7", "V12", "q3_1", "ldl_phone", "weight_id", "age_of_village", "town"])
def test_one_unknown_word_and_a_name_is_not_understood(name: str) -> None:
    assert not is_understood(name)
    assert meaning_of(PublishedColumn(name, ["1", "2"])) is None


def test_one_strange_cell_and_a_column_is_not_understood() -> None:
    assert meaning_of(PublishedColumn("ldl", ["101", "[90, 95]"])) is not None
    assert meaning_of(PublishedColumn("ldl", ["101", "[90, 95]", "see letter"])) is None


def test_a_harmless_name_does_not_clear_strange_cells() -> None:
    """Texts of every identifier, under names of measurements, categories, illnesses, places, ages and years."""
    names = (
        "ldl",
        "income",
        "number_of_children",
        "score",
        "race",
        "diagnosis",
        "state",
        "age",
        "year",
        "length_of_stay",
    )
    for letter, kinds in identifiers(Random(3)).items():
        for _, cells in kinds:
            for name in names:
                column = PublishedColumn(name, tuple(dict.fromkeys(cells)))
                if column.others and not (name == "age" and letter == "C"):
                    assert findings_of(column, YEAR)[letter].answer != "yes", (name, cells[:3])
