"""What a bound is computed from: losses rounded down, distances as they are, a size that every class has."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, count

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Counts, Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible, PolicyError
from tclose.measure.bound import Bound, BoundProblem, bound_problem, lower_bound, verify_bound
from tclose.measure.bound.problem import UNIT, AxisLosses, GroundDistance, least_distance
from tclose.partition.problem import Attribute
from tclose.partition.shared.axes import LabelAxis, NumberAxis, range_loss
from tclose.table import encode_quietly

COSTS = np.array([[0, 2, 3, 1, 2], [2, 0, 2, 1, 3], [3, 2, 0, 2, 4], [1, 1, 2, 0, 2], [2, 3, 4, 2, 0]])
DISTANCES: list[Distance] = [
    Ordered(5),
    Value(np.array([0, 1, 4, 6, 20])),
    Equal(),
    Hierarchical((np.arange(5), np.array([0, 0, 1, 1, 2]), np.zeros(5, dtype=np.int64))),
    Matrix(COSTS),
    DomainFacts(5, positions=np.array([0, 1, 4, 6]), missing=True).make("value"),
    DomainFacts(5, missing=True).make("ordered"),
]
LARGE = Value(np.array([0, 1, 2**40, 2**41, 2**50], dtype=object))


def distance_in(ground: GroundDistance, i: int, j: int) -> Fraction:
    """Walk from one value to the other."""
    if ground.costs.size:
        return Fraction(int(ground.costs[i, j]), ground.unit)
    ways = []
    for value in (i, j):
        node, way = int(ground.node_of_value[value]), {int(ground.node_of_value[value]): 0}
        while node:
            way[int(ground.parents[node])] = way[node] + int(ground.lengths[node])
            node = int(ground.parents[node])
        ways.append(way)
    return Fraction(min(ways[0][node] + ways[1][node] for node in ways[0].keys() & ways[1].keys()), ground.unit)


@pytest.mark.parametrize("distance", [*DISTANCES, LARGE], ids=lambda distance: distance.name)
def test_the_tree_of_values_has_their_distances(distance: Distance) -> None:
    """Where 64 bits are too few, distances are rounded down, never up."""
    ground = GroundDistance.of(Attribute(np.arange(5), np.ones(5, dtype=np.int64), distance, Fraction(1, 2)))
    for i in range(5):
        for j in range(5):
            short = distance.between(i, j) - distance_in(ground, i, j)
            assert 0 <= short <= (Fraction(1, 10**8) if distance is LARGE else 0)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda distance: distance.name)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_no_class_of_a_size_is_nearer(distance: Distance, size: int) -> None:
    reference = np.array([3, 1, 4, 1, 5])
    classes = [np.bincount(codes, minlength=5) for codes in combinations_with_replacement(range(5), size)]
    ratios = distance.emd(Counts.from_dense(np.array(classes)), reference)
    nearest = min(ratios[number] for number in range(len(classes)))
    least = least_distance(distance.geometry(5), reference, size)
    assert least <= nearest
    if distance.name in ("ordered", "value", "equal") and "WithMissing" not in type(distance).__name__:
        assert least == nearest


def test_losses_are_rounded_down() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        places = np.sort(random.random(6))
        number = NumberAxis(random.integers(-1, 6, 20), places - 0.01, places + 0.01)
        label = LabelAxis(random.integers(-1, 6, 20), (np.arange(6), np.array([0, 0, 1, 1, 2, 2])))
        low, high = np.sort(random.integers(0, 6, (2, 30)), axis=0)
        numbers, labels = AxisLosses.of(number), AxisLosses.of(label)
        assert (numbers.high[high] - numbers.low[low] <= UNIT * range_loss(number, low, high)).all()
        meets = [
            next(h for h, level in enumerate(labels.levels) if level[a] == level[b])
            for a, b in zip(low, high, strict=True)
        ]
        shares = np.array([labels.shares(h)[labels.levels[h][a]] for h, a in zip(meets, low, strict=True)])
        assert (shares <= UNIT * range_loss(label, low, high) + 1e-6).all()


TABLE = pl.DataFrame(
    {
        "age": [20, 21, 25, 30, 34, 41, 47, 52, 60, 66, 71, 90],
        "town": ["a", "b", "a", "c", "b", "a", "c", "c", "a", "b", "c", "a"],
        "sex": ["f", "m"] * 6,
        "pay": [1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1],
    }
)


def policy(**more: object) -> tclose.Policy:
    given = {"quasi": {"age": {}, "town": {}}, "sensitive": {"pay": {"t": 0.2}}, "k": 2, "others": "drop"}
    return tclose.Policy.from_dict({**given, **more})


def problem_of(asked: tclose.Policy, frame: pl.DataFrame = TABLE) -> BoundProblem:
    return bound_problem(encode_quietly(frame, asked), asked)


POLICIES = [
    policy(),
    policy(quasi={"age": {"step": 10}, "town": {}}),
    policy(quasi={"age": {"top": 60, "bottom": 25}, "town": {}}),
    policy(quasi={"age": {"step": 20, "top": 60}, "town": {"hierarchy": {"prefix": [1]}}}),
    policy(quasi={"age": {"hierarchy": {"width": [10, 50]}}}, keep=["sex"], sensitive={"pay": {"t": 0.4}}),
    policy(sensitive={"pay": {"t": 0.3, "bins": {"width": 2}}}),
    policy(sensitive={"pay": {"t": 0.3, "distance": "equal"}}, quasi={"age": {"hierarchy": {"width": [10, 50]}}}),
]


def searched(problem: BoundProblem) -> Bound:
    """Search for so many looks at the clock, whatever the machine does besides."""
    ticks = count()
    return lower_bound(problem, seconds=100, clock=lambda: float(next(ticks)))


@pytest.mark.parametrize("asked", POLICIES)
@pytest.mark.parametrize("method", ["weave", "mondrian"])
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_no_certificate_tells_a_lower_loss(asked: tclose.Policy, method: str) -> None:
    problem = problem_of(asked)
    bound = searched(problem)
    assert verify_bound(bound.proof, problem).holds
    told = tclose.anonymize(TABLE, asked, method=method, seed=1).certificate.content["measures"]["gcp"]
    assert bound.value <= told + 5e-5  # the certificate has four digits


def test_kept_values_raise_the_bound() -> None:
    """Rows of different kept values never share a class, and the bound knows."""
    free, kept = (searched(problem_of(asked)).value for asked in (policy(), policy(keep=["sex"])))
    assert kept > free > 0


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (policy(suppress=0.1), "holds only for releases of every row: suppress allows rows to be withheld"),
        (
            policy(quasi={"age": {"publish": "mean"}, "town": {}}),
            "cannot be given for class means: 'age' publishes them",
        ),
    ],
)
def test_what_no_bound_covers_is_refused(asked: tclose.Policy, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        problem_of(asked)


def test_rows_without_a_sensitive_value_are_refused() -> None:
    frame = TABLE.with_columns(pl.when(pl.col("age") == 90).then(None).otherwise(pl.col("pay")).alias("pay"))
    asked = policy(sensitive={"pay": {"t": 0.4, "missing": "suppress"}})
    with pytest.raises(PolicyError, match="of every row: rows lack a sensitive value and are withheld"):
        problem_of(asked, frame)
    counted = policy(sensitive={"pay": {"t": 0.4, "missing": "value"}})
    assert searched(problem_of(counted, frame)).value >= 0


def test_what_cannot_be_reached_is_said() -> None:
    with pytest.raises(Infeasible, match="cannot be reached"):
        problem_of(policy(k=20))


def test_attributes_with_n_are_left_out() -> None:
    problem = problem_of(policy(sensitive={"pay": {"t": 0.2, "n": 4}, "sex": {"t": 0.1}}))
    assert problem.attribute_names == ("sex",)


def test_without_quasi_identifiers_nothing_is_lost() -> None:
    bound = searched(problem_of(policy(quasi={}, keep=["sex"], sensitive={"pay": {"t": 0.5}})))
    assert bound.value == 0


def test_k_alone_has_a_bound() -> None:
    """Without any t, balls count the rows that a class needs."""
    problem = problem_of(policy(sensitive={"pay": {"l": 2}}, k=4))
    bound = searched(problem)
    assert bound.value > 0
    assert verify_bound(bound.proof, problem).holds


@pytest.mark.parametrize("distance", ["ordered", "equal", "value"])
def test_a_single_sensitive_value_is_never_far(distance: str) -> None:
    asked = policy(sensitive={"pay": {"t": 0, "distance": distance}}, k=1)
    problem = problem_of(asked, TABLE.with_columns(pl.lit(7).alias("pay")))
    assert searched(problem).value == 0


def test_missing_cells_cost_nothing() -> None:
    frame = TABLE.with_columns(pl.lit(None, dtype=pl.Int64).alias("age"))
    problem = problem_of(policy(quasi={"age": {}}), frame)
    assert searched(problem).value == 0
