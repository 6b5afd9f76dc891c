"""What a t allows: no class that is within t shows more, and where a class may show one value only, some class does."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose.distance import Counts
from tclose.examples import hospital
from tclose.policy import Policy
from tclose.privacy.allowance import Allowance, allowances
from tclose.privacy.judge import distance_of
from tclose.run.commands import anonymize as publish
from tclose.table import CodedTable, encode

TREE = {"prefix": [1]}
COSTS = {"values": ["a1", "a2", "b1"], "costs": [[0, 1, 3], [1, 0, 2], [3, 2, 0]]}
DEMO = Path(tclose.__file__).parent / "examples" / "policy.toml"


# --- random tables, and every class that they could have -------------------------------------------------------------


def drawn(rng: np.random.Generator, rows: int) -> tuple[list[Any], dict[str, Any]]:
    """Return the values of a column and how they are compared."""
    numbers = [int(each) for each in rng.choice([1, 2, 3, 5, 8, 30], rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])]
    texts = [str(each) for each in rng.choice(["a1", "a2", "b1"], rows, p=[0.5, 0.3, 0.2])]
    kinds: list[tuple[list[Any], dict[str, Any]]] = [
        (numbers, {}),
        (numbers, {"distance": "value"}),
        (numbers, {"bins": {"quantiles": 3}}),
        (numbers, {"bins": {"width": 4}}),
        (numbers, {"bins": {"width": 100}}),
        (numbers, {"bins": {"quantiles": 2}, "publish": "bin"}),
        ([None if rng.random() < 0.2 else each for each in numbers], {"missing": "value"}),
        (numbers, {"l": 2}),
        (numbers, {"alpha": "3/4"}),
        (texts, {"distance": "equal"}),
        (texts, {"distance": "hierarchical", "hierarchy": TREE}),
        (texts, {"distance": "matrix", "matrix": COSTS}),
    ]
    return kinds[rng.integers(len(kinds))]


def tables(times: int, rows: int) -> list[tuple[Policy, CodedTable, Allowance | None]]:
    found = []
    for seed in range(times * TIMES):
        rng = np.random.default_rng([136, seed])
        values, how = drawn(rng, rows)
        if len(set(values)) < 2:
            continue
        t = [Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2)][rng.integers(5)]
        asked = {"k": int(rng.integers(1, 4)), "quasi": ["who"], "sensitive": {"s": {"t": t, **how}}}
        policy = Policy.from_dict(asked)
        frame = pl.DataFrame({"who": ["x"] * rows, "s": values})
        table = encode(frame, policy)
        found.append((policy, table, allowances(table, policy).get("s")))
    return found


def all_classes(table: CodedTable, policy: Policy) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return every class of k rows or more that could be formed: rows per published value, and those within t.

    Also, how many rows the table has of each published value, and the code that each is compared by.
    """
    column = table.sensitive["s"]
    domain = column.domain
    if policy.sensitive["s"].publish == "bin":
        rows, codes = column.reference, np.arange(len(column.reference))
    else:
        rows, codes = domain.values.counts, domain.code_of_value
        if domain.missing_code >= 0:
            rows, codes = np.append(rows, domain.values.missing), np.append(codes, domain.missing_code)
    ways = np.array(list(itertools.product(*(range(count + 1) for count in rows.tolist()))))
    ways = ways[ways.sum(axis=1) >= policy.k]
    compared = np.zeros((len(ways), len(column.reference)), dtype=np.int64)
    for place, code in enumerate(codes.tolist()):
        compared[:, code] += ways[:, place]
    level = policy.sensitive["s"].t
    assert level is not None
    ratios = distance_of(column).emd(Counts.from_dense(compared), column.reference)
    return ways, ratios.at_most(level), rows, compared


def other_models_admit(policy: Policy, ways: np.ndarray, compared: np.ndarray) -> np.ndarray:
    spec = policy.sensitive["s"]
    admitted = np.ones(len(ways), dtype=bool)
    if spec.l is not None:
        admitted &= (compared > 0).sum(axis=1) >= spec.l
    if spec.alpha is not None:
        admitted &= compared.max(axis=1) <= float(spec.alpha) * compared.sum(axis=1)
    return admitted


def test_every_class_that_a_table_could_have_keeps_to_what_is_said() -> None:
    answers = set()
    for policy, table, allows in tables(60, rows=11):
        assert allows is not None
        ways, within, rows, compared = all_classes(table, policy)
        total, sizes = int(rows.sum()), ways.sum(axis=1)
        chosen = column_of(table, allows)
        for way in compared[within]:
            assert allows.least <= Fraction(int(way[chosen].sum()), int(way.sum())) <= allows.most
        common, enough = 2 * rows < total, rows >= policy.k
        alone = (ways[:, common & enough] == sizes[:, None]).any(axis=1) & other_models_admit(policy, ways, compared)
        answers.add(allows.answer)
        if allows.answer == "yes":
            assert not (alone & within).any()
        elif policy.sensitive["s"].bins is None:
            assert (alone & within).any()  # the warning is never empty
        certain = 2 * (ways * total - sizes[:, None] * rows) >= (total - rows) * sizes[:, None]
        if allows.nothing_given_away_below is not None and allows.t < allows.nothing_given_away_below:
            assert not (certain[:, common] & within[:, None]).any()
    assert answers == {"yes", "no"}


