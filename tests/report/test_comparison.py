"""The page of compared methods."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose import Policy, PolicyError
from tclose.compare.tradeoff import Tradeoff, tradeoff
from tclose.report.comparison import Curve, comparison_page

Text = Callable[[str], str]
NAMES = {"name": "x", "choice": "", "reason": "", "withheld": 0, "query_error": 0.25}


def trial(method: str, gcp: float, **more: Any) -> dict[str, Any]:
    figures = {"outcome": "released", "gcp": gcp, "classes": 12, "smallest_class": 4, "seconds": 0.5}
    return {**NAMES, "name": method, "method": method, **figures, "closeness": {"<pay>": 0.19}, **more}


@pytest.fixture
def policy() -> Policy:
    return Policy(quasi=["age"], sensitive={"<pay>": {"t": 0.2}})


def test_the_method_that_loses_least_comes_first(policy: Policy, text_of: Text) -> None:
    trials = [trial("mondrian", 0.5), trial("weave", 0.3), trial("sabre", 0, outcome="unsuited", reason="no <b>")]
    curve = Curve("t", [("weave", 0.1, 0.6), ("mondrian", 0.2, 0.5), ("weave", 0.2, 0.3)])
    page = comparison_page({"methods": trials}, policy, curve)
    text = text_of(page)
    assert "Of the methods that can publish this table, weave keeps most detail." in text
    assert "2 of 3 methods gave a release that holds everything that is asked for." in text
    assert "weave | 0.6000 | 0.3000" in text
    assert "mondrian | – | 0.5000" in text
    assert "sabre | unsuited | no <b>" in text
    assert "<b>" not in page.partition("<script>(function () {")[0]
    assert "<pay> ≤ 0.2" in text
    assert re.findall("Mind", text) == []


def test_several_tables_are_never_the_best(policy: Policy, text_of: Text) -> None:
    text = text_of(comparison_page({"methods": [trial("anatomy", 0), trial("weave", 0.3)]}, policy, Curve("t", [])))
    assert "weave keeps most detail" in text
    assert "Mind: anatomy: a release of several tables" in text
    assert "What protection costs" not in text


def test_where_no_method_serves(policy: Policy, text_of: Text) -> None:
    trials = [trial("weave", 0, outcome="infeasible", reason="nothing")]
    text = text_of(comparison_page({"methods": trials}, policy, Curve("t", [])))
    assert "No method can publish this table as its policy asks." in text


def test_the_curve_is_what_compare_finds(make_table: Any, tmp_path: Path, text_of: Text) -> None:
    policy = Policy(identifiers=["name"], quasi=["age", "zip", "sex"], sensitive={
        "pay": {"t": 0.2}, "disease": {"t": 0.2, "distance": "equal"}
    })  # fmt: skip
    levels = [Fraction(1), Fraction(5), Fraction(9)]
    found: Tradeoff = tradeoff(make_table(), policy, methods=["mondrian:strict"], levels=levels)
    assert list(found.levels) == levels
    assert found.others[Fraction(9)].policy.sensitive["pay"].t == 1
    curve = found.curve()
    assert curve.levels == pytest.approx([0.2, 1.0, 1.8])
    assert curve.losses("mondrian:strict") == [one.trials[0].gcp for one in found.levels.values()]
    assert found.to_dict()["tradeoff"][1]["times"] == "5"
    found.report(tmp_path / "c.html")
    text = text_of((tmp_path / "c.html").read_text(encoding="utf-8"))
    assert f"mondrian:strict loses {found.comparison.trials[0].gcp:.4g} of the detail" in text


def test_a_level_is_above_0(make_table: Any, policy: Policy) -> None:
    with pytest.raises(PolicyError, match="above 0"):
        tradeoff(make_table(), policy, levels=[Fraction(0)])
