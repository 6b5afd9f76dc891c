"""The printed figures of Bagai, Weber and Gowda (2023) and of Weber's thesis."""

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts, Ordered
from tclose.partition import METHODS
from tclose.partition.fragmentation import partition, plan
from tclose.partition.fragmentation.classes import euclidean, grown_cells
from tclose.partition.fragmentation.printed import (
    STRATEGIES,
    Box,
    BoxCut,
    BoxSearch,
    aggregate,
    common_divisor,
    find_fragmentation,
)
from tclose.partition.fragmentation.spread import spread_attributes
from tclose.partition.problem import Attribute, Problem

TABLE = np.array([[15, 75, 0], [15, 0, 15], [30, 30, 45], [15, 30, 30]])  # 001, figure 1
VARIANTS = METHODS["fragmentation"].variants
CLASS = np.array([[3, 3, 0], [1, 0, 4], [0, 4, 0], [1, 1, 3]])


def problem_of(matrix, *thresholds, k=1, points=None):
    """Return the problem whose multiplicity matrix this is; the paper prints no quasi-identifiers."""
    cells = np.repeat(np.argwhere(matrix >= 0), matrix.ravel(), axis=0)
    axes = [tuple(b for b in range(matrix.ndim) if b != a) for a in range(matrix.ndim)]
    sensitive = tuple(
        Attribute(cells[:, a], matrix.sum(axis=axes[a]), Ordered(matrix.shape[a]), Fraction(t))
        for a, t in enumerate(thresholds)
    )
    points = np.linspace(0, 1, len(cells))[:, None] if points is None else points
    return Problem(points, sensitive, k)


def gcp(problem, labels):
    """Return the share of detail lost: the mean width of the classes' ranges."""
    widths = [np.ptp(problem.points[labels == label], axis=0) for label in range(labels.max() + 1)]
    return float((np.bincount(labels) @ np.array(widths)).sum() / problem.points.size)


def search_of(matrix, bound="published"):
    return BoxSearch(spread_attributes(problem_of(matrix, *[1] * matrix.ndim), bound))


def corner(search: BoxSearch, *extents: tuple[int, int]) -> Box:
    """Return the box with these first and last places."""
    box = search.top()
    for a, (low, high) in enumerate(extents):
        box = search.split(box, BoxCut(a, high))[0]
        box = search.split(box, BoxCut(a, low - 1))[1]
    return box


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ([2, 1, 7], [3, 0, 7], "0.05"),
        ([3, 0, 7], [1, 0, 9], "0.2"),
        ([2, 1, 7], [1, 0, 9], "0.15"),
        ([3, 1, 6], [4, 0, 6], "0.05"),
        ([3, 1, 6], [1, 7, 2], "0.3"),
        ([4, 0, 6], [1, 7, 2], "0.35"),
    ],
)
def test_earth_movers_distances(one, other, distance):
    assert Ordered(3).emd(Counts.from_dense(one), np.array(other))[0] == Fraction(distance)


def test_figure_1_sums_and_distances():
    assert TABLE.sum() == 300
    assert (TABLE.sum(axis=1) / 300).tolist() == [0.3, 0.1, 0.35, 0.25]
    assert (TABLE.sum(axis=0) / 300).tolist() == [0.25, 0.45, 0.3]
    assert (CLASS.sum(axis=1) / 20).tolist() == [0.3, 0.25, 0.2, 0.25]
    assert (CLASS.sum(axis=0) / 20).tolist() == [0.25, 0.4, 0.35]
    assert Ordered(4).emd(Counts.from_dense(CLASS.sum(axis=1)), TABLE.sum(axis=1))[0] == Fraction("0.05")
    assert Ordered(3).emd(Counts.from_dense(CLASS.sum(axis=0)), TABLE.sum(axis=0))[0] == Fraction("0.025")


@pytest.mark.parametrize(
    ("extents", "in_table", "in_class"),
    [(((0, 2), (0, 1)), "0.55", "0.55"), (((2, 3), (1, 2)), "0.45", "0.4")],
)
def test_figure_6_conformance(extents, in_table, in_class):
    shares = [Fraction(len(corner(search_of(m), *extents).rows), int(m.sum())) for m in (TABLE, CLASS)]
    assert shares == [Fraction(in_table), Fraction(in_class)]


