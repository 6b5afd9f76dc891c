"""The page of compared methods."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose import Comparison, LowerBound, Policy, PolicyError
from tclose.comparison.comparison import Tradeoff, tradeoff
from tclose.comparison.trial import FIGURES, Trial
from tclose.report.comparison_pages import Curve, comparison_page

Text = Callable[[str], str]


def trial(method: str, gcp: float, **more: Any) -> Trial:
    figures: dict[str, Any] = {
        "outcome": "released",
        "measures": {"gcp": gcp, "sse": 0.125, "discernibility": 1234.0},
        "loss": gcp,
        "classes": 12,
        "smallest_class": 4,
        "average_class": 5.5,
        "withheld": 0,
        "query_error": 0.25,
        "seconds": 0.5,
        "closeness": {"<pay>": 0.19},
    }
    return Trial(name=method, method=method, choice="", **{**figures, **more})


@pytest.fixture
def policy() -> Policy:
    return Policy(quasi=["age"], sensitive={"<pay>": {"t": 0.2}})


def page(policy: Policy, *trials: Trial, curve: Curve | None = None) -> str:
    return comparison_page(Comparison(trials, policy, "polars"), curve or Curve("t", []))


def test_the_method_that_loses_least_comes_first(policy: Policy, text_of: Text) -> None:
    trials = [trial("mondrian", 0.5), trial("weave", 0.3), trial("sabre", 0, outcome="unsuited", reason="no <b>")]
    curve = Curve("t", [("weave", 0.1, 0.6), ("mondrian", 0.2, 0.5), ("weave", 0.2, 0.3)])
    html = page(policy, *trials, curve=curve)
    text = text_of(html)
    assert "weave keeps the most detail of this table." in text
    assert "2 of 3 methods gave a release that meets the policy." in text
    assert "weave | 0.6000 | 0.3000" in text
    assert "mondrian | – | 0.5000" in text
    assert "sabre | unsuited | no <b>" in text
    assert "<b>" not in html.partition("<script>(function () {")[0]
    assert "<pay> ≤ 0.2" in text
    assert "Note:" not in text


def test_weave_says_which_classes_it_kept(policy: Policy, text_of: Text) -> None:
    sentence = "weave compared its own classes with those of other methods and kept those of equal rows."
    assert sentence in text_of(page(policy, trial("weave", 0.3, start="equality classes"), trial("mondrian", 0.5)))
    assert "kept those of" not in text_of(page(policy, trial("weave", 0.3), trial("mondrian", 0.5)))


def found(stated: str) -> LowerBound:
    return LowerBound(Fraction(stated), "balls around each row", 1.0, b"{}")


def test_the_bound_is_a_curve_a_line_and_a_sentence(policy: Policy, text_of: Text) -> None:
    curve = Curve("t", [("weave", 0.1, 0.6), ("weave", 0.2, 0.3)], [(0.1, 0.4), (0.2, 0.15)])
    comparison = Comparison((trial("weave", 0.3),), policy, "polars", found("0.15"))
    html = comparison_page(comparison, curve)
    text = text_of(html)
    assert "50.0 % of this loss is unavoidable: every release of this table under this policy" in text
    assert "lower bound | 0.4000 | 0.1500" in text
    assert "The dashed line is the lower bound" in text
    assert "can reach beyond the dashed line" in text
    dashed = re.compile(r'"strokeDash": ?\{"value": ?\[5, ?4\]\}')
    assert len(dashed.findall(html)) == 2
    without = comparison_page(Comparison((trial("weave", 0.3),), policy, "polars"), Curve("t", curve.points))
    assert "bound" not in text_of(without).lower()
    assert not dashed.search(without)


def test_a_bound_for_some_t_holds_for_every_smaller_t(policy: Policy) -> None:
    stated = {Fraction(1, 2): "0.1", Fraction(1): "0.3", Fraction(2): "0.2"}
    levels = {
        level: Comparison((trial("weave", 0.5),), policy, "polars", found(each)) for level, each in stated.items()
    }
    whole = Tradeoff(levels.pop(Fraction(1)), levels)
    assert whole.curve().bounds == [(0.1, 0.3), (0.2, 0.3), (0.4, 0.2)]
    assert whole.curve().least_losses() == [0.3, 0.3, 0.2]


def test_the_page_says_what_it_is_about(policy: Policy, text_of: Text) -> None:
    comparison = Comparison((trial("weave", 0.3),), policy, "polars")
    named, unnamed = (text_of(comparison_page(comparison, Curve("t", []), table)) for table in ("<t>.csv", None))
    assert "Made from <t>.csv, on 2026-01-01 00:00 UTC, by tclose " in named
    assert "\nOn 2026-01-01 00:00 UTC, by tclose " in unnamed


def test_with_n_no_limit_is_stated_for_every_class(text_of: Text) -> None:
    policy = Policy(quasi=["age"], sensitive={"<pay>": {"t": 0.1, "n": 20}})
    text = text_of(page(policy, trial("weave", 0.3)))
    assert "≤" not in text
    assert "The policy requires (n,t)-closeness of <pay> (n = 20, t = 0.1): t applies to classes of fewer than" in text
    assert "A class of n rows or more may be at any distance." in text


def test_every_figure_has_its_heading_and_its_meaning(policy: Policy, text_of: Text) -> None:
    measures = {"gcp": 0.3, "weighted_gcp": 0.4, "sse": 0.125, "discernibility": 1234.0}
    text = text_of(page(policy, trial("weave", 0.3, withheld=7, measures=measures)))
    assert " | ".join(figure.title for figure in FIGURES) in text
    assert "weave | 12 | 5.5 | 4 | 7 | 0.3000 | 0.4000 | 0.1250 | 1.23e+03 | 0.2500 | 0.5 | –" in text
    for figure in FIGURES:
        assert figure.meaning in text
    without = text_of(page(policy, trial("weave", 0.3)))
    assert "rows withheld" not in without
    assert "detail lost, weighted" not in without


def test_several_tables_are_never_the_best(policy: Policy, text_of: Text) -> None:
    text = text_of(page(policy, trial("anatomy", 0), trial("weave", 0.3)))
    assert "weave keeps the most detail of the methods that publish one table." in text
    assert "Note: anatomy: a release of several tables" in text
    assert "anatomy (does not hide who is in the table) | 12 |" in text
    assert "anatomy (does not hide who is in the table) | 0.1900" in text
    assert "anatomy | 100" not in text  # it is not in the chart of shares
    assert "What protection costs" not in text


def test_anatomy_alone_is_marked_and_has_no_chart(policy: Policy, text_of: Text) -> None:
    text = text_of(page(policy, trial("anatomy", 0)))
    assert "anatomy (does not hide who is in the table) keeps the most detail" in text
    assert "each method keeps" not in text


def test_where_no_method_serves(policy: Policy, text_of: Text) -> None:
    text = text_of(page(policy, trial("weave", 0, outcome="infeasible", reason="nothing")))
    assert "No method can publish this table under its policy." in text


def test_the_curve_is_what_compare_finds(make_table: Any, tmp_path: Path, text_of: Text) -> None:
    policy = Policy(identifiers=["name"], quasi=["age", "zip", "sex"], sensitive={
        "pay": {"t": 0.2}, "disease": {"t": 0.2, "distance": "equal"}
    })  # fmt: skip
    levels = [Fraction(1), Fraction(5), Fraction(9)]
    result: Tradeoff = tradeoff(make_table(), policy, methods=["mondrian:strict"], levels=levels)
    assert list(result.levels) == levels
    assert result.others[Fraction(9)].policy.sensitive["pay"].t == 1
    curve = result.curve()
    assert curve.levels == pytest.approx([0.2, 1.0, 1.8])
    assert curve.losses("mondrian:strict") == [comparison.trials[0].gcp for comparison in result.levels.values()]
    assert result.to_dict()["tradeoff"][1]["times"] == "5"
    result.report(tmp_path / "c.html")
    text = text_of((tmp_path / "c.html").read_text(encoding="utf-8"))
    assert f"mondrian:strict loses {result.comparison.trials[0].gcp:.4g} of the detail" in text


def test_a_level_is_above_0(make_table: Any, policy: Policy) -> None:
    with pytest.raises(PolicyError, match="above 0"):
        tradeoff(make_table(), policy, levels=[Fraction(0)])
