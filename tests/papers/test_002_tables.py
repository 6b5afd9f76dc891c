"""Li, Li & Venkatasubramanian 2007, tables 1 and 2: 3-anonymous, and open to both attacks that l-diversity answers."""

from __future__ import annotations

import polars as pl

import tclose

HEART, FLU, CANCER = "Heart Disease", "Flu", "Cancer"
AGE = [29, 22, 27, 43, 52, 47, 30, 36, 32]
TABLE_1 = pl.DataFrame(
    {
        "zip": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
        "age": AGE,
        "disease": [HEART] * 3 + [FLU, HEART, CANCER, HEART, CANCER, CANCER],
    }
)
TABLE_2 = TABLE_1.with_columns(
    zip=pl.Series(["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3), age=pl.Series(["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3)
)
AGES = [[str(age), f"{age // 10}*" if age < 40 else ">=40", "*"] for age in AGE]
POLICY = tclose.Policy.from_dict(
    {
        "k": 3,
        "quasi": {"zip": {"hierarchy": {"prefix": [5, 4, 3]}}, "age": {"hierarchy": {"rows": AGES}}},
        "sensitive": {"disease": {"t": 1, "distance": "equal"}},
    }
)


def test_table_1_has_everyone_alone() -> None:
    assert tclose.check(TABLE_1, POLICY).smallest_class == 1


def test_table_2_is_3_anonymous_and_not_2_diverse() -> None:
    result = tclose.check(TABLE_2, POLICY)
    assert (result.classes, result.smallest_class, result.satisfied) == (3, 3, True)
    diverse = tclose.Policy(quasi=["zip", "age"], sensitive={"disease": {"l": 2}}, k=3)
    assert not tclose.check(TABLE_2, diverse).satisfied


def test_example_1_bob_has_heart_disease_and_carl_most_likely_cancer() -> None:
    """Bob is in class 1, of one disease; Carl in class 3, of two diseases, one of which can be ruled out."""
    found = tclose.attack(TABLE_2, original=TABLE_1, policy=POLICY, method="fragmentation")
    exposed = {
        attack: {(one.number, one.what) for one in found[attack].findings["release"].classes}
        for attack in ("homogeneity", "background_knowledge")
    }
    assert {number for number, _ in exposed["homogeneity"]} == {1}
    assert {number for number, _ in exposed["background_knowledge"]} == {1, 3}
