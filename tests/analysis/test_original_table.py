"""Figures of the original table that `load` once excluded: labels, rules, withheld rows, means, large numbers."""

from __future__ import annotations

import datetime
import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.pairs import in_turns

import tclose
from tclose import InputError, LoadedRelease
from tclose.analysis.estimates import series
from tclose.release.certificate import digest_of

CELLS = ("text", "columns")
LUNG = [["flu", "lung", "*"], ["cold", "lung", "*"], ["cut", "skin", "*"], ["burn", "skin", "*"]]


def released(
    folder: Path, raw: pl.DataFrame, policy: dict[str, Any], cells: Any = "text", **given: Any
) -> LoadedRelease:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    made = tclose.anonymize(raw, {"k": 2, **policy}, method="mondrian", seed=1)
    made.write(folder / "r.csv", certificate=folder / "c.json", release_format=cells, force=True)
    return tclose.load(folder / "r.csv", folder / "c.json", **given)


def lungs() -> pl.DataFrame:
    return pl.DataFrame({"ill": ["flu", "cold", "flu", "cold", "flu", "cold", "cut", "cut"], "pay": [1, 2] * 4})


def policy_of_lungs() -> dict[str, Any]:
    return {"quasi": {"ill": {"hierarchy": {"rows": LUNG}}}, "sensitive": {"pay": {"t": 0.2}}}


def test_labels_in_text_may_stand_for_any_value(tmp_path: Path) -> None:
    found = released(tmp_path, lungs(), policy_of_lungs()).expected_counts({"ill": "flu"})
    assert found.lower <= 3 <= found.upper
    assert found.expected != found.expected  # nobody knows
    assert "hierarchies={'ill': FILE}" in found.needs


@pytest.mark.parametrize("cells", CELLS)
def test_leaves_bound_the_rows_of_a_label(tmp_path: Path, cells: str) -> None:
    """With the hierarchy, or with typed columns, which list the leaves: those that no row has, too."""
    given: dict[str, Any] = {} if cells == "columns" else {"hierarchies": {"ill": {"rows": LUNG}}}
    release = released(tmp_path, lungs(), policy_of_lungs(), cells, **given)
    counts = {ill: release.expected_counts({"ill": ill}) for ill in ("flu", "lung", "cut")}
    assert (counts["flu"].lower, counts["flu"].expected, counts["flu"].upper) == (0, 3, 6)
    assert (counts["lung"].lower, counts["lung"].upper) == (6, 6)
    assert (counts["cut"].lower, counts["cut"].upper) == (2, 2)
    assert not counts["flu"].needs
    with pytest.raises(InputError, match=r"'ill' of the release has no value 'flue' .did you mean 'flu'"):
        release.expected_counts({"ill": "flue"})


@pytest.mark.parametrize("cells", CELLS)
def test_a_rule_is_tested(tmp_path: Path, cells: str) -> None:
    zips = ["01050", "01051", "01050", "01052", "01050", "01050", "02138", "02138"]
    raw = pl.DataFrame({"zip": zips, "pay": [1, 2] * 4})
    policy = {"quasi": {"zip": {"hierarchy": {"prefix": [4]}}}, "sensitive": {"pay": {"t": 0.1}}}
    release = released(tmp_path, raw, policy, cells)
    counts = [release.expected_counts({"zip": each}) for each in ("01050", "0105*", "02138", "03000")]
    assert [(each.lower, each.upper) for each in counts] == [(0, 6), (6, 6), (2, 2), (0, 0)]
    assert "by rule" in counts[0].needs


@pytest.mark.parametrize("cells", CELLS)
def test_intervals_and_dates_by_rule_are_numbers(tmp_path: Path, cells: str) -> None:
    days = ["2024-01-05", "2024-01-28", "2024-05-01", "2024-05-31"]
    raw = pl.DataFrame({"age": [21, 28, 43, 41], "day": days, "pay": [1, 2, 1, 2]})
    rules = {"age": {"hierarchy": {"width": [10]}}, "day": {"hierarchy": {"date": ["month"]}}}
    release = released(tmp_path, raw, {"quasi": rules, "sensitive": {"pay": {"t": 0.1}}}, cells)
    age, day = release.mean("age"), release.quantile("day", 0.5)
    assert (age.lower, age.expected, age.upper) == (30, 35, 40)
    assert (str(day.lower.date()), str(day.upper.date())) == ("2024-01-01", "2024-02-01")
    found = release.expected_counts({"age": (None, 29), "day": (None, "2024-02-01")})
    assert (found.lower, found.upper) == (0, 2)
    assert release.expected_counts({"age": (None, 30)}).lower == 2


