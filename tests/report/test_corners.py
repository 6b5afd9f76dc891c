"""Pages of unusual releases: several tables, one row, nothing sensitive, every distance and model."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Policy, anonymize
from tclose.report.figures import distance_spans, size_spans

CORNERS: dict[str, dict[str, Any]] = {
    "nothing sensitive": {"quasi": ["age", "sex"], "k": 3, "others": "drop"},
    "only kept columns": {"keep": ["sex"], "sensitive": {"disease": {"t": 1, "distance": "equal"}}, "others": "drop"},
    "no t": {"quasi": ["age"], "sensitive": {"disease": {"l": 2, "alpha": 0.9}}, "others": "drop"},
    "t of 0": {"quasi": ["age"], "sensitive": {"disease": {"t": 0, "distance": "equal"}}, "others": "drop"},
    "by value": {"quasi": ["sex"], "sensitive": {"pay": {"t": 0.5, "distance": "value"}}, "others": "drop"},
    "n and t": {"quasi": ["sex"], "sensitive": {"pay": {"t": 0.5, "n": 50}}, "others": "drop"},
    "values in bins": {
        "quasi": {"age": {"step": 10, "top": 80}, "zip": {}},
        "sensitive": {"pay": {"t": 0.3, "bins": {"count": 30}}},
        "others": "drop",
    },
    "bins published, means": {
        "quasi": {"age": {"publish": "mean"}},
        "sensitive": {"pay": {"t": 0.3, "bins": {"width": 500}, "publish": "bin"}},
        "others": "drop",
    },
    "persons": {"person": "name", "identifiers": ["name"], "quasi": ["age"], "sensitive": {"pay": {"t": 0.4}},
                "others": "drop"},
    "many values": {"quasi": ["sex"], "sensitive": {"zip": {"t": 0.9, "distance": "equal"}}, "others": "drop"},
}  # fmt: skip
Text = Callable[[str], str]


@pytest.mark.parametrize("corner", CORNERS)
def test_a_page_of(corner: str, make_table: Any, tmp_path: Path, text_of: Text) -> None:
    page = written(make_table(), Policy(**CORNERS[corner]), tmp_path, "mondrian")
    assert "This release meets every requirement of its policy." in text_of(page)
    assert not re.search(r"\bnan\b|None", text_of(page))


@pytest.mark.parametrize("method", ["anatomy", "projections"])
def test_a_page_of_several_tables(method: str, make_table: Any, tmp_path: Path, text_of: Text) -> None:
    sensitive = {"pay": {"t": 0.3}, "disease": {"t": 0.4, "distance": "equal"}}
    policy = Policy(identifiers=["name"], quasi=["age", "zip", "sex"], sensitive=sensitive, k=2)
    text = text_of(written(make_table(), policy, tmp_path, method))
    assert "Note: " in text
    assert text.count("The worst class is class") == 2
    assert text.count("SHA-256 of release") == 2


def test_a_page_of_one_row(tmp_path: Path, text_of: Text) -> None:
    frame = pl.DataFrame({"age": [3], "ill": ["a"]})
    text = text_of(written(frame, Policy(quasi=["age"], sensitive={"ill": {"t": 0.1}}), tmp_path, "mondrian"))
    assert "1 row published in 1 class." in text


def written(frame: pl.DataFrame, policy: Policy, folder: Path, method: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = anonymize(frame, policy, method=method, seed=1)
        release.report(folder / "r.html", original=frame)
    return (folder / "r.html").read_text(encoding="utf-8")


def test_what_lies_on_the_line_is_not_beyond_it() -> None:
    spans = distance_spans(np.array([0.0, 0.1, 0.25, 0.25]), 0.25)
    assert spans[-1].high == 0.25
    assert spans[-1].count == 2
    assert sum(span.count for span in spans) == 4
    sizes = size_spans(np.array([5, 5, 9, 300]), 5)
    assert sizes[0].low == 5
    assert sum(span.count for span in sizes) == 4


def test_a_page_says_which_columns_have_no_chart(make_table: Any, tmp_path: Path, text_of: Text) -> None:
    text = text_of(written(make_table(), Policy(**CORNERS["bins published, means"]), tmp_path, "mondrian"))
    assert "Without a chart, before and after: age." in text
