"""The printed figures of Bagai, Weber and Gowda (2023) and of Weber's thesis."""

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts, Ordered
from tclose.partition.fragmentation import partition
from tclose.partition.fragmentation.attribute import judged
from tclose.partition.fragmentation.boxes import Box, BoxCut, BoxSearch, aggregate, find_fragmentation
from tclose.partition.fragmentation.printed import common_divisor
from tclose.partition.fragmentation.strategy import STRATEGIES
from tclose.partition.problem import Attribute, Problem

TABLE = np.array([[15, 75, 0], [15, 0, 15], [30, 30, 45], [15, 30, 30]])  # 001, figure 1
CLASS = np.array([[3, 3, 0], [1, 0, 4], [0, 4, 0], [1, 1, 3]])


def problem_of(matrix, *thresholds, k=1):
    """Return the problem whose multiplicity matrix this is."""
    cells = np.repeat(np.argwhere(matrix >= 0), matrix.ravel(), axis=0)
    axes = [tuple(b for b in range(matrix.ndim) if b != a) for a in range(matrix.ndim)]
    sensitive = tuple(
        Attribute(cells[:, a], matrix.sum(axis=axes[a]), Ordered(matrix.shape[a]), Fraction(t))
        for a, t in enumerate(thresholds)
    )
    return Problem(np.linspace(0, 1, len(cells))[:, None], sensitive, k)


def search_of(matrix, bound="published"):
    return BoxSearch(judged(problem_of(matrix, *[1] * matrix.ndim), bound))


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
    labels = partition(problem, bound="published", sizing="gcd")
    assert np.bincount(labels).tolist() == [20] * 50


def test_figure_19_one_row_more_leaves_one_class_unless_relaxed():
    assert common_divisor([250, 100, 350, 301]) == 1
    matrix = np.array([[250, 100], [350, 301]])
    assert not partition(problem_of(matrix, "0.02", "0.02"), bound="published", sizing="gcd").any()
    assert partition(problem_of(matrix, "0.02", "0.02")).max() + 1 == 49
