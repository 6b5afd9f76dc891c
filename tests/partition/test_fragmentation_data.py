"""What the method must reach on real tables, from the bound alone."""

from fractions import Fraction

import numpy as np
import polars
import pytest

from tclose.distance import Counts, Ordered
from tclose.partition.fragmentation import partition
from tclose.partition.problem import Attribute, Problem


@pytest.fixture
def load(request):
    folder = request.config.rootpath.parent / "shared" / "data"

    def load(name, quasi, thresholds, k):
        if not (folder / name).exists():
            pytest.skip(f"{folder / name} is not there")
        frame = polars.read_csv(folder / name, infer_schema_length=None)
        points = np.stack([scaled(frame[column]) for column in quasi], axis=1)
        return Problem(points, tuple(sensitive(frame[column], t) for column, t in thresholds.items()), k)

    return load


def scaled(column):
    numbers = np.unique(column.fill_null(strategy="min").to_numpy(), return_inverse=True)[1].astype(float)
    if column.dtype.is_numeric():
        numbers = column.fill_null(strategy="min").to_numpy().astype(float)
    return (numbers - numbers.min()) / (numbers.max() - numbers.min())


def sensitive(column, t):
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    return Attribute(codes.astype(np.int64), np.bincount(codes).astype(np.int64), Ordered(len(values)), Fraction(t))


def gcp(points, labels):
    spans = [np.ptp(points[labels == label], axis=0) * (labels == label).sum() for label in range(labels.max() + 1)]
    return np.sum(spans) / points.size


def census(load, thresholds):
    return load("census_casc.csv", ["TAXINC", "POTHVAL"], thresholds, 2)


def assert_holds(problem, labels):
    assert np.bincount(labels).min() >= problem.k
    for one in problem.sensitive:
        counts = Counts.from_codes(labels, one.codes, len(one.reference))
        assert one.distance.emd(counts, one.reference).at_most(one.t).all()


@pytest.mark.parametrize("t", ["0.1", "0.25"])
def test_census_as_printed_is_one_class(load, t):
    assert not partition(census(load, {"FEDTAX": t, "FICA": t}), bound="published", sizing="gcd").any()


@pytest.mark.parametrize(("t", "classes"), [("0.1", 25), ("0.25", 100)])
@pytest.mark.parametrize("strategy", ["psi", "sum", "squares"])
def test_census_two_attributes(load, t, classes, strategy):
    problem = census(load, {"FEDTAX": t, "FICA": t})
    labels = partition(problem, strategy=strategy)
    assert_holds(problem, labels)
    assert labels.max() + 1 >= classes


@pytest.mark.parametrize(("t", "classes", "loss"), [("0.05", 35, 0.55), ("0.1", 75, 0.48), ("0.25", 250, 0.36)])
def test_census_one_attribute(load, t, classes, loss):
    problem = census(load, {"FEDTAX": t})
    labels = partition(problem)
    assert_holds(problem, labels)
    assert labels.max() + 1 >= classes
    assert gcp(problem.points, labels) <= loss


def test_nhanes_four_attributes(load):
    thresholds = {"Pulse": "0.1", "BPSysAve": "0.1", "DirectChol": "0.15", "TotChol": "0.15"}
    problem = load("nhanes_labs.csv", ["Age", "Gender", "Race1", "HHIncomeMid", "HomeRooms"], thresholds, 3)
    labels = partition(problem)
    assert_holds(problem, labels)
    assert labels.max() + 1 > 50