def column_of(table: CodedTable, allows: Allowance) -> np.ndarray:
    """Return the values that an allowance speaks of, found again from its share."""
    reference = table.sensitive["s"].reference
    shown = np.flatnonzero(reference)
    if table.sensitive["s"].domain.missing_code >= 0 and allows.of != "a value":
        shown = shown[shown != table.sensitive["s"].domain.missing_code]
    rows = int(allows.share * int(reference.sum()))
    if allows.of == "a value":
        return np.isin(np.arange(len(reference)), shown[reference[shown] == rows][:1])
    order = shown[::-1] if "highest" in allows.of else shown
    few = int(np.flatnonzero(np.cumsum(reference[order]) == rows)[0]) + 1
    return np.isin(np.arange(len(reference)), order[:few])


def test_a_class_that_leans_as_far_as_said_is_admitted() -> None:
    """In tables of many rows, some class comes within a row of the largest share."""
    values = [1] * 200 + [2] * 300 + [3] * 500
    policy = Policy.from_dict({"quasi": ["who"], "sensitive": {"s": {"t": "1/10", "distance": "equal"}}})
    table = encode(pl.DataFrame({"who": ["x"] * 1000, "s": values}), policy)
    allows = allowances(table, policy)["s"]
    assert (allows.share, allows.least, allows.most) == (Fraction(1, 5), Fraction(1, 10), Fraction(3, 10))
    ratios = distance_of(table.sensitive["s"]).emd(Counts.from_dense([[60, 40, 100]]), table.sensitive["s"].reference)
    assert ratios[0] == Fraction(1, 10)


# --- the sentences ---------------------------------------------------------------------------------------------------


def said(values: list[Any], k: int = 5, **settings: Any) -> Allowance:
    policy = Policy.from_dict({"k": k, "quasi": ["who"], "sensitive": {"s": settings}})
    return allowances(encode(pl.DataFrame({"who": ["x"] * len(values), "s": values}), policy), policy)["s"]


def test_ranks_of_a_lab_value_limit_nothing_and_quantile_bins_do() -> None:
    ldl = hospital(3000, seed=1)["ldl"].to_list()
    ranks = said(ldl, t="0.15")
    assert ranks.answer == "no"
    assert ranks.one_value_from is not None
    assert 0.13 < ranks.one_value_from < 0.15
    assert ranks.warning == (
        "t = 0.15 does not limit 's': from t = 0.139 on, a class may show one value only; compare it on "
        "bins = { quantiles = 20 }, where this begins at t = 0.263"
    )
    bins = said(ldl, t="0.15", bins={"quantiles": 20})
    assert (bins.answer, bins.warning) == ("yes", None)
    assert bins.claim.says.startswith("with t = 0.15, its lowest values (5.1 % of the rows) can be 0 % to 56.3 % of")


def test_five_persons_with_the_same_ldl_were_a_class_of_their_own() -> None:
    """The table of issue 25: a class of one value is admitted by ranks, and not in quantile bins."""
    ldl = hospital(3000, seed=1)["ldl"].to_list()
    middle = sorted(ldl)[1500]
    frame = pl.DataFrame({"age": [30] * 3000 + [120] * 5, "ldl": ldl + [middle] * 5})
    policy: dict[str, Any] = {"k": 5, "quasi": ["age"], "sensitive": {"ldl": {"t": 0.15}}}
    assert tclose.check(frame, policy).satisfied
    policy["sensitive"]["ldl"]["bins"] = {"quantiles": 20}
    assert not tclose.check(frame, policy).satisfied


def test_the_demo_warns_of_no_t() -> None:
    for rows in (500, 3000):
        policy = Policy.of(DEMO)
        allowed = allowances(encode(hospital(rows, seed=2), policy), policy)
        assert len(allowed) == 8
        assert [each.warning for each in allowed.values()] == [None] * 8


def test_ties_keep_bins_from_helping_and_a_smaller_t_is_advised() -> None:
    often_zero = [0] * 45 + list(range(1, 12)) * 5
    allows = said(often_zero, t="0.35")
    assert allows.answer == "no"
    assert "choose t below" in str(allows.warning)


def test_models_that_forbid_one_value() -> None:
    values = [1, 2, 3, 4] * 10
    assert said(values, t="0.9").one_value_from == Fraction(1, 3)
    for model in ({"l": 2}, {"entropy_l": 2}, {"recursive": {"c": 3, "l": 2}}, {"alpha": 0.9}, {"delta": 1}):
        assert said(values, t="0.9", **model).one_value_from is None
    assert said(values, k=11, t="0.9").one_value_from is None  # no value has as many rows