def withheld() -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return a table of which 11 rows lack a sensitive value and are withheld."""
    ldl = [*(100 + row % 60 for row in range(49)), *[""] * 11]
    age = [*(30 + row % 20 for row in range(49)), *[70] * 11]
    raw = pl.DataFrame({"age": age, "sex": ["f"] * 60, "ldl": [str(each) for each in ldl], "pay": range(60)})
    sensitive = {"ldl": {"t": 1, "missing": "suppress"}, "pay": {"t": 1}}
    return raw, {"quasi": ["age"], "keep": ["sex"], "sensitive": sensitive, "suppress": 0.2}


@pytest.mark.parametrize("cells", CELLS)
def test_withheld_rows_widen_bounds(tmp_path: Path, cells: str) -> None:
    raw, policy = withheld()
    release = released(tmp_path, raw, policy, cells)
    assert release.withheld == 11
    sex, pay = release.expected_counts({"sex": "f"}), release.mean("pay")
    assert (sex.lower, sex.expected, sex.upper) == (49, 60, 60)
    assert (pay.lower, pay.expected, pay.upper) == (float("-inf"), 24, float("inf"))
    assert pay.needs == "11 rows withheld, so a bound is open: give the domain, load(…, domains={'pay': (low, high)})"
    median = release.quantile("pay", 0.5)
    assert median.lower <= 29 <= median.upper
    assert not median.needs
    assert release.quantile("pay", 1).upper == float("inf")


@pytest.mark.parametrize(
    ("domains", "cells"),
    in_turns(
        [{"pay": (0, 47)}, {"pay": (1, 100)}, {"age": (0, 29)}, {"age": (50, 90)}, {"sex": ["m"]}, {"pay": [3]}], CELLS
    ),
)
def test_a_domain_without_a_published_value_is_refused(tmp_path: Path, cells: str, domains: dict[str, Any]) -> None:
    raw, policy = withheld()
    with pytest.raises(tclose.InputError, match=r"the domain of '(pay|age|sex)' does not hold what the release shows"):
        released(tmp_path, raw, policy, cells, domains=domains)
    released(tmp_path, raw, policy, cells, domains={"pay": (0, 48), "age": (30, 90), "sex": ["f"]})


def test_a_domain_bounds_withheld_rows(tmp_path: Path) -> None:
    raw, policy = withheld()
    release = released(tmp_path, raw, policy, domains={"pay": (0, 100), "sex": ["f", "m"]})
    pay = release.mean("pay")
    assert (pay.lower, pay.upper) == (pytest.approx(49 * 24 / 60), pytest.approx((49 * 24 + 1100) / 60))
    assert pay.lower <= raw["pay"].mean() <= pay.upper  # type: ignore[operator]
    assert release.expected_counts({"pay": (101, None)}).upper == 0
    assert release.expected_counts({"sex": "m"}).upper == 11
    policy["sensitive"]["pay"]["domain"] = list(range(61))
    assert released(tmp_path, raw, policy).mean("pay").upper == pytest.approx((49 * 24 + 11 * 60) / 60)


@pytest.mark.parametrize("cells", CELLS)
def test_rounded_class_means_give_intervals(tmp_path: Path, cells: str) -> None:
    raw = pl.DataFrame({"age": [20, 21, 23, 40, 41, 41], "sex": [*"fffmmm"], "pay": [1, 2, 3] * 2})
    policy = {"quasi": {"age": {"publish": "mean"}}, "keep": ["sex"], "sensitive": {"pay": {"t": 0.2}}, "k": 3}
    release = released(tmp_path, raw, policy, cells)
    found, mean = release.mean("age"), Fraction(186, 6)
    assert Fraction(repr(found.lower)) <= mean <= Fraction(repr(found.upper))
    assert found.upper - found.lower == pytest.approx(0.1)
    women = release.mean("age", by="sex").row(0, named=True)
    assert women["lower"] <= 64 / 3 <= women["upper"]
    assert women["upper"] - women["lower"] < 0.11
    parts = release.mean("age", by="pay").row(0, named=True)  # a third of each class
    assert (parts["lower"], parts["upper"]) == (float("-inf"), float("inf"))


def test_class_means_of_floats_are_written_and_loaded(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 2 / 3, 1e-7 / 3]
    raw = pl.DataFrame({"dose": values, "pay": [1, 2, 1, 2]})
    policy = {"quasi": {"dose": {"publish": "mean"}}, "sensitive": {"pay": {"t": 0.2}}}
    release = released(tmp_path, raw, policy, "columns")
    found, mean = release.mean("dose"), sum(Fraction(repr(value)) for value in values) / 4
    assert Fraction(repr(found.lower)) <= mean <= Fraction(repr(found.upper))
    assert found.upper - found.lower < 1e-14


@pytest.mark.parametrize("cells", CELLS)
def test_large_integers_are_exact(tmp_path: Path, cells: str) -> None:
    first = 2**53 + 1
    raw = pl.DataFrame({"serial": [first, first + 2, first + 4, first + 6], "pay": [first, 1, first, 1]})
    policy = {"quasi": ["serial"], "sensitive": {"pay": {"t": 0.2}}}
    release = released(tmp_path, raw, policy, cells)
    assert release.quantile("pay", 1) == tclose.Estimate(first, first, first)
    assert release.expected_counts({"pay": (first, first)}).lower == 2
    assert release.expected_counts({"pay": first - 1}).upper == 0
    mean = release.mean("pay")
    assert Fraction(mean.lower) <= Fraction(first + 1, 2) <= Fraction(mean.upper)
    serial = release.mean("serial")
    assert serial.lower <= first + 3 <= serial.upper
    assert (serial.lower, serial.upper) == (first + 2, first + 4)


@pytest.mark.parametrize("cells", CELLS)
def test_bins_are_intervals(tmp_path: Path, cells: str) -> None:
    raw = pl.DataFrame({"age": [20, 30, 40, 50], "ldl": [70, 130, 100, 210]})
    bins = {"t": 1, "bins": {"edges": [0, 100, 160, 500]}, "publish": "bin"}
    release = released(tmp_path, raw, {"quasi": ["age"], "sensitive": {"ldl": bins}}, cells)
    mean, counts = release.mean("ldl"), [(None, 100), (100, 160), "(100, 160]", (161, None), (120, 140)]
    assert (mean.lower, mean.expected, mean.upper) == (65, 140, 215)
    assert mean.lower <= raw["ldl"].mean() <= mean.upper  # type: ignore[operator]
    found = [release.expected_counts({"ldl": each}) for each in counts]
    assert [(each.lower, each.upper) for each in found] == [(2, 2), (1, 3), (1, 1), (0, 1), (0, 1)]
    assert (release.quantile("ldl", 0.5).lower, release.quantile("ldl", 0.5).upper) == (0, 100)
    assert release.mean("age", by="ldl")["ldl"].to_list() == ["(0, 100]", "(100, 160]", "(160, 500]"]


def test_groups_that_classes_mix_have_bounds(tmp_path: Path) -> None:
    raw = pl.DataFrame({"ward": [*"ababcc"], "pay": [1, 2, 3, 4, 5, 7]})
    release = released(tmp_path, raw, {"quasi": ["ward"], "sensitive": {"pay": {"t": 1}}, "k": 4}, "columns")
    found = release.mean("pay", by="ward")
    for ward in "abc":
        row = found.row(by_predicate=pl.col("ward") == ward, named=True)
        own = raw.filter(pl.col("ward") == ward)["pay"]
        assert row["lower"] <= own.mean() <= row["upper"]  # type: ignore[operator]
        assert row["rows_lower"] <= len(own) <= row["rows_upper"]


def test_without_a_certificate_bounds_are_not_those_of_the_table(tmp_path: Path) -> None:
    raw, policy = withheld()
    released(tmp_path, raw, policy, "columns")
    found = tclose.load(tmp_path / "r.csv").mean("pay")
    assert (found.lower, found.upper) == (24, 24)
    assert found.needs.startswith("the certificate: nobody knows how many rows were withheld; bounds are those of the")
    assert tclose.load(tmp_path / "r.csv", withheld=11).mean("pay").upper == float("inf")
    assert "nobody knows how many more were withheld" in repr(tclose.load(tmp_path / "r.csv"))
    released(tmp_path, raw.with_columns(age=pl.int_range(60)), policy)
    assert "which cells are labels or class means" in tclose.load(tmp_path / "r.csv").mean("pay").needs


def test_an_older_certificate_does_not_say_what_cells_are(tmp_path: Path) -> None:
    released(tmp_path, lungs(), policy_of_lungs())
    content = json.loads((tmp_path / "c.json").read_text())
    older = {name: value for name, value in content.items() if name not in ("cells", "digest")}
    (tmp_path / "c.json").write_text(json.dumps({**older, "digest": digest_of(older)}))
    found = tclose.load(tmp_path / "r.csv", tmp_path / "c.json").expected_counts({"ill": "flu"})
    assert found.lower <= 3 <= found.upper
    assert "older than version 0.3.0" in found.needs
    given = tclose.load(tmp_path / "r.csv", tmp_path / "c.json", hierarchies={"ill": {"rows": LUNG}})
    assert given.expected_counts({"ill": "flu"}).upper == 6


def test_a_certificate_that_does_not_count_withheld_rows_gives_no_bounds_of_the_table(tmp_path: Path) -> None:
    released(tmp_path, *withheld())
    content = json.loads((tmp_path / "c.json").read_text())
    less = {name: value for name, value in content.items() if name not in ("withheld", "digest")}
    (tmp_path / "c.json").write_text(json.dumps({**less, "digest": digest_of(less)}))
    release = tclose.load(tmp_path / "r.csv", tmp_path / "c.json")
    assert release.withheld is None
    assert "does not say how many rows were withheld" in release.expected_counts({"sex": "f"}).needs


def test_a_certificate_that_was_changed_is_refused(tmp_path: Path) -> None:
    released(tmp_path, *withheld())
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace('"withheld": 11', '"withheld": 0'))
    with pytest.raises(tclose.InputError, match="was changed after it was made: its digest does not fit its content"):
        tclose.load(tmp_path / "r.csv", tmp_path / "c.json")


def test_a_permutation_is_refused_by_a_true_sentence(tmp_path: Path) -> None:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    raw = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
    made = tclose.anonymize(
        raw, {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5}}, "k": 2}, method="permutation:mondrian", seed=1
    )
    made.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    with pytest.raises(InputError, match="its sensitive values stand beside other rows of their group"):
        tclose.load(tmp_path / "r.csv", tmp_path / "c.json")


def test_bounds_of_groups_are_exact_in_a_frame(tmp_path: Path) -> None:
    """A column of a frame has one type: whole numbers beyond 2^53 are rounded outwards beside fractions."""
    large = 2**53 + 9
    table = pl.DataFrame({"rows": ["a", "a", "b", "b"], "serial": [large, large, 3, 4], "pay": [1, 2, 1, 2]})
    policy = {"quasi": ["rows"], "sensitive": {"serial": {"t": 1}, "pay": {"t": 1}}, "k": 2}
    made = tclose.anonymize(table, policy, method="mondrian")
    made.write(tmp_path / "r.csv", certificate=tmp_path / "r.json")
    found = tclose.load(tmp_path / "r.csv", tmp_path / "r.json").mean("serial", by="rows")
    group, rows, _, lower, upper, *_ = found.row(0)
    assert (found.columns[1], group, rows) == ("rows", "a", 2)
    assert Fraction(lower) < large < Fraction(upper)
    assert found.row(1)[2:5] == (3.5, 3.5, 3.5)


def test_an_open_bound_of_dates_is_null_beside_known_ones() -> None:
    first = datetime.datetime(2020, 1, 1)
    found = series([first, float("-inf")], towards=-1, is_date=True)
    assert found.to_list() == [first, None]
    assert found.dtype == pl.Datetime("us")


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize(
    ("lab", "settings"),
    [(["1", "1.5", "2", "2.5"], {}), ([*["<0.25"] * 4, "1", "2", "3", "4"], {"below": "half"})],
    ids=["high", "below"],
)
def test_only_columns_of_whole_ends_hold_whole_numbers(
    tmp_path: Path, lab: list[str], settings: dict[str, Any], cells: Any
) -> None:
    """A CSV tells the type of each column by itself: low ends may be whole where the others are not."""
    raw = pl.DataFrame({"lab": lab, "pay": ["a", "b"] * (len(lab) // 2)})
    policy = {"quasi": {"lab": settings}, "sensitive": {"pay": {"t": 1}}}
    release = released(tmp_path, raw, policy, cells)
    known = ["0.25" if cell.startswith("<") else cell for cell in lab]
    assert sorted(release.resample(seed=1)["lab_synthetic"].to_list()) == sorted(map(float, known))
    assert release.expected_counts({"lab": (0, 0.3)}).expected == known.count("0.25")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"withheld": -1}, "withheld is a number of rows"),
        ({"withheld": "3"}, "withheld is a number of rows"),
        ({"domains": {"pay": 5}}, r"the domain of 'pay' is both ends, such as \(0, 120\), or a list of texts"),
        ({"domains": {"pay": ()}}, "the domain of 'pay' is both ends"),
        ({"domains": {"ill": "flu"}}, "the domain of 'ill' is both ends"),
    ],
)
def test_what_a_reader_adds_is_checked(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        released(tmp_path, lungs(), policy_of_lungs(), **given)


@pytest.mark.parametrize("cells", CELLS)
def test_an_edge_belongs_to_the_bin_that_ends_there(tmp_path: Path, cells: str) -> None:
    """Three rows are in (0, 10], three in (10, 20]: 10 itself can only be in the first."""
    pay = {"t": 1, "bins": {"edges": [0, 10, 20]}, "publish": "bin"}
    raw = pl.DataFrame({"age": [30] * 6, "pay": [1, 5, 10, 11, 15, 20]})
    release = released(tmp_path, raw, {"quasi": ["age"], "sensitive": {"pay": pay}}, cells)
    for condition, lower, upper in (((None, 10), 3, 3), ((10, None), 3, 6), ((10, 10), 0, 3), ((11, None), 0, 3)):
        found = release.expected_counts({"pay": condition})
        assert (found.lower, found.upper) == (lower, upper)
