"""Drafts of tables that a hostile reviewer would try: identifiers in disguise, and measurements that look like them."""

from __future__ import annotations

import hashlib
import math
import random
import re
import tomllib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose import InputError, steps
from tclose.policy.draft import Guess

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning")  # the file has a decimal comma
ROWS = 300
GIVEN = "Anna Peter Hans Maria Lukas Sophie Marie Emma Jan Eva Klaus Petra Uwe Heike Jonas Lena"
FAMILY = "Meier Schmidt Weber Fischer Wagner Becker Hoffmann Koch Bauer Richter Klein Wolf"
WORDS = "pain arrives after lunch and gets worse with stairs patient says mother had it too since march"

Cell = Callable[[random.Random, int], object]


def day(chance: random.Random) -> str:
    return f"{chance.randint(1930, 2010)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


IDENTIFIERS: dict[str, Cell] = {
    "Patientennummer": lambda chance, row: 10_000 + 7 * row + chance.randrange(5),
    "Vorname": lambda chance, row: chance.choice(GIVEN.split()),
    "Straße": lambda chance, row: f"{chance.choice(FAMILY.split())}straße {chance.randint(1, 99)}",
    "adr": lambda chance, row: f"{chance.choice(FAMILY.split())}straße {chance.randint(1, 9)}",
    "code_text": lambda chance, row: f"A-{row:05}",
    "leading_zeros": lambda chance, row: f"{row * 37:06}",
    "float_id": lambda chance, row: float(row + 1),
    "some_missing": lambda chance, row: None if row % 40 == 0 else row + 5000,
    "some_double": lambda chance, row: row + (row % 20 == 0) + 900,
    "shuffled": lambda chance, row: (row * 107) % ROWS,
    "rising": lambda chance, row: 1000 * row + chance.randrange(900),
    "random_code": lambda chance, row: chance.randrange(10**7, 10**8),
    "Notizen": lambda chance, row: " ".join(chance.choices(WORDS.split(), k=12)),
    "x1": lambda chance, row: f"{chance.choice(GIVEN.split())} {chance.choice(FAMILY.split())}",
    "first": lambda chance, row: chance.choice(GIVEN.split()),
    "hash": lambda chance, row: hashlib.sha256(str(row).encode()).hexdigest(),
    "hash of a visit": lambda chance, row: hashlib.md5(str(row // 3).encode()).hexdigest(),
    "as_number": lambda chance, row: 4_915_100_000_000 + chance.randrange(10**8),
    "contact": lambda chance, row: f"0171/{chance.randrange(10**7):07}",
    "reach": lambda chance, row: f"user{row // 2}@example.org",
    "device": lambda chance, row: f"192.168.{chance.randrange(255)}.{chance.randrange(255)}",
    "card": lambda chance, row: "4111 1111 1111 1111" if row % 2 else "5500 0000 0000 0004",
    "credit": lambda chance, row: 4_111_111_111_111_111 + row // 3,
    "us": lambda chance, row: f"{chance.randrange(100, 999)}-{chance.randrange(10, 99)}-{chance.randrange(1000, 9999)}",
    "Geburtsdatum": lambda chance, row: f"{row % 28 + 1:02}.{chance.randint(1, 12):02}.{chance.randint(1930, 2010)}",
    "village": lambda chance, row: f"Village {chance.randrange(200)}",
    "diagnosis": lambda chance, row: f"finding number {row}",
    "panel": lambda chance, row: 1 + row // 3 * 17,
    "panel text": lambda chance, row: f"P{row % 100 * 31}",
    "decimal comma": lambda chance, row: f"{chance.randrange(10**4)},{chance.randrange(10, 99)}",
    "small panel": lambda chance, row: f"P-{row // 10:03}",
    "Bemerkung": lambda chance, row: (
        ("call Anna", "moved", "call Anna", "late", "ill", "new")[row] if row < 6 else None
    ),
    "extra": lambda chance, row: ("moved", "late", "moved", "ill", "new")[row] if row < 5 else None,
}
READ = ("Geburtsdatum", "decimal comma")  # in a CSV file these are dates and numbers; in a frame they are text
OTHERS: dict[str, tuple[Cell, dict[str, Any]]] = {
    "birth date": (lambda chance, row: day(chance), {"hierarchy": {"date": ["month", "year", "decade"]}}),
    "created": (
        lambda chance, row: f"{day(chance)} {row % 24:02}:{row % 60:02}:{chance.randint(0, 59):02}",
        {"hierarchy": {"date": ["day", "month", "year", "decade"]}},
    ),
    "lat": (lambda chance, row: round(chance.uniform(47, 55), 6), {"step": 0.1}),
    "PLZ": (lambda chance, row: f"{chance.randint(1000, 99998):05}", {"hierarchy": {"prefix": [4, 3, 2, 1]}}),
    "income": (lambda chance, row: chance.randrange(10**4, 10**6), {"bins": {"quantiles": 20}, "publish": "bin"}),
    "unknown": (lambda chance, row: chance.gauss(0, 1), {"bins": {"quantiles": 20}, "publish": "bin"}),
    "dob_int": (lambda chance, row: int(day(chance).replace("-", "")), {"step": 10000}),
    "number of children": (lambda chance, row: chance.choice([0, 0, 1, 1, 2, 3]), {}),
    "Anzahl Kinder": (lambda chance, row: chance.choice([0, 0, 1, 1, 2, 3]), {}),
    "has_phone": (lambda chance, row: chance.choice(["yes", "no"]), {}),
    "hospital_id": (lambda chance, row: chance.randint(1, 4), {}),
    "income bracket": (lambda chance, row: chance.choice(["10000-19999", "20000-39999"]), {"distance": "equal"}),
}


def hostile() -> pl.DataFrame:
    chance = random.Random(1)
    cells = {**IDENTIFIERS, **{name: cell for name, (cell, _) in OTHERS.items()}}
    return pl.DataFrame({name: [cell(chance, row) for row in range(ROWS)] for name, cell in cells.items()})


def drafted(columns: dict[str, Sequence[object]] | pl.DataFrame) -> dict[str, Guess]:
    frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(columns, strict=False)
    return {guess.column: guess for guess in steps.init(frame).columns}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "table.csv"
    hostile().write_csv(path)
    return path


def test_identifiers_in_disguise_are_found(table: Path) -> None:
    guesses = {guess.column: guess for guess in steps.init(table).columns}
    assert [name for name in IDENTIFIERS if guesses[name].role != "identifier" and name not in READ] == []
    assert {guesses[name].kind for name in READ} == {"date", "number"}


def test_the_reason_says_how_to_rewrite_dates_and_numbers() -> None:
    guesses = drafted(hostile())
    assert {guesses[name].role for name in READ} == {"identifier"}
    assert guesses["Geburtsdatum"].why.startswith("its dates are not written as 2024-03-31: rewrite them")
    assert guesses["decimal comma"].why.startswith("its numbers are not written as 12.5: rewrite them")


def test_what_identifies_no_row_is_published_with_care(table: Path) -> None:
    guesses = {guess.column: guess for guess in steps.init(table).columns}
    assert [name for name in OTHERS if guesses[name].role == "identifier"] == []
    assert {name: guesses[name].to_dict()["settings"] for name in OTHERS} == {
        name: setting for name, (_, setting) in OTHERS.items()
    }


def test_the_release_of_a_hostile_table(table: Path, tmp_path: Path) -> None:
    draft = steps.init(table)
    (tmp_path / "p.toml").write_text(re.sub(r"^# t = 0\.\?", "t = 0.5 #", draft.policy, flags=re.MULTILINE))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        steps.anonymize(table, tmp_path / "p.toml", out=tmp_path / "r.csv", options={"effort": "fast"}, seed=1)
    assert not [warning for warning in warned if "that at most two" in str(warning.message)]
    release = tclose.read(tmp_path / "r.csv")
    assert set(release.columns) == {*OTHERS, *READ}
    assert len(release) == ROWS


# Persons


def test_an_id_that_repeats_becomes_the_person() -> None:
    frame = pl.DataFrame({"id": [row // 2 for row in range(200)], "age": [row % 40 for row in range(200)]})
    draft = steps.init(frame)
    assert draft.person == "id"
    assert re.search(r'^person = "id"  # 100 values in 200 rows: ', draft.policy, re.MULTILINE)
    assert tclose.Policy.from_dict(tomllib.loads(draft.policy)).person == "id"


@pytest.mark.parametrize(("name", "rows_each"), [("nr", 8), ("subject", 58)])  # R's Males and french_fries
def test_a_panel_is_numbered_by_persons(name: str, rows_each: int) -> None:
    numbers = [13 + 4 * (row // rows_each) for row in range(30 * rows_each)]
    draft = steps.init(pl.DataFrame({name: numbers, "age": [20 + row % 40 for row in range(len(numbers))]}))
    assert (draft.columns[0].role, draft.person) == ("identifier", name)


def test_the_person_is_the_patient_and_not_the_visit() -> None:
    frame = {"id": range(200), "visit_id": range(500, 700), "patient_id": [row // 4 for row in range(200)]}
    assert steps.init(pl.DataFrame(frame)).person == "patient_id"


def test_a_group_is_not_the_person() -> None:
    groups = {"hospital_id": [row // 10 for row in range(200)], "age": [row % 50 for row in range(200)]}
    assert steps.init(pl.DataFrame(groups)).person is None
    matched = {"id": range(200), "case.id": [row // 4 for row in range(200)]}  # every row has a person of its own
    assert steps.init(pl.DataFrame(matched)).person is None


def test_a_value_that_belongs_to_one_person_is_its_own_in_however_many_rows() -> None:
    chance = random.Random(2)
    persons = [row // 5 for row in range(400)]
    baseline = [chance.randrange(10**5) for _ in range(80)]
    guesses = drafted(
        {"id": persons, "age": [row % 30 for row in range(400)], "income": [baseline[p] for p in persons]}
    )
    assert guesses["income"].settings["publish"] == "bin"


# Columns that say the same


def test_a_function_of_a_quasi_identifier_is_not_published_row_by_row() -> None:
    ages = [18 + (row * 7) % 73 for row in range(ROWS)]
    guesses = drafted({"age": ages, "agesq": [age**2 for age in ages], "minus": [-age for age in ages]})
    assert {name: guess.role for name, guess in guesses.items()} == {"age": "quasi", "agesq": "quasi", "minus": "quasi"}
    assert 'it can be computed from "age", so it gets the same role' in guesses["agesq"].why


def test_a_known_column_that_tells_a_sensitive_one_is_not_published() -> None:
    diagnoses = ["flu", "cold", "hiv"]
    frame = {"diagnosis": [diagnoses[row % 3] for row in range(ROWS)], "ward": [row % 3 for row in range(ROWS)]}
    guesses = drafted({**frame, "age": [row % 41 for row in range(ROWS)]})
    assert (guesses["diagnosis"].role, guesses["ward"].role) == ("sensitive", "identifier")
    assert guesses["ward"].why.startswith('it can be computed from "diagnosis", which is published')


def test_a_label_of_an_identifier_is_one() -> None:
    labels = [f"ward {row // 10} bed {row // 5 % 2}" for row in range(ROWS)]
    guesses = drafted({"patient_id": [row // 5 for row in range(ROWS)], "place": labels, "age": [1, 2, 3] * 100})
    assert guesses["place"].role == "identifier"


@pytest.mark.parametrize("rows", [1500, 12_000])
def test_a_column_that_tells_a_quasi_identifier_is_not_published_row_by_row(rows: int) -> None:
    chance = random.Random(6)
    reading = [chance.randrange(100) for _ in range(rows)]
    guesses = drafted({"reading": reading, "region": [f"R{value // 20}" for value in reading]})
    assert guesses["reading"].role == "quasi"
    assert guesses["reading"].why.startswith('"region" can be computed from it, so it gets the same role')


def test_a_quasi_identifier_that_a_sensitive_column_tells_is_not_published() -> None:
    chance = random.Random(7)
    diagnosis = [chance.randrange(30) for _ in range(ROWS)]
    guesses = drafted(
        {
            "diagnosis": [f"I{code}" for code in diagnosis],
            "ward": [f"W{code % 4}" for code in diagnosis],
            "age": [chance.randrange(40) for _ in range(ROWS)],
        }
    )
    assert [guess.role for guess in guesses.values()] == ["sensitive", "identifier", "quasi"]
    assert guesses["ward"].why.startswith('it can be computed from "diagnosis", which is published')


@pytest.mark.parametrize("rows", [ROWS, 12_000])  # all rows, and a sample that is confirmed
def test_derived_measurements_get_a_remark(rows: int) -> None:
    chance = random.Random(3)
    income = [chance.randrange(10**4, 10**9) for _ in range(rows)]
    other = [chance.randrange(10**4, 10**9) for _ in range(rows)]
    guesses = drafted(
        {
            "income": income,
            "log_income": [math.log(value) for value in income],
            "tax": other,
            "age": [1, 2, 3] * (rows // 3),
        }
    )
    assert any('computed from "income"' in remark for remark in guesses["log_income"].remarks)
    assert not any("computed" in remark for remark in guesses["tax"].remarks)


def test_columns_that_agree_only_in_the_sample_are_not_twins() -> None:
    rows = 12_000
    first = [row % 7 for row in range(rows)]
    second = list(first)
    second[1] = 6  # this row is not in the sample
    guesses = drafted({"age": first, "reading": second})
    assert guesses["reading"].remarks == ()


# Answers and missing values


def test_none_as_an_answer_is_no_missing_value_without_a_remark() -> None:
    frame = pl.DataFrame({"alcohol": ["None", "Light", "Heavy"] * 40, "age": ["20", "30", "40"] * 40})
    draft = steps.init(frame)
    assert tomllib.loads(draft.policy)["missing"] == [""]
    assert '# "None" counts as an answer here: if it means "no value", add it to missing' in draft.policy


def test_none_among_numbers_is_missing_and_a_remark_says_where_it_may_be_an_answer() -> None:
    frame = pl.DataFrame({"alcohol": ["None", "Light", "Heavy"] * 40, "age": ["20", "None", "40"] * 40})
    draft = steps.init(frame)
    assert tomllib.loads(draft.policy)["missing"] == ["", "None"]
    assert draft.policy.count('# "None" means "no value" here: if it is an answer') == 1
    assert [guess.missing for guess in draft.columns] == [40, 40]


def test_a_code_for_no_value_gets_a_remark() -> None:
    guesses = drafted({"score": [1, 2, 3, 999] * 30, "age": [20, 30, 40, 50] * 30})
    assert any("stands apart" in remark for remark in guesses["score"].remarks)
    assert not guesses["age"].remarks


@pytest.mark.parametrize("missing", [None, ""])
def test_missing_sensitive_values_count_as_a_value(missing: object) -> None:
    guesses = drafted(
        {"age": ["20", "30"] * 60, "ldl": ["1", "2", missing] * 40, "diagnosis": ["a", missing, "b"] * 40}
    )
    assert guesses["ldl"].settings["missing"] == "value"
    assert guesses["diagnosis"].settings["missing"] == "value"


# Weights and postal codes


def test_a_sampling_weight_gets_a_remark_and_a_body_weight_does_not() -> None:
    chance = random.Random(4)
    weights = {
        "weight": [round(chance.gauss(75, 12), 1) for _ in range(ROWS)],
        "fnlwgt": [chance.randrange(10**4, 10**6) for _ in range(ROWS)],
        "wt": [round(chance.lognormvariate(0, 0.3), 4) for _ in range(ROWS)],
        "Gewicht": [chance.randrange(2 * 10**4, 10**5) for _ in range(ROWS)],
    }
    remarked = {name for name, guess in drafted(weights).items() if any("sampling" in text for text in guess.remarks)}
    assert remarked == {"fnlwgt", "wt", "Gewicht"}


def test_postal_codes_that_are_numbers_get_a_hierarchy_and_a_remark() -> None:
    (guess,) = drafted({"zip": [10_000 + 17 * row for row in range(ROWS)]}).values()
    assert guess.settings == {"hierarchy": {"prefix": [4, 3, 2, 1]}}
    assert any("leading zeros" in remark for remark in guess.remarks)


# Small, empty and odd tables


def test_a_table_of_identifiers_says_that_nothing_can_be_published() -> None:
    draft = steps.init(pl.DataFrame({"name": ["A", "B"], "ssn": [1, 2], "email": ["a@b.de", "c@d.de"]}))
    assert {guess.role for guess in draft.columns} == {"identifier"}
    assert "# Nothing can be published" in draft.policy


def test_two_columns() -> None:
    guesses = drafted({"name": ["A", "B", "C"], "salary": [1, 2, 3]})
    assert [guess.role for guess in guesses.values()] == ["identifier", "quasi"]


def test_no_rows() -> None:
    with pytest.raises(InputError, match="no rows"):
        drafted(pl.DataFrame({"name": [], "age": []}, schema={"name": pl.String, "age": pl.Int64}))


def test_a_small_table_gets_bins_of_at_least_five_rows() -> None:
    guesses = drafted({"age": [20, 30, 40] * 10, "income": [row * row + 7 for row in range(30)]})
    assert guesses["income"].settings["bins"] == {"quantiles": 6}


ODD_NUMBERS = {
    "long": [str(10**40 + row) for row in range(30)],
    "tiny": [f"{row}e-300" for row in range(1, 31)],
    "wide": [f"1e{row}" for row in range(30)],
    "empty": [""] * 30,
    "negative": [str(-row) for row in range(30)],
    "one": ["5"] * 30,
}


@pytest.mark.parametrize("name", ODD_NUMBERS)
def test_odd_numbers(name: str) -> None:
    (guess,) = drafted({"reading": ODD_NUMBERS[name]}).values()
    assert guess.column == "reading"


def test_no_escape_byte_reaches_the_terminal() -> None:
    draft = steps.init(pl.DataFrame({"\x9b[2Jname": ["a", "b"], "\x1b[31mage": [1, 2], "\u202eevil": [1, 2]}))
    assert draft.policy.replace("\n", "").isprintable()
    assert set(tomllib.loads(draft.policy)["identifiers"]) == {"\x9b[2Jname"}


# A law: whatever the columns are called, few rows publish a value of their own

kinds = st.sampled_from(["number", "whole", "text", "level", "id", "date"])
headers = st.sampled_from(
    ["x", "age", "income", "diagnosis", "city", "code", "Wert", "id", "weight", "date", "zip", "case"]
)


@settings(max_examples=examples(60), deadline=None)
@given(
    columns=st.lists(st.tuples(headers, kinds), min_size=1, max_size=5),
    seed=st.integers(0, 10**6),
    rows=st.integers(20, 90),
)
def test_no_draft_publishes_many_values_of_one_row(columns: list[tuple[str, str]], seed: int, rows: int) -> None:
    chance = random.Random(seed)
    makers: dict[str, Cell] = {
        "number": lambda chance, row: chance.gauss(0, 1),
        "whole": lambda chance, row: chance.randrange(10**5),
        "text": lambda chance, row: f"w{chance.randrange(10**5)}",
        "level": lambda chance, row: chance.choice("abcd"),
        "id": lambda chance, row: row,
        "date": lambda chance, row: day(chance),
    }
    frame = {
        f"{header} {place}": [makers[kind](chance, row) for row in range(rows)]
        for place, (header, kind) in enumerate(columns)
    }
    for guess in drafted(frame).values():
        values = frame[guess.column]
        own = sum(values.count(value) <= 2 for value in values)
        exact = guess.role == "sensitive" and "publish" not in guess.settings
        spelled_out = guess.role == "quasi" and guess.kind in ("text", "mixed") and "hierarchy" not in guess.settings
        assert not (exact or spelled_out) or own <= max(0.1 * rows, 10)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd_cells = st.one_of(texts, st.sampled_from(["", "NA", "None", "-", "1", "-0.0", "1e-320", "2024-02-30", "1" * 30]))


@settings(max_examples=examples(80), deadline=None)
@given(st.dictionaries(texts.filter(bool), st.lists(odd_cells, min_size=25, max_size=25), min_size=1, max_size=4))
def test_any_table_gets_a_draft_that_is_valid_and_shows_no_cell_and_no_escape(cells: dict[str, list[str]]) -> None:
    marked = {name: [cell if len(cell) < 3 else f"{cell}S3CR3T" for cell in column] for name, column in cells.items()}
    draft = steps.init(pl.DataFrame(marked))
    read = tomllib.loads(draft.policy)
    assert sorted([*read["identifiers"], *read.get("quasi", ()), *read.get("sensitive", ())]) == sorted(cells)
    assert "S3CR3T" not in draft.policy
    assert draft.policy.replace("\n", "").isprintable()


def test_a_few_rows_with_a_value_of_their_own_get_a_remark() -> None:
    frame = pl.DataFrame(
        {
            "age": [20 + row % 60 for row in range(500)],
            "income": [5000 + 13 * row if row < 40 else 1000 + row % 45 for row in range(500)],
            "diagnosis": [f"rare {row}" if row < 40 else "flu" if row % 2 else "cough" for row in range(500)],
        }
    )
    columns = {guess.column: guess for guess in steps.init(frame).columns}
    own = "40 of 500 rows have a value of their own (at most two rows or persons share it), "
    own += "which is published: to hide it, "
    compared = (
        "compared in 20 bins of about equally many rows, published as they are; without bins it is compared by rank, "
        "and t limits less"
    )
    assert columns["income"].remarks == (f'{own}add publish = "bin"', compared)
    assert columns["income"].settings == {"bins": {"quantiles": 20}}
    assert columns["diagnosis"].remarks == (f"{own}write common values in place of the rare ones",)


@pytest.mark.parametrize("name", ["Geburtsgewicht", "birth_weight"])
def test_a_weight_at_birth_is_in_grams(name: str) -> None:
    frame = pl.DataFrame({"age": [20 + row % 60 for row in range(100)], name: [2500 + 17 * row for row in range(100)]})
    assert "sampling weight" not in steps.init(frame).policy
