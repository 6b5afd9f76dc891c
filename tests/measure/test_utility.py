"""What a release costs, by hand from DESIGN section 4, alone and in a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import Policy, anonymize
from tclose.measure.information_loss import (
    MEASURES,
    MeasuredPartition,
    NumberPlaces,
    class_sizes,
    discernibility,
    measures_of,
)


def at(*places: float) -> NumberPlaces:
    return NumberPlaces.of_points(np.array(places))


def partition(**changes: Any) -> MeasuredPartition:
    """Two classes of 3 and 1 rows, one row withheld, two quasi-identifiers."""
    given: dict[str, Any] = {
        "sizes": np.array([3, 1]),
        "losses": [np.array([0.5, 0.0]), np.array([1.0, 0.25])],
        "withheld": 1,
        "k": 2,
        "labels": np.array([0, 0, 0, 1]),
        "numbers": [at(0.0, 0.5, 1.0, 1.0)],
    }
    return MeasuredPartition(**{**given, **changes})


def test_every_measure_declares_itself() -> None:
    assert [measure.name for measure in MEASURES] == ["gcp", "weighted_gcp", "sse", "discernibility", "c_avg"]
    weighted = partition(weights=(3.0, 1.0))
    for measure in MEASURES:
        assert measure.better == "lower"
        assert (measure.compute(partition()) is None) == measure.optional
        assert (measure.name in measures_of(partition())) != measure.optional
        figure = measure.compute(weighted)
        assert figure is not None
        assert measure.low <= figure
        assert measure.high is None or figure <= measure.high


def near(figure: float) -> object:
    """Figures have four digits, so that they cannot be solved for cells."""
    return pytest.approx(figure, abs=5e-5)


def test_gcp() -> None:
    # (3·0.5 + 1·0 + 3·1 + 1·0.25) / 2 quasi-identifiers, plus one withheld row, over 5 rows
    assert measures_of(partition())["gcp"] == near((4.75 / 2 + 1) / 5)
    assert measures_of(partition(withheld=0))["gcp"] == near(4.75 / 2 / 4)
    assert measures_of(partition(losses=[]))["gcp"] == 0


def test_discernibility() -> None:
    assert measures_of(partition())["discernibility"] == 9 + 1 + 1 * 5
    assert discernibility(partition(sizes=np.array([4_000_000_000]), withheld=0)) == 1.6e19  # beyond 64 bits


def test_average_class() -> None:
    assert measures_of(partition())["c_avg"] == 5 / 2 / 2


def test_squared_error() -> None:
    # around the class means: 0.5² + 0 + 0.5² + 0; around the mean 0.625: 0.625² + 0.125² + 2·0.375²
    assert measures_of(partition())["sse"] == near(0.5 / 0.6875)
    one = partition(sizes=np.array([4]), labels=np.zeros(4, dtype=int), losses=[])
    assert measures_of(one)["sse"] == 1
    each = partition(sizes=np.ones(4, dtype=int), labels=np.arange(4), losses=[])
    assert str(measures_of(each)["sse"]) == "0.0"  # not -0.0
    assert measures_of(partition(numbers=[at(0.1, 0.1, 0.1, 0.1)]))["sse"] is None
    assert measures_of(partition(numbers=[]))["sse"] is None


def test_squared_error_weighs_columns_alike() -> None:
    wide = partition(numbers=[at(0, 500, 1000, 1000), at(1, 1, 1, 1)])
    assert measures_of(wide)["sse"] == near(0.5 / 0.6875)


def test_class_sizes() -> None:
    assert class_sizes(partition(sizes=np.array([7, 2, 4, 3]))) == {"smallest": 2, "median": 3.5, "largest": 7}


# In a certificate


def costs(frame: pl.DataFrame, **policy: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict(anonymize(frame, Policy.from_dict(policy)).certificate.content["measures"])
    return found


def test_one_class_of_everything() -> None:
    """t = 0 on two different values: one class, so that each loss is that of the whole table."""
    frame = pl.DataFrame(
        {
            "age": ["20", "70"],
            "born": ["2000-01-01", "1950-01-01"],
            "sex": ["f", "m"],
            "zip": ["x1", "x2"],
            "same": ["7", "7"],
            "pay": [1, 2],
        }
    )
    rows = [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"], ["y2", "y", "*"]]
    quasi = {"age": {}, "born": {}, "sex": {}, "zip": {"hierarchy": {"rows": rows}}, "same": {}}
    assert costs(frame, quasi=quasi, sensitive={"pay": {"t": 0}}, k=2) == {
        "gcp": near((1 + 1 + 1 + 2 / 4 + 0) / 5),
        "sse": 1.0,
        "discernibility": 4,
        "c_avg": 1,
        "class_sizes": {"smallest": 2, "median": 2, "largest": 2},
    }


def test_a_class_for_each_row() -> None:
    frame = pl.DataFrame({"age": [20, 70, 30], "pay": [1, 2, 3]})
    found = costs(frame, quasi=["age"], sensitive={"pay": {"t": 1}})
    assert found["gcp"] == 0
    assert found["sse"] == 0
    assert (found["discernibility"], found["c_avg"]) == (3, 1)


def test_withheld_rows_are_a_total_loss_and_tell_nothing() -> None:
    """The row of ward b is withheld: it counts 1, and its age does not show in the range."""
    frame = pl.DataFrame({"age": [20, 30, 70], "ward": ["a", "a", "b"], "pay": [1, 2, 3]})
    found = costs(frame, quasi=["age"], keep=["ward"], sensitive={"pay": {"t": 0}}, k=2, suppress=0.4)
    assert found["gcp"] == near((2 * (10 / 10) + 1) / 3)
    assert (found["discernibility"], found["c_avg"]) == (4 + 1 * 3, 3 / 1 / 2)


def test_classes_that_look_alike_are_measured_as_one() -> None:
    """Each row is a class of its own, but a step of 50 publishes the same range for all."""
    frame = pl.DataFrame({"age": [10, 20, 30, 40], "pay": [1, 2, 3, 4]})
    found = costs(frame, quasi={"age": {"step": 50}}, sensitive={"pay": {"t": 1}})
    assert found == {
        "gcp": 1,
        "sse": None,  # as published, all rows are alike
        "discernibility": 16,
        "c_avg": 4,
        "class_sizes": {"smallest": 4, "median": 4, "largest": 4},
    }


def test_means_cost_the_range_of_their_members() -> None:
    frame = pl.DataFrame({"age": [20, 30, 70, 80], "pay": [1, 2, 1, 2]})
    found = costs(frame, quasi={"age": {"publish": "mean"}}, sensitive={"pay": {"t": 0}}, k=2)
    assert found["gcp"] == near(10 / 60)


def test_kept_columns_cost_nothing() -> None:
    frame = pl.DataFrame({"ward": ["a", "a", "b", "b"], "pay": [1, 2, 1, 2]})
    found = costs(frame, keep=["ward"], sensitive={"pay": {"t": 0}}, k=2)
    assert (found["gcp"], found["sse"], found["discernibility"]) == (0, None, 8)


def test_figures_tell_nothing_of_coded_tails_and_withheld_rows() -> None:
    def figures(last: int, pay: int | None) -> dict[str, object]:
        frame = pl.DataFrame({"income": [10, 20, 30, 40, 50, 60, 70, last], "pay": [1, 2, 1, 2, 1, 2, 1, pay]})
        asked = {"pay": {"t": 1, "missing": "suppress"}}
        quasi = {"income": {"top": 100} if pay else {}}
        return costs(frame, quasi=quasi, sensitive=asked, k=2, suppress=0.2)

    assert figures(200, 2) == figures(7654321, 2)
    assert figures(200, None) == figures(7654321, None)
