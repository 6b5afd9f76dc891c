"""Li, Li & Venkatasubramanian 2007, section 3 and tables 3 to 5: what the attacks find in each."""

from __future__ import annotations

import polars as pl
import pytest

import tclose

AGES = {22: ("2*", "<=40"), 27: ("2*", "<=40"), 29: ("2*", "<=40"), 30: ("3*", "<=40"), 32: ("3*", "<=40")}
AGES |= {36: ("3*", "<=40"), 43: ("4*", ">=40"), 47: ("4*", ">=40"), 52: ("5*", ">=40")}
DISEASES = {
    ("respiratory", "infection"): ["flu", "pneumonia", "bronchitis"],
    ("respiratory", "vascular"): ["pulmonary edema", "pulmonary embolism"],
    ("digestive", "stomach"): ["gastric ulcer", "stomach cancer", "gastritis"],
    ("digestive", "colon"): ["colitis", "colon cancer"],
}
POLICY = tclose.Policy.from_dict(
    {
        "k": 3,
        "quasi": {
            "zip": {"hierarchy": {"prefix": [4, 3]}},
            "age": {"hierarchy": {"rows": [[str(age), *labels, "*"] for age, labels in AGES.items()]}},
        },
        "sensitive": {
            "salary": {"t": "3/8"},
            "disease": {
                "t": "4/9",
                "hierarchy": {
                    "rows": [[leaf, organ, system, "*"] for (system, organ), all_ in DISEASES.items() for leaf in all_]
                },
            },
        },
    }
)
TABLE_3 = pl.DataFrame(
    {
        "zip": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "salary": [3000, 4000, 5000, 6000, 11000, 8000, 7000, 9000, 10000],
        "disease": [
            *("gastric ulcer", "gastritis", "stomach cancer", "gastritis", "flu"),
            *("bronchitis", "bronchitis", "pneumonia", "stomach cancer"),
        ],
    }
)
PUBLISHED = {  # the rows of table 3, and what they show
    4: [("476**", "2*", (1, 2, 3)), ("4790*", ">=40", (4, 5, 6)), ("476**", "3*", (7, 8, 9))],
    5: [("4767*", "<=40", (1, 3, 8)), ("4790*", ">=40", (4, 5, 6)), ("4760*", "<=40", (2, 7, 9))],
}
BY_CLASS = ("homogeneity", "background_knowledge", "skewness", "similarity")


def table(number: int) -> pl.DataFrame:
    parts = [
        TABLE_3[[row - 1 for row in rows]].with_columns(zip=pl.lit(code), age=pl.lit(age))
        for code, age, rows in PUBLISHED[number]
    ]
    return pl.concat(parts)


@pytest.fixture(scope="module")
def found() -> dict[int, tclose.Attacks]:
    return {
        number: tclose.attack(table(number), original=TABLE_3, policy=POLICY, method="fragmentation")
        for number in PUBLISHED
    }


def named(result: tclose.Attacks) -> set[tuple[str, int, str, str]]:
    return {
        (attack, one.number, one.attribute, one.what)
        for attack in BY_CLASS
        for one in result[attack].findings["release"].classes
    }


def test_table_4_opens_its_first_class_low_salaries_and_stomach_diseases(found: dict[int, tclose.Attacks]) -> None:
    assert named(found[4]) == {
        ("similarity", 1, "salary", "all low: within the lowest quarter of the range"),
        ("similarity", 1, "disease", "all under 'stomach'"),
    }
    similar = found[4]["similarity"].findings["release"]
    assert (similar.figure, similar.rows, similar.of) == (1, 3, 9)
    assert similar.sentence == (
        "3 rows (33.3 %) are in 1 class whose values of 'salary' and 'disease' are alike: class 1."
    )


def test_table_5_opens_no_class(found: dict[int, tclose.Attacks]) -> None:
    assert named(found[5]) == set()
    assert found[5]["similarity"].findings["release"].figure == 0


def test_what_closeness_does_not_prevent_is_told_as_well(found: dict[int, tclose.Attacks]) -> None:
    """Salaries are unique: who knows one finds the row, in whatever class (Fang et al.)."""
    for result in found.values():
        assert result["background_join"].findings["release"].figure == 1
        assert result["rarity"].findings["release"].rows == 9
        assert result["skewness"].findings["release"].figure == 9 / 3  # a third of a class, a ninth of the table


def test_the_raw_table_has_everyone_alone(found: dict[int, tclose.Attacks]) -> None:
    for name in ("prosecutor", "journalist", "marketer", "uniqueness"):
        raw, release = (found[5][name].findings[table] for table in ("raw", "release"))
        assert raw.figure == 1
        assert release.figure is not None
        assert release.figure < 1
    assert found[5]["prosecutor"].findings["release"].figure == 1 / 3


def test_example_2_an_even_bet_on_a_value_of_one_percent() -> None:
    """99 of 10,000 tests are positive; in a class of two, one is."""
    results = ["positive", "negative"] + ["positive"] * 98 + ["negative"] * 9_900
    frame = pl.DataFrame({"zone": ["a"] * 2 + ["b"] * 9_998, "test": results})
    policy = tclose.Policy(quasi=["zone"], sensitive={"test": {"l": 2}}, k=2)
    skewed = tclose.attack(frame, original=frame, policy=policy, method="fragmentation")["skewness"].findings["release"]
    assert skewed.figure == pytest.approx(0.5 / 0.0099)
    assert [(one.number, one.rows) for one in skewed.classes] == [(1, 2)]
