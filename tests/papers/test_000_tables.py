"""Weber's thesis, tables 1 to 6: what each is said to be, it is, and what attacks find in each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose

ZIP = ["67204", "67221", "67222", "67211", "67214", "67213", "67201", "67230", "67207"]
AGE = [28, 23, 24, 44, 49, 51, 32, 36, 33]
BRONCHITIS, PNEUMONIA = "Bronchitis", "Pneumonia"
LIVER, BONE, LUNG = "Liver Cancer", "Bone Cancer", "Lung Cancer"
TABLE_1 = [BRONCHITIS] * 3 + [PNEUMONIA] * 2 + [BONE, BRONCHITIS, LIVER, LIVER]
TABLE_4 = [BRONCHITIS, PNEUMONIA, LIVER, BRONCHITIS, PNEUMONIA, BONE, BRONCHITIS, LIVER, BONE]
TABLE_6 = [BRONCHITIS, PNEUMONIA, LIVER, BRONCHITIS, PNEUMONIA, BONE, LUNG, BONE, LIVER]
SALARY = [23_000, 21_000, 27_000, 58_000, 49_000, 56_000, 81_000, 83_000, 91_000]
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 2]
SHOWN = [("672**", "2*"), ("6721*", "40-59"), ("672**", "3*")]
AGES = [[str(age), f"{age // 10}*", "20-39" if age < 40 else "40-59", "20-59"] for age in AGE]
QUASI = {"zip": {"hierarchy": {"prefix": [5, 4, 3]}}, "age": {"hierarchy": {"rows": AGES}}}
DIAGNOSES = [[name, "respiratory", "*"] for name in (BRONCHITIS, PNEUMONIA)]
DIAGNOSES += [[name, "cancer", "*"] for name in (LIVER, BONE, LUNG)]


def raw(diagnoses: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"zip": ZIP, "age": AGE, "diagnosis": diagnoses})


def grouped(diagnoses: list[str]) -> pl.DataFrame:
    """The generalisation that tables 3, 5 and 6 share."""
    codes, ages = zip(*(SHOWN[group] for group in GROUPS), strict=True)
    return pl.DataFrame({"zip": codes, "age": ages, "diagnosis": diagnoses})


def policy(**diagnosis: object) -> tclose.Policy:
    sensitive = {"diagnosis": {"distance": "equal", **diagnosis}}
    return tclose.Policy.from_dict({"k": 3, "quasi": QUASI, "sensitive": sensitive})


def exposed(attacks: tclose.Attacks, attack: str) -> set[tuple[int, str]]:
    return {(one.number, one.attribute) for one in attacks[attack].findings["release"].classes}


def test_table_1_has_everyone_alone() -> None:
    result = tclose.check(raw(TABLE_1), policy(t=1))
    assert (result.classes, result.smallest_class, result.satisfied) == (9, 1, False)


def test_table_2_is_one_class_of_nine() -> None:
    table_2 = raw(TABLE_1).with_columns(zip=pl.lit("672**"), age=pl.lit("20-59"))
    result = tclose.check(table_2, policy(t=0))
    assert (result.classes, result.smallest_class, result.satisfied) == (1, 9, True)


def test_table_3_is_3_anonymous_in_classes_of_three() -> None:
    result = tclose.check(grouped(TABLE_1), policy(t=1))
    assert (result.classes, result.smallest_class, result.satisfied) == (3, 3, True)
    assert not tclose.check(grouped(TABLE_1), policy(l=2)).satisfied


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_nothing_loses_less_than_the_groups_of_table_3() -> None:
    release = tclose.anonymize(raw(TABLE_1), policy(t=1), method="exact", seed=1)
    frame = release.table.with_columns(group=pl.struct("zip", "age").rank("dense"))
    together = {tuple(np.flatnonzero(frame["group"].to_numpy() == group)) for group in frame["group"].unique()}
    assert together == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}


def test_table_3_is_open_to_both_attacks_on_k_anonymity() -> None:
    """Jack's class is all bronchitis; Joseph's has two values, so ruling out one leaves one."""
    found = tclose.attack(grouped(TABLE_1), original=raw(TABLE_1), policy=policy(t=1), method="fragmentation")
    assert exposed(found, "homogeneity") == {(1, "diagnosis")}
    assert exposed(found, "background_knowledge") == {(number, "diagnosis") for number in (1, 2, 3)}


def test_table_5_is_3_diverse_and_open_to_neither() -> None:
    diverse = policy(l=3, entropy_l=3)
    assert tclose.check(grouped(TABLE_4), diverse).satisfied
    found = tclose.attack(grouped(TABLE_4), original=raw(TABLE_4), policy=diverse, method="fragmentation")
    assert exposed(found, "homogeneity") == exposed(found, "background_knowledge") == set()


@pytest.fixture(scope="module")
def table_6() -> pl.DataFrame:
    return grouped(TABLE_6).with_columns(salary=pl.Series(SALARY))


def of_both(**asked: object) -> tclose.Policy:
    sensitive = {"salary": asked, "diagnosis": {"hierarchy": {"rows": DIAGNOSES}, **asked}}
    return tclose.Policy.from_dict({"k": 3, "quasi": QUASI, "sensitive": sensitive})


def test_table_6_is_3_diverse_and_open_to_the_similarity_attack(table_6: pl.DataFrame) -> None:
    """Salaries of the first class are all low, diagnoses of the third are all cancer."""
    assert tclose.check(table_6, of_both(l=3, entropy_l=3, recursive={"c": 2, "l": 3})).satisfied
    original = raw(TABLE_6).with_columns(salary=pl.Series(SALARY))
    found = tclose.attack(table_6, original=original, policy=of_both(t=1), method="fragmentation")
    named = {(one.number, one.attribute, one.what) for one in found["similarity"].findings["release"].classes}
    assert (1, "salary", "all low: within the lowest quarter of the range") in named
    assert (3, "diagnosis", "all under 'cancer'") in named
    assert not any(number == 2 and attribute == "diagnosis" for number, attribute, _ in named)


def test_the_first_class_of_table_6_is_far_from_the_table(table_6: pl.DataFrame) -> None:
    """The thesis says that the mean salary is about $54,000, and the distance large."""
    assert round(float(np.mean(SALARY)), -3) == 54_000
    assert max(SALARY[:3]) < np.mean(SALARY)
    distances = [
        tclose.explain(table_6, of_both(t=1), attribute="salary", class_number=number).closeness for number in (1, 2, 3)
    ]
    assert distances == [Fraction(3, 8), Fraction(7, 36), Fraction(3, 8)]
    assert not tclose.check(table_6, of_both(t=0.3)).satisfied
