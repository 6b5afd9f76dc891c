"""Li, Li & Venkatasubramanian 2007: tables 3 to 5, figure 1, and the limits of section 8.

Its printed .5 and .278 for diseases are distances from a uniform distribution of the six diseases, not from the counts
of table 3; docs/method.md keeps the errata. Both are pinned here, and a linear programme agrees.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import tclose
from tclose.distance import Counts, Hierarchical, Ordered
from tclose.table.hierarchies import Hierarchy

TREE = {
    ("respiratory", "infection"): ["flu", "pneumonia", "bronchitis"],
    ("respiratory", "vascular"): ["pulmonary edema", "pulmonary embolism"],
    ("digestive", "stomach"): ["gastric ulcer", "stomach cancer", "gastritis"],
    ("digestive", "colon"): ["colitis", "colon cancer"],
}
PATHS = [(leaf, organ, system, "*") for (system, organ), leaves in TREE.items() for leaf in leaves]
HIERARCHY = Hierarchy.from_rows(PATHS)
DISEASE = Hierarchical(HIERARCHY.levels)
LEAVES = list(HIERARCHY.leaves)

TABLE_4 = pl.DataFrame(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3000, 4000, 5000, 6000, 11000, 8000, 7000, 9000, 10000],
        "disease": [
            *("gastric ulcer", "gastritis", "stomach cancer"),
            *("gastritis", "flu", "bronchitis"),
            *("bronchitis", "pneumonia", "stomach cancer"),
        ],
    }
)
TABLE_5 = pl.DataFrame(
    {
        "zip": ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
        "age": ["<=40"] * 3 + [">=40"] * 3 + ["<=40"] * 3,
        "salary": [3000, 5000, 9000, 6000, 11000, 8000, 4000, 7000, 10000],
        "disease": [
            *("gastric ulcer", "stomach cancer", "pneumonia"),
            *("gastritis", "flu", "bronchitis"),
            *("gastritis", "bronchitis", "stomach cancer"),
        ],
    }
)
WHOLE = np.array([TABLE_4["disease"].to_list().count(leaf) for leaf in LEAVES])


@pytest.fixture
def policy(tmp_path: Path) -> tclose.Policy:
    (tmp_path / "disease.csv").write_text("\n".join(";".join(path) for path in PATHS))
    sensitive = {"salary": {"t": "1/6"}, "disease": {"t": "8/27", "hierarchy": "disease.csv"}}
    return tclose.Policy.from_dict({"quasi": ["zip", "age"], "sensitive": sensitive}, folder=tmp_path)


def between(first: str, second: str) -> Fraction:
    return DISEASE.between(LEAVES.index(first), LEAVES.index(second))


def counted(*diseases: str) -> np.ndarray:
    return np.array([diseases.count(leaf) for leaf in LEAVES])


def test_distances_in_the_disease_hierarchy() -> None:
    assert between("flu", "bronchitis") == Fraction(1, 3)
    assert between("flu", "pulmonary embolism") == Fraction(2, 3)
    assert between("flu", "stomach cancer") == 1
    assert between("flu", "flu") == 0


def test_salaries_of_the_two_classes_of_section_5() -> None:
    counts = Counts.from_dense([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]])
    ratios = Ordered(9).emd(counts, np.ones(9, dtype=np.int64))
    assert [ratios[0], ratios[1]] == [Fraction(3, 8), Fraction(1, 6)]


DISEASES = [
    (("gastric ulcer", "gastritis", "stomach cancer"), Fraction(4, 9)),
    (("gastric ulcer", "stomach cancer", "pneumonia"), Fraction(7, 27)),
]


@pytest.mark.parametrize(("diseases", "expected"), DISEASES)
def test_diseases_by_the_formula_of_section_5(diseases: tuple[str, ...], expected: Fraction) -> None:
    assert DISEASE.emd(Counts.from_dense([counted(*diseases)]), WHOLE)[0] == expected


def test_the_printed_distances_are_those_from_a_uniform_distribution() -> None:
    """Footnote 2 reads a set of values as equally likely ones, and the disease column of table 3 as such a set."""
    uniform = (WHOLE > 0).astype(np.int64)
    printed = ("gastric ulcer", "gastritis", "stomach cancer")
    assert uniform.sum() == 6
    assert DISEASE.emd(Counts.from_dense([counted(*printed)]), uniform)[0] == Fraction(1, 2)
    diseases = TABLE_5["disease"].to_list()
    classes = [counted(*diseases[start : start + 3]) for start in (0, 3, 6)]
    assert {*(DISEASE.emd(Counts.from_dense(classes), uniform)[place] for place in range(3))} == {Fraction(5, 18)}
    assert round(float(Fraction(5, 18)), 3) == 0.278


@pytest.mark.parametrize(("diseases", "expected"), DISEASES)
def test_a_linear_programme_agrees(diseases: tuple[str, ...], expected: Fraction) -> None:
    m = len(LEAVES)
    costs = [float(DISEASE.between(i, j)) for i in range(m) for j in range(m)]
    leaving, arriving = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    masses = np.concatenate((counted(*diseases) / 3, WHOLE / 9))
    answer = linprog(costs, A_eq=np.vstack((leaving, arriving)), b_eq=masses, method="highs")
    assert answer.fun == pytest.approx(float(expected), abs=1e-9)


def test_table_5_is_as_close_as_printed_in_salary_and_8_27_in_disease(policy: tclose.Policy) -> None:
    result = tclose.check(TABLE_5, policy)
    assert result.satisfied
    assert result.sensitive["salary"].closeness == Fraction(1, 6)
    assert result.sensitive["disease"].closeness == Fraction(8, 27)
    first = tclose.explain(TABLE_5, policy, attribute="disease", class_number=1)
    assert first.closeness == Fraction(7, 27)


def test_table_4_is_3_diverse_and_yet_far_from_the_whole(policy: tclose.Policy) -> None:
    result = tclose.check(TABLE_4, policy)
    assert not result.satisfied
    assert result.sensitive["salary"].closeness == Fraction(3, 8)
    assert result.sensitive["disease"].closeness == Fraction(4, 9)
    diverse = {"l": 3, "entropy_l": 3, "distance": "equal"}
    diversity = tclose.Policy(quasi=["zip", "age"], sensitive={"salary": diverse, "disease": diverse}, k=3)
    assert tclose.check(TABLE_4, diversity).satisfied


@pytest.mark.parametrize(("first", "second"), [([1, 99], [11, 89]), ([40, 60], [50, 50])])
def test_two_changes_that_differ_in_kind_are_equally_far(first: list[int], second: list[int]) -> None:
    assert Ordered(2).emd(Counts.from_dense([first]), np.array(second))[0] == Fraction("0.1")
