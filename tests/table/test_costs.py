"""Costs between values: a metric, or a refusal that says why not."""

from pathlib import Path

import pytest

from tclose import InputError
from tclose.table.sensitive import Costs


def loaded(folder: Path, text: str) -> Costs:
    path = folder / "costs.csv"
    path.write_text(text)
    return Costs.load(path)


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_rows_may_stand_in_any_order(tmp_path: Path, separator: str) -> None:
    costs = loaded(tmp_path, ";b;a;c\na;1.5;0;2\nc;2;2;0\nb;0;1.5;2\n".replace(";", separator))
    assert costs.values == ("b", "a", "c")
    assert costs.matrix.tolist() == [[0, 3, 4], [3, 0, 4], [4, 4, 0]]


def test_fractions_are_exact(tmp_path: Path) -> None:
    assert loaded(tmp_path, "x;a;b;c\na;0;1/3;0.5\nb;1/3;0;0.5\nc;0.5;0.5;0").matrix.tolist() == [
        [0, 2, 3],
        [2, 0, 3],
        [3, 3, 0],
    ]


def test_one_value(tmp_path: Path) -> None:
    assert loaded(tmp_path, ";a\na;0\n").matrix.tolist() == [[0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "the first row must name the values, after an empty cell"),
        (";a;b\na;0;1\n", "the first row and the first column must name the same values, each once"),
        (";a;b\na;0;1\nc;1;0\n", "the first row and the first column must name the same values, each once"),
        (";a;a\na;0;1\na;1;0\n", "the first row and the first column must name the same values, each once"),
        (";a;b\na;0;1\nb;1\n", "every row needs a name and 2 numbers"),
        (";a;b\na;0;1;2\nb;1;0\n", "every row needs a name and 2 numbers"),
        (";a;b\na;0;far\nb;far;0\n", "every cost must be a number"),
        (";a;b\na;0;nan\nb;nan;0\n", "every cost must be a number"),
        (";a;b\na;0;1\nb;2;0\n", "the cost from a to b must be the cost from b to a"),
        (";a;b\na;1;1\nb;1;0\n", "a value is at cost 0 from itself and above 0 from any other"),
        (";a;b\na;0;0\nb;0;0\n", "a value is at cost 0 from itself and above 0 from any other"),
        (";a;b\na;0;-1\nb;-1;0\n", "a value is at cost 0 from itself and above 0 from any other"),
        (
            ";a;b;c\na;0;1;9\nb;1;0;1\nc;9;1;0\n",
            "a detour is shorter than the direct way, so it is no metric",
        ),
        (";a;b;c\na;0;1e30;1\nb;1e30;0;1e30\nc;1;1e30;0\n", "the costs have too many digits"),
    ],
)
def test_what_is_no_metric_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value) == f"the costs costs.csv: {says}"


def test_no_file_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no matrix file"):
        Costs.load(tmp_path / "nope.csv")
    with pytest.raises(InputError, match=r"the matrix file .* is empty"):
        loaded(tmp_path, "")
