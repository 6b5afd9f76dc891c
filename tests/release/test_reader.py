"""What a reader judges by: everything that the release itself does not show, and nothing of what was withheld."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import Policy
from tclose.privacy.reader import reader_policy
from tclose.table import encode


def reader(cells: Sequence[object], *, knows_persons: bool = False, spec: dict[str, Any], **policy: Any) -> Policy:
    """Return the reader's policy for a table of one sensitive column, x; it must survive being written as JSON."""
    frame = pl.DataFrame({"who": "p", "age": 1, "x": cells}, strict=False)
    asked = Policy.from_dict({"quasi": ["age"], "others": "drop", "sensitive": {"x": {"t": 0.5, **spec}}, **policy})
    found = reader_policy(asked, encode(frame, asked).sensitive, knows_persons=knows_persons)
    assert Policy.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    return found


def written(cells: Sequence[object], **spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = reader(cells, spec=spec).to_dict()["sensitive"]["x"]
    assert found.pop("t") == 0.5
    return found


def test_distances_are_said_and_learned_domains_are_not() -> None:
    assert written([1, 2]) == {"distance": "ordered"}
    assert written([1, 2], distance="value") == {"distance": "value"}
    assert written(["a", "b"]) == {"distance": "equal"}


def test_bins_are_edges() -> None:
    assert written([1, 2, 4], bins={"width": 2}) == {"distance": "ordered", "bins": {"edges": [0, 2, 4]}}
    assert written([1, 2, 4], bins={"edges": [0, 9]}) == {"distance": "ordered", "bins": {"edges": [0, 9]}}
    assert written([0, 1, 4], bins={"count": 2}) == {"distance": "ordered", "bins": {"edges": [-1, 2, 4]}}
    assert written([0, 1, 1], bins={"count": 3})["bins"] == {"edges": [-1, "1/3", "2/3", 1]}
    assert written([0, 1, 4], bins={"quantiles": 2})["bins"] == {"edges": [-1, 1, 4]}


def test_published_bins_are_names() -> None:
    assert written([0, 1, 4], bins={"width": 2}, publish="bin") == {
        "distance": "ordered",
        "order": ["(-2, 0]", "(0, 2]", "(2, 4]"],
    }
    assert written([0, 4], bins={"count": 2}, publish="bin", distance="equal") == {
        "distance": "equal",
        "domain": ["[0, 2]", "(2, 4]"],
    }


def test_published_bins_beside_missing_values() -> None:
    spec = {"bins": {"width": 2}, "publish": "bin", "distance": "equal", "missing": "value"}
    assert written(["1", "", "3"], **spec) == {"distance": "equal", "domain": ["(0, 2]", "(2, 4]"], "missing": "value"}


def test_hierarchies_are_rows(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("flu;lung;*\ncut;*\n")
    rows = [["flu", "lung", "*"], ["cut", "cut", "*"]]
    for spec in ({"hierarchy": tmp_path / "h.csv"}, {"hierarchy": {"rows": rows}}):
        assert written(["flu"], **spec) == {"distance": "hierarchical", "hierarchy": {"rows": rows}}
    found = written(["flu", ""], hierarchy=tmp_path / "h.csv", missing="value")
    assert found == {"distance": "hierarchical", "hierarchy": {"rows": rows}, "missing": "value"}
    assert written(["a1", "a2"], hierarchy={"prefix": [1]})["hierarchy"] == {
        "rows": [["a1", "a*", "*"], ["a2", "a*", "*"]]
    }


def test_matrices_are_costs(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",a,b\na,0,0.5\nb,0.5,0\n")
    costs = {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}
    for spec in ({"matrix": tmp_path / "m.csv"}, {"matrix": {"values": ["a", "b"], "costs": [[0, 7], [7, 0]]}}):
        assert written(["a", "b"], **spec) == {"distance": "matrix", "matrix": costs}


def test_declared_values_are_written_as_text() -> None:
    assert written(["lo", "hi"], order=["lo", "mid", "hi"])["order"] == ["lo", "mid", "hi"]
    assert written([1, 3], domain=[3, 2, 1])["domain"] == ["1", "2", "3"]
    assert written(["1.10", "low"], domain=["low", "1.10"], distance="equal")["domain"] == ["low", "1.10"]
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    assert written(days, domain=days)["domain"] == ["2024-01-01", "2024-01-02"]
    assert written([True, False], order=[True, False])["order"] == ["true", "false"]
    assert written(["a", ""], domain=["a", "b"], missing="value")["domain"] == ["a", "b"]


def test_rows_that_were_withheld_leave_no_setting() -> None:
    assert written(["1", ""], missing="suppress") == {"distance": "ordered"}


def test_roles_and_levels() -> None:
    asked = {"keep": [], "k": 3, "suppress": "1/3", "missing": ["", "NA"]}
    found = reader(["a", "b"], spec={"l": 2, "recursive": {"c": "1/3", "l": 2}}, **asked).to_dict()
    assert found == {
        "quasi": {"age": {}},
        "sensitive": {"x": {"t": 0.5, "l": 2, "recursive": {"c": "1/3", "l": 2}, "distance": "equal"}},
        "k": 3,
        "suppress": "1/3",
        "missing": ["", "NA"],
    }


@pytest.mark.parametrize("settings", [{"step": 5}, {"top": 3}, {"hierarchy": {"width": [5]}}, {"publish": "mean"}])
def test_published_quasi_identifiers_are_text(settings: dict[str, Any]) -> None:
    assert reader([1], spec={}, quasi={"age": settings}).to_dict()["quasi"] == {"age": {}}


def test_a_reader_cannot_count_persons() -> None:
    spec = {"l": 2, "entropy_l": 2, "recursive": {"c": 3, "l": 2}}
    theirs = reader(["a", "b"], spec=spec, person="who").sensitive["x"]
    ours = reader(["a", "b"], spec=spec, person="who", knows_persons=True).sensitive["x"]
    assert (theirs.l, theirs.entropy_l, theirs.recursive) == (2, None, None)
    assert (ours.l, ours.entropy_l) == (2, 2)


def test_a_reader_who_can_check_nothing_is_told_so() -> None:
    frame = pl.DataFrame({"who": "p", "age": 1, "x": ["a", "b"]})
    asked = Policy.from_dict({"quasi": ["age"], "person": "who", "sensitive": {"x": {"entropy_l": 1}}})
    found = reader_policy(asked, encode(frame, asked).sensitive)
    assert found.to_dict()["sensitive"] == {"x": {"t": 1, "distance": "equal"}}