@pytest.mark.parametrize("bound", ["published", "tight"])
def test_figure_7_a_split_may_raise_one_bound(bound):
    search = search_of(np.array([[2, 3], [1, 4]]), bound)
    assert aggregate(search, [search.top()]) == [Fraction("0.5"), Fraction("0.7")]
    halves = list(search.split(search.top(), BoxCut(1, 0)))
    assert aggregate(search, halves) == [Fraction("0.6"), 0]


def test_proposition_21_fails_as_printed_and_holds_when_mended():
    matrix = np.array([[1, 0], [0, 0], [0, 0], [0, 1]])
    bounds = {}
    for bound in ("published", "tight"):
        search = search_of(matrix, bound)
        halves = list(search.split(search.top(), BoxCut(0, 1)))
        bounds[bound] = aggregate(search, [search.top()]), aggregate(search, halves)
    half = Fraction(1, 2)
    assert bounds["published"] == ([half, half], [1, 1])
    assert bounds["tight"] == ([half, half], [0, 0])


def test_figure_8_psi_takes_the_shorter_way():
    search = search_of(np.array([[2, 3], [1, 4]]))
    found = find_fragmentation(search, [Fraction("0.6"), Fraction("0.6")], STRATEGIES["psi"], lambda boxes: False)
    assert found is not None
    assert [box.extents for box in found] == [((0, 1), (0, 0)), ((0, 1), (1, 1))]


def test_figure_18_fifty_classes_of_twenty():
    assert common_divisor([250, 100, 350, 300]) == 50
    problem = problem_of(np.array([[250, 100], [350, 300]]), 0, 0)
    labels = partition(problem, **VARIANTS["printed"])
    assert np.bincount(labels).tolist() == [20] * 50


def test_figure_19_one_row_more_leaves_one_class_unless_relaxed():
    assert common_divisor([250, 100, 350, 301]) == 1
    matrix = np.array([[250, 100], [350, 301]])
    assert not partition(problem_of(matrix, "0.02", "0.02"), **VARIANTS["printed"]).any()
    assert partition(problem_of(matrix, "0.02", "0.02")).max() + 1 == 49


def test_figure_1_gives_fifteen_classes_that_lose_less_when_bisected():
    """Every cell of figure 1 is a multiple of 15, so are all fragments; two quasi-identifiers at random, 20 times."""
    lost = {"printed": [], "printed, bisected": [], "tight": [], "relaxed": []}
    for seed in range(20):
        problem = problem_of(TABLE, "0.3", "0.3", points=np.random.default_rng(seed).random((300, 2)))
        for name in ("printed", "tight", "relaxed"):
            labels = partition(problem, seed=seed, **VARIANTS[name])
            assert name == "relaxed" or np.bincount(labels).tolist() == [20] * 15
            lost[name].append(gcp(problem, labels))
        bisected = partition(problem, seed=seed, **{**VARIANTS["printed"], "classes": "bisected"})
        lost["printed, bisected"].append(gcp(problem, bisected))
    means = {name: round(float(np.mean(found)), 2) for name, found in lost.items()}
    assert means == {"printed": 0.45, "printed, bisected": 0.36, "tight": 0.29, "relaxed": 0.14}


def grown_by_the_book(points, plan, seed):
    """GENERATE-CLASSES, line by line, with sets and loops."""
    random = np.random.default_rng(seed)
    left = sorted(range(len(points)), key=lambda row: (plan.fragments[row], row))
    classes = []
    for _ in range(plan.cells):
        w = left[random.integers(len(left))]
        members = set()
        for fragment, taken in enumerate(plan.layers):
            mine = [row for row in left if plan.fragments[row] == fragment]
            mine.sort(key=lambda row: (row != w, euclidean(points[row : row + 1], points[w])[0], row))
            members |= set(mine[:taken])
        classes.append(members)
        left = [row for row in left if row not in members]
    return classes


@pytest.mark.parametrize("seed", range(5))
def test_generate_classes_is_the_printed_procedure(seed):
    points = np.random.default_rng(seed).integers(0, 6, (300, 2)) / 5  # many rows are equally far
    found = plan(problem_of(TABLE, "0.25", "0.25", points=points), bound="published", sizing="gcd")
    assert found is not None
    cells = grown_cells(points, found, euclidean, seed)
    assert [set(cell) for cell in cells.tolist()] == grown_by_the_book(points, found, seed)