def test_at_no_t_leaves_out_what_fewer_than_k_rows_have() -> None:
    """A class of two rows shows one value only and is within t; it has fewer than k rows, and so has its value."""
    allows = said(["a"] * 6 + ["b"] * 2 + ["c"] * 2, k=3, t="0.9", distance="equal")
    assert (allows.answer, allows.one_value_from) == ("yes", None)
    assert "unless half of the rows have it, or fewer than k" in allows.claim.says


def test_a_rare_answer() -> None:
    allows = said(["no"] * 95 + ["yes"] * 5, t="0.15", distance="equal")
    assert (allows.least, allows.most) == (Fraction(0), Fraction(1, 5))
    assert allows.one_value_from == Fraction(19, 20)
    assert allows.nothing_given_away_below == Fraction(19, 40)
    assert allows.claim.says == (
        "with t = 0.15, a value (5.0 % of the rows) can be 0 % to 20.0 % of a class; from t = 0.95 on, a class may "
        "show one value only; below t = 0.475, no value is given away"
    )


def test_a_wide_bin_of_exact_values_excludes_nothing() -> None:
    allows = said([1, 2, 3, 4] * 10, t="0.1", bins={"width": 100})
    assert allows.answer == "no"
    assert (allows.one_value_from, allows.nothing_given_away_below) == (Fraction(0), Fraction(0))
    assert str(allows.warning).endswith("compare it on bins = { quantiles = 20 }, where this begins at t = 0.333")


def test_levels_of_n_are_not_decided() -> None:
    allows = said([1, 2, 3, 4] * 10, t="0.1", n=20)
    assert (allows.answer, allows.warning) == ("undecided", None)
    assert set(allows.to_dict()) == {"t", "answer", "says", "needs"}


def test_attributes_together_are_limited_by_each() -> None:
    frame = pl.DataFrame({"who": ["x"] * 40, "a": [1, 2, 3, 4] * 10, "b": [1, 1, 2, 2] * 10})
    asked: dict[str, Any] = {"k": 2, "quasi": ["who"], "sensitive": {"a": {"t": 0.9}, "b": {"t": 0.9}}}
    asked["joint"] = [{"attributes": ["a", "b"], "t": 0.9}]
    policy = Policy.from_dict(asked)
    assert allowances(encode(frame, policy), policy)["a + b"].answer == "no"
    asked["sensitive"]["a"]["l"] = 2
    policy = Policy.from_dict(asked)
    assert allowances(encode(frame, policy), policy)["a + b"].one_value_from is None


def test_only_a_t_is_spoken_of() -> None:
    frame = pl.DataFrame({"who": ["x"] * 4, "a": [1, 2, 3, 4], "b": [7] * 4})
    policy = Policy.from_dict({"k": 1, "quasi": ["who"], "sensitive": {"a": {"l": 2}, "b": {"t": 0.1}}})
    assert allowances(encode(frame, policy), policy) == {}


def test_check_tells_every_t_and_verify_tells_none(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": list(range(40)), "pay": [1, 2, 3, 4] * 10})
    policy = {"k": 2, "quasi": ["age"], "sensitive": {"pay": {"t": 0.4}}}
    result = tclose.check(frame, policy)
    told = result.to_dict()["sensitive"]["pay"]["allows"]
    assert told["answer"] == "no"
    assert told["one_value_from"] == pytest.approx(1 / 3)
    assert any("does not limit 'pay'" in note for note in result.notes)
    release = tclose.anonymize(frame, policy, effort="fast")
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    verified = tclose.verify(tmp_path / "r.csv", tmp_path / "c.json").result
    assert verified is not None
    assert not verified.allows


def test_withheld_rows_are_no_part_of_what_a_t_of_a_release_allows(tmp_path: Path) -> None:
    """Classes are compared with the published rows: by the raw counts, this t would exclude a class of one value."""
    kept = [("a", ill) for ill in ["flu"] * 9 + ["cold"] * 6 + ["hiv"] * 5]
    lonely = [(f"z{number}", ill) for number, ill in enumerate(["hiv", "cold"] * 5)]
    table = pl.DataFrame(kept + lonely, schema=["place", "ill"], orient="row")
    policy = {"keep": ["place"], "k": 5, "suppress": 0.5, "sensitive": {"ill": {"t": 0.6}}}
    raw = tclose.check(table, Policy.from_dict(policy)).allows["ill"]
    published = publish(table, Policy.from_dict(policy), out=tmp_path / "r.csv").allows["ill"]
    assert (raw.one_value_from, raw.answer) == (Fraction(19, 30), "yes")
    assert (published.one_value_from, published.answer) == (Fraction(11, 20), "no")
